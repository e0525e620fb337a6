"""Reads the list of archives from ANSYN's record, once."""

from pathlib import Path

from vwta.paper.downloads.zenodo import lock_record
from vwta.workflow.job import job
from vwta.workflow.notes import noted

with job(snakemake):
    params = snakemake.params
    with noted(params.note, params.until):
        lock_record(
            url=params.record,
            names=params.names,
            lock=params.lock,
            cache=Path(params.places["cache"]),
            mirror=Path(params.places["mirror"]) if params.places["mirror"] else None,
        )
