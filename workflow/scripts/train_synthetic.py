"""Trains the networks of a chunk of seeds."""

from pathlib import Path

from job import job

from vwta.paper.synthetic.train import Settings, train
from vwta.paper.training import Job

with job(snakemake):
    train(
        Job(
            dataset=snakemake.wildcards.dataset,
            model=snakemake.wildcards.model,
            K=int(snakemake.wildcards.K),
            outputs={
                int(name.removeprefix("seed")): Path(path)
                for name, path in snakemake.output.items()
            },
            unfinished=Path(snakemake.params.unfinished),
            device=snakemake.params.device,
            code=snakemake.params.code,
        ),
        data=Path(snakemake.input.data),
        constants=snakemake.params.constants,
        settings=Settings(
            **snakemake.params.training, **snakemake.params.protocol, bins=snakemake.params.bins
        ),
    )
