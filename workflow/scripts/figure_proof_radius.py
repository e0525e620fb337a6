"""Draws the largest balls without atoms."""

from pathlib import Path

from vwta.geometry.spaces import Box
from vwta.paper.figures.proofs import proof_radius
from vwta.workflow.job import job

with job(snakemake):
    proof_radius(
        predictions=[Path(path) for path in snakemake.input],
        paths=[Path(path) for path in snakemake.output],
        x=snakemake.params.x,
        domain=Box(**snakemake.params.domain),
    )
