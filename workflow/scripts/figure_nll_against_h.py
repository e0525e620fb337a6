"""Draws the NLL against the bandwidth."""

from pathlib import Path

from vwta.paper.figures.nll_against_h import nll_against_h
from vwta.workflow.job import job

with job(snakemake):
    nll_against_h(
        metrics=Path(snakemake.input[0]),
        paths=[Path(path) for path in snakemake.output],
        protocol=snakemake.params.protocol,
        otherwise=snakemake.params.otherwise,
        datasets=snakemake.params.datasets,
        K=int(snakemake.wildcards.K),
    )
