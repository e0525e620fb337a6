"""Measures the estimators of all networks trained on a data set."""

from pathlib import Path

from vwta.paper.uci.evaluate import Settings, evaluate
from vwta.workflow.job import job
from vwta.workflow.metrics_file import metrics_file
from vwta.workflow.splits import networks_of_splits

with job(snakemake), networks_of_splits(snakemake) as networks:
    evaluate(
        networks=networks,
        data=Path(snakemake.input.data),
        searches=Path(snakemake.input.searches),
        settings=Settings(**snakemake.params.settings),
        output=metrics_file(snakemake, "uci"),
        K=snakemake.params.K,
    )
