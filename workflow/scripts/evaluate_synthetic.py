"""Evaluates the true law of a problem and the estimators of all networks trained on it."""

from pathlib import Path

from vwta.paper.synthetic.evaluate import Settings, evaluate
from vwta.paper.synthetic.generate import law_of_split
from vwta.workflow.job import job

with job(snakemake):
    evaluate(
        networks=[Path(path) for path in snakemake.input.networks],
        data=Path(snakemake.input.data),
        path=Path(snakemake.output[0]),
        law=law_of_split(snakemake.wildcards.dataset, "test", **snakemake.params.law),
        settings=Settings(
            **snakemake.params.evaluation,
            **snakemake.params.domain,
            **snakemake.params.protocol,
        ),
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
    )
