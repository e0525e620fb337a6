"""Draws the losses during training."""

from pathlib import Path

from vwta.paper.figures.training_curves import training_curves
from vwta.workflow.job import job

with job(snakemake):
    training_curves(
        curves=Path(snakemake.input[0]),
        paths=[Path(path) for path in snakemake.output],
        protocol=snakemake.params.protocol,
        datasets=snakemake.params.datasets,
        models=snakemake.params.models,
        K=int(snakemake.wildcards.K),
    )
