"""Fetches an archive of ANSYN from the mirror or from the addresses in the lock file."""

from pathlib import Path

from vwta.paper.downloads.fetch import fetch
from vwta.paper.downloads.zenodo import read_lock
from vwta.workflow.job import job
from vwta.workflow.notes import noted
from vwta.workflow.places import cache_of

with job(snakemake):
    params = snakemake.params
    archive = Path(snakemake.output[0])
    with noted(params.note, params.until):
        files = read_lock(Path(snakemake.input.lock), [archive.name], params.folder)
        file = files[archive.name]
        fetch(
            file,
            cache_of(str(archive), file.path),
            Path(params.mirror) if params.mirror else None,
        )
