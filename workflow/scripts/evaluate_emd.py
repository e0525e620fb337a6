"""Measures how far the estimators of a trained network are from the true law."""

from pathlib import Path

from vwta.paper.synthetic.transport import Settings, evaluate_emd
from vwta.workflow.job import job

with job(snakemake):
    evaluate_emd(
        network=Path(snakemake.input.network),
        data=Path(snakemake.input.data),
        path=Path(snakemake.output[0]),
        constants=snakemake.params.constants,
        settings=Settings(
            **snakemake.params.emd,
            **snakemake.params.domain,
            **snakemake.params.protocol,
            clouds=snakemake.params.clouds,
        ),
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
        model=snakemake.wildcards.model,
        K=int(snakemake.wildcards.K),
    )
