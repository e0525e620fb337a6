"""Measures the properties of optimal networks on the trained ones of a problem."""

from pathlib import Path

from vwta.paper.synthetic.generate import law_of_split
from vwta.paper.theory.evaluate import Settings, evaluate_properties
from vwta.workflow.job import job
from vwta.workflow.metrics_file import metrics_file

with job(snakemake):
    params = snakemake.params
    evaluate_properties(
        networks=[Path(path) for path in snakemake.input.networks],
        data=Path(snakemake.input.data),
        theory=Path(snakemake.input.theory),
        law=law_of_split(snakemake.wildcards.dataset, "train", **params.law),
        settings=Settings(**params.properties, **params.domain, **params.protocol),
        output=metrics_file(snakemake, "synthetic"),
    )
