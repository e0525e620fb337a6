"""Keeps what a trained network predicts at chosen inputs."""

from pathlib import Path

from job import job

from vwta.studies.synthetic.predict import predict

with job(snakemake):
    predict(
        network=Path(snakemake.input[0]),
        path=Path(snakemake.output[0]),
        kept_by=snakemake.params.protocol["kept_by"],
        constants=snakemake.params.constants,
        **snakemake.params.predictions,
        code=snakemake.params.code,
        dataset=snakemake.wildcards.dataset,
        model=snakemake.wildcards.model,
        K=int(snakemake.wildcards.K),
    )
