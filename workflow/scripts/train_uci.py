"""Trains the networks of all splits of a data set."""

from pathlib import Path

from vwta.io.bundles import bundled
from vwta.paper.uci.train import Settings, train
from vwta.workflow.job import job
from vwta.workflow.training_job import training_job

with job(snakemake), bundled(Path(snakemake.output[0])) as folder:
    train(
        training_job(
            snakemake,
            K=snakemake.params.K,
            outputs={
                split: folder / f"split{split}.safetensors"
                for split in range(snakemake.params.splits)
            },
        ),
        data=Path(snakemake.input.data),
        settings=Settings(**snakemake.params.settings),
    )
