"""Evaluates the estimators that follow from the networks of all seeds."""

from pathlib import Path

from job import job

from vwta.studies.synthetic.evaluate import Settings, evaluate

with job(snakemake):
    evaluate(
        networks=[Path(path) for path in snakemake.input.networks],
        data=Path(snakemake.input.data),
        path=Path(snakemake.output[0]),
        settings=Settings(
            **snakemake.params.evaluation, **snakemake.params.domain, **snakemake.params.protocol
        ),
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
        K=int(snakemake.wildcards.K),
    )
