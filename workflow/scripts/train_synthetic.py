"""Trains networks on a synthetic problem, one for each file that the job makes."""

from pathlib import Path

from vwta.paper.synthetic.train import Settings, train
from vwta.paper.training import Job
from vwta.workflow.job import job

with job(snakemake):
    train(
        Job(
            dataset=snakemake.wildcards.dataset,
            model=snakemake.wildcards.model,
            K=int(snakemake.wildcards.K),
            outputs={
                int(Path(path).stem.removeprefix("seed")): Path(path) for path in snakemake.output
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
