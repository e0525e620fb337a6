"""Draws the cells in a set and those that its border cuts."""

from pathlib import Path

from vwta.geometry.spaces import Box
from vwta.paper.figures.proofs import proof_partition
from vwta.paper.theory.convex_sets import region
from vwta.workflow.job import job

with job(snakemake):
    proof_partition(
        predictions=[Path(path) for path in snakemake.input],
        paths=[Path(path) for path in snakemake.output],
        x=snakemake.params.x,
        domain=Box(**snakemake.params.domain),
        chosen=region(**snakemake.params.chosen),
    )
