"""Draws the predictions of several models on several problems."""

from pathlib import Path

from job import job

from vwta.figures.qualitative import qualitative
from vwta.spaces import Box

with job(snakemake):
    qualitative(
        predictions=[Path(path) for path in snakemake.input],
        paths=[Path(path) for path in snakemake.output],
        x=snakemake.params.x,
        domain=Box(**snakemake.params.domain),
    )
