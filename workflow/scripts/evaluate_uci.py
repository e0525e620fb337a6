"""Tunes bandwidths and measures the estimators of all networks trained on a data set."""

from contextlib import ExitStack
from pathlib import Path

from vwta.io.bundles import unbundled
from vwta.paper.uci.evaluate import Settings, evaluate
from vwta.workflow.job import job

with job(snakemake), ExitStack() as stack:
    splits = snakemake.params.splits
    folders = {
        model: stack.enter_context(unbundled(Path(snakemake.input[model]))) for model in splits
    }
    evaluate(
        networks={
            model: [folder / f"split{split}.safetensors" for split in range(splits[model])]
            for model, folder in folders.items()
        },
        data=Path(snakemake.input.data),
        metrics=Path(snakemake.output.metrics),
        searches=Path(snakemake.output.searches),
        settings=Settings(**snakemake.params.settings),
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
        K=snakemake.params.K,
    )
