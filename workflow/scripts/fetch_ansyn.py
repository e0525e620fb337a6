"""Fetches an archive of ANSYN from the mirror or from the addresses in the lock file."""

from pathlib import Path

from vwta.paper.downloads.fetch import fetch
from vwta.paper.downloads.zenodo import read_lock
from vwta.workflow.job import job
from vwta.workflow.notes import noted

with job(snakemake):
    params = snakemake.params
    archive = Path(snakemake.output[0])
    with noted(params.note, params.until):
        files = read_lock(Path(snakemake.input.lock), [archive.name], params.folder)
        fetch(
            files[archive.name],
            Path(params.places["cache"]),
            Path(params.places["mirror"]) if params.places["mirror"] else None,
        )
