"""Trains the networks of all splits of a data set."""

from pathlib import Path

from vwta.io.bundles import bundled
from vwta.paper.training import Job
from vwta.paper.uci.train import Settings, train
from vwta.workflow.job import job

with job(snakemake), bundled(Path(snakemake.output[0])) as folder:
    train(
        Job(
            dataset=snakemake.wildcards.dataset,
            model=snakemake.wildcards.model,
            K=snakemake.params.K,
            outputs={
                split: folder / f"split{split}.safetensors"
                for split in range(snakemake.params.splits)
            },
            unfinished=Path(snakemake.params.unfinished),
            device=snakemake.params.device,
            code=snakemake.params.code,
        ),
        data=Path(snakemake.input.data),
        settings=Settings(**snakemake.params.settings),
    )
