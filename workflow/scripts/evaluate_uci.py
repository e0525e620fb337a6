"""Tunes bandwidths and measures the estimators of all networks trained on a set."""

from pathlib import Path

from vwta.paper.uci.evaluate import Settings, evaluate
from vwta.workflow.job import job

with job(snakemake):
    evaluate(
        networks={
            model: [Path(path) for path in snakemake.input[model]]
            for model in snakemake.params.models
        },
        data=Path(snakemake.input.data),
        metrics=Path(snakemake.output.metrics),
        searches=Path(snakemake.output.searches),
        settings=Settings(**snakemake.params.settings),
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
        K=snakemake.params.K,
    )
