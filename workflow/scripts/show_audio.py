"""Selects the predictions of a network that figures show."""

from pathlib import Path

from vwta.paper.audio.show import show_scenes
from vwta.workflow.job import job

with job(snakemake):
    show_scenes(
        predictions=Path(snakemake.input.predictions),
        test=[Path(file) for file in snakemake.input.test],
        path=Path(snakemake.output[0]),
        **snakemake.params.settings,
        code=snakemake.params.code,
    )
