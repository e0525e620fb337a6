"""Gathers the recordings that scenes are made of, from the mirror or from their archive."""

from pathlib import Path

from vwta.paper.audio.sources import gather_recordings
from vwta.paper.downloads.fetch import File
from vwta.workflow.job import job
from vwta.workflow.notes import noted

with job(snakemake):
    params = snakemake.params
    with noted(params.note, params.until):
        gather_recordings(
            folder=Path(snakemake.output[0]),
            archive=File.of(params.file),
            per_class=params.per_class,
            cache=Path(params.cache),
            mirror=Path(params.mirror) if params.mirror else None,
        )
