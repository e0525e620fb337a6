"""Trains the networks of all splits of a set."""

from pathlib import Path

from job import job

from vwta.paper.training import Job
from vwta.paper.uci.train import Settings, train

with job(snakemake):
    train(
        Job(
            dataset=snakemake.wildcards.dataset,
            model=snakemake.wildcards.model,
            K=snakemake.params.K,
            outputs={
                int(name.removeprefix("split")): Path(path)
                for name, path in snakemake.output.items()
            },
            unfinished=Path(snakemake.params.unfinished),
            device=snakemake.params.device,
            code=snakemake.params.code,
        ),
        data=Path(snakemake.input.data),
        settings=Settings(**snakemake.params.settings),
    )
