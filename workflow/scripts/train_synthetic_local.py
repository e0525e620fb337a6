"""Trains networks with local kernels on a synthetic problem."""

from pathlib import Path

from vwta.paper.synthetic.local import Settings, train
from vwta.workflow.job import job
from vwta.workflow.training_job import training_job

with job(snakemake):
    train(
        training_job(snakemake),
        data=Path(snakemake.input.data),
        settings=Settings(**snakemake.params.settings),
    )
