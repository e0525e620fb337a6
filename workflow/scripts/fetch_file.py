"""Fetches a file from the mirror or from its addresses.

A file that could not be downloaded leaves a note, by which the next run knows to do without it.
"""

from pathlib import Path

from vwta.paper.downloads.fetch import File, fetch
from vwta.workflow.job import job
from vwta.workflow.notes import noted

with job(snakemake):
    params = snakemake.params
    with noted(params.note, params.until):
        fetch(
            File.of(params.file),
            Path(params.places["cache"]),
            Path(params.places["mirror"]) if params.places["mirror"] else None,
        )
