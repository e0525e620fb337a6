"""Draws the NLL at tuned bandwidths against the number of hypotheses."""

from pathlib import Path

from vwta.paper.figures.against_K import tuned
from vwta.workflow.job import job

with job(snakemake):
    tuned(
        metrics=Path(snakemake.input[0]),
        paths=[Path(path) for path in snakemake.output],
        protocol=snakemake.params.protocol,
        otherwise=snakemake.params.otherwise,
        models=snakemake.params.models,
        methods=snakemake.params.methods,
        datasets=snakemake.params.datasets,
        K=snakemake.params.K,
    )
