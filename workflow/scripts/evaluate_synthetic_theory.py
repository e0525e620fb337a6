"""Computes the reference risks of a synthetic problem."""

from pathlib import Path

from vwta.paper.theory.references import evaluate_theory
from vwta.workflow.job import job

with job(snakemake):
    evaluate_theory(
        constants=snakemake.params.constants,
        path=Path(snakemake.output[0]),
        counts=snakemake.params.counts,
        **snakemake.params.domain,
        optimum=snakemake.params.optimum,
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
    )
