"""Searches the bandwidths of all networks of a protocol of the audio study."""

from pathlib import Path

from vwta.paper.audio.tune import Settings, tune
from vwta.workflow.job import job
from vwta.workflow.search_file import search_file

with job(snakemake):
    tune(
        predictions=[Path(file) for file in snakemake.input.predictions],
        fold=[Path(file) for file in snakemake.input.validation],
        settings=Settings(**snakemake.params.settings),
        output=search_file(snakemake),
    )
