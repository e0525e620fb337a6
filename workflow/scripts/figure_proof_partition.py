"""Draws the cells in a set and those that its border cuts."""

from pathlib import Path

from job import job

from vwta.figures.proofs import proof_partition
from vwta.sets import region
from vwta.spaces import Box

with job(snakemake):
    proof_partition(
        predictions=[Path(path) for path in snakemake.input],
        paths=[Path(path) for path in snakemake.output],
        x=snakemake.params.x,
        domain=Box(**snakemake.params.domain),
        chosen=region(**snakemake.params.chosen),
    )
