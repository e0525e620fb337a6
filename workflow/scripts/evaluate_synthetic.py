"""Evaluates the true law of a problem and the estimators of all networks trained on it."""

from pathlib import Path

from vwta.paper.synthetic.evaluate import Settings, evaluate
from vwta.paper.synthetic.generate import law_of_split
from vwta.workflow.job import job
from vwta.workflow.metrics_file import metrics_file

with job(snakemake):
    params = snakemake.params
    evaluate(
        networks=[Path(path) for path in snakemake.input.networks],
        data=Path(snakemake.input.data),
        searches=Path(snakemake.input.searches),
        law=law_of_split(snakemake.wildcards.dataset, "test", **params.law),
        settings=Settings(**params.evaluation, **params.domain, **params.protocol),
        output=metrics_file(snakemake, "synthetic"),
    )
