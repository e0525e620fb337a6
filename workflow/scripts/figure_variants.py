"""Draws the risks of networks trained in several ways."""

from pathlib import Path

from vwta.paper.figures.variants import variants
from vwta.workflow.job import job

with job(snakemake):
    variants(
        metrics=Path(snakemake.input[0]),
        paths=[Path(path) for path in snakemake.output],
        protocols=snakemake.params.protocols,
        datasets=snakemake.params.datasets,
        counts=snakemake.params.counts,
    )
