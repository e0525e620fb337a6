"""Computes the reference risks of a synthetic problem."""

from vwta.paper.theory.references import evaluate_theory
from vwta.workflow.job import job
from vwta.workflow.metrics_file import metrics_file

with job(snakemake):
    evaluate_theory(
        constants=snakemake.params.constants,
        counts=snakemake.params.counts,
        **snakemake.params.domain,
        optimum=snakemake.params.optimum,
        output=metrics_file(snakemake, "synthetic"),
    )
