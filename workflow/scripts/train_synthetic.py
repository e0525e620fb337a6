"""Trains the networks of a chunk of seeds."""

from pathlib import Path

from vwta.paper.synthetic.train import Settings, train
from vwta.workflow.job import job

with job(snakemake):
    train(
        dataset=snakemake.wildcards.dataset,
        constants=snakemake.params.constants,
        model=snakemake.wildcards.model,
        K=int(snakemake.wildcards.K),
        data=Path(snakemake.input.data),
        outputs={
            int(name.removeprefix("seed")): Path(path) for name, path in snakemake.output.items()
        },
        settings=Settings(
            **snakemake.params.training, **snakemake.params.protocol, bins=snakemake.params.bins
        ),
        unfinished=Path(snakemake.params.unfinished),
        device=snakemake.params.device,
        code=snakemake.params.code,
    )
