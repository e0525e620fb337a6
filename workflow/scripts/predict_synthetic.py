"""Stores the predictions of the trained networks of a problem at chosen inputs."""

from pathlib import Path

from vwta.paper.synthetic.predict import predict
from vwta.workflow.job import job

with job(snakemake):
    pairs = zip(snakemake.input, snakemake.output, strict=True)
    predict(
        outputs={Path(network): Path(path) for network, path in pairs},
        selected_by=snakemake.params.protocol["selected_by"],
        constants=snakemake.params.constants,
        **snakemake.params.predictions,
        code=snakemake.params.code,
        dataset=snakemake.wildcards.dataset,
    )
