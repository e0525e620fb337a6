"""Evaluates the true law of a synthetic problem."""

from pathlib import Path

from job import job

from vwta.studies.synthetic.truth import evaluate_truth

with job(snakemake):
    evaluate_truth(
        constants=snakemake.params.constants,
        data=Path(snakemake.input.data),
        path=Path(snakemake.output[0]),
        **snakemake.params.domain,
        **snakemake.params.capped,
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
    )
