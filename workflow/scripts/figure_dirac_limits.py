"""Draws the atoms and cells of a network at several inputs."""

from pathlib import Path

from vwta.geometry.spaces import Box
from vwta.paper.figures.qualitative import dirac_limits
from vwta.workflow.job import job

with job(snakemake):
    dirac_limits(
        predictions=Path(snakemake.input[0]),
        paths=[Path(path) for path in snakemake.output],
        x=snakemake.params.x,
        domain=Box(**snakemake.params.domain),
    )
