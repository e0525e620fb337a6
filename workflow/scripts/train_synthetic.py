"""Trains networks on a synthetic problem, one for each file that the job makes."""

from pathlib import Path

from vwta.paper.synthetic.train import Settings, train
from vwta.workflow.job import job
from vwta.workflow.training_job import training_job

with job(snakemake):
    train(
        training_job(snakemake),
        data=Path(snakemake.input.data),
        constants=snakemake.params.constants,
        settings=Settings(
            **snakemake.params.training, **snakemake.params.protocol, bins=snakemake.params.bins
        ),
    )
