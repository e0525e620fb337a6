"""Measures how far the estimators of a trained network are from the true law."""

from pathlib import Path

from vwta.paper.synthetic.transport import Settings, evaluate_emd
from vwta.workflow.job import job
from vwta.workflow.metrics_file import metrics_file

with job(snakemake):
    evaluate_emd(
        network=Path(snakemake.input.network),
        data=Path(snakemake.input.data),
        constants=snakemake.params.constants,
        settings=Settings(
            **snakemake.params.emd,
            **snakemake.params.domain,
            **snakemake.params.protocol,
            clouds=snakemake.params.clouds,
        ),
        output=metrics_file(snakemake, "synthetic"),
        model=snakemake.wildcards.model,
        K=int(snakemake.wildcards.K),
    )
