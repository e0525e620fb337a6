"""Draws the predictions of several models on several problems."""

from pathlib import Path

from vwta.geometry.spaces import Box
from vwta.paper.figures.qualitative import qualitative
from vwta.workflow.job import job

with job(snakemake):
    qualitative(
        predictions=[Path(path) for path in snakemake.input],
        paths=[Path(path) for path in snakemake.output],
        x=snakemake.params.x,
        domain=Box(**snakemake.params.domain),
    )
