"""Measures the estimators of all networks of a protocol of the audio study."""

from pathlib import Path

from vwta.paper.audio.evaluate import Settings, evaluate
from vwta.workflow.job import job

with job(snakemake):
    evaluate(
        predictions=[Path(file) for file in snakemake.input.predictions],
        folds={
            name: [Path(file) for file in snakemake.input[name]] for name in ("validation", "test")
        },
        path=Path(snakemake.output[0]),
        settings=Settings(**snakemake.params.settings),
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
    )
