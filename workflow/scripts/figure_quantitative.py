"""Draws NLL, EMD and quantisation error against the number of hypotheses."""

from pathlib import Path

from vwta.paper.figures.against_K import quantitative
from vwta.workflow.job import job

with job(snakemake):
    quantitative(
        metrics=[Path(path) for path in snakemake.input],
        paths=[Path(path) for path in snakemake.output],
        protocol=snakemake.params.protocol,
        otherwise=snakemake.params.otherwise,
        models=snakemake.params.models,
        h=snakemake.params.h,
        K=snakemake.params.K,
        spread=snakemake.params.spread,
    )
