"""Trains the networks of all splits of a set."""

from pathlib import Path

from vwta.paper.uci.train import Settings, train
from vwta.workflow.job import job

with job(snakemake):
    train(
        dataset=snakemake.wildcards.dataset,
        model=snakemake.wildcards.model,
        K=snakemake.params.K,
        data=Path(snakemake.input.data),
        outputs={
            int(name.removeprefix("split")): Path(path) for name, path in snakemake.output.items()
        },
        settings=Settings(**snakemake.params.settings),
        unfinished=Path(snakemake.params.unfinished),
        device=snakemake.params.device,
        code=snakemake.params.code,
    )
