"""Measures the estimators of all networks of a protocol of the audio study."""

from pathlib import Path

from vwta.paper.audio.evaluate import Settings, evaluate
from vwta.workflow.job import job
from vwta.workflow.metrics_file import metrics_file

with job(snakemake):
    evaluate(
        predictions=[Path(file) for file in snakemake.input.predictions],
        fold=[Path(file) for file in snakemake.input.test],
        searches=Path(snakemake.input.searches),
        settings=Settings(**snakemake.params.settings),
        output=metrics_file(snakemake, "audio"),
    )
