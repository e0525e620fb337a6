"""Trains a network on a synthetic problem."""

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
        outputs={int(snakemake.wildcards.seed): Path(snakemake.output[0])},
        settings=Settings(
            **snakemake.params.training, **snakemake.params.protocol, bins=snakemake.params.bins
        ),
        unfinished=Path(snakemake.params.unfinished),
        device=snakemake.params.device,
        code=snakemake.params.code,
    )
