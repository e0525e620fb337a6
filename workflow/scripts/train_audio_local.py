"""Trains a network of the audio study with local kernels."""

from pathlib import Path

from vwta.paper.audio.local import train
from vwta.paper.audio.train import Settings
from vwta.workflow.job import job
from vwta.workflow.training_job import training_job

with job(snakemake):
    train(
        training_job(snakemake),
        folds={
            name: [Path(file) for file in snakemake.input[name]] for name in ("train", "validation")
        },
        settings=Settings(**snakemake.params.settings),
    )
