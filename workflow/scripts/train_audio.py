"""Trains a network of the audio study."""

from pathlib import Path

from vwta.paper.audio.train import Settings, train
from vwta.paper.training import Job
from vwta.workflow.job import job

with job(snakemake):
    train(
        Job(
            dataset=snakemake.wildcards.dataset,
            model=snakemake.wildcards.model,
            K=int(snakemake.wildcards.K),
            outputs={int(snakemake.wildcards.seed): Path(snakemake.output[0])},
            unfinished=Path(snakemake.params.unfinished),
            device=snakemake.params.device,
            code=snakemake.params.code,
        ),
        folds={
            name: [Path(file) for file in snakemake.input[name]] for name in ("train", "validation")
        },
        settings=Settings(**snakemake.params.settings),
    )
