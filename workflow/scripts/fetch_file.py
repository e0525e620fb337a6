"""Fetches a file from the mirror or from its addresses.

A file that could not be downloaded leaves a note, by which the next run knows to do without it.
"""

from pathlib import Path

from vwta.paper.downloads.fetch import File, fetch
from vwta.workflow.job import job
from vwta.workflow.notes import noted
from vwta.workflow.places import cache_of

with job(snakemake):
    params = snakemake.params
    with noted(params.note, params.until):
        file = File.of(params.file)
        fetch(
            file,
            cache_of(snakemake.output[0], file.path),
            Path(params.mirror) if params.mirror else None,
        )
