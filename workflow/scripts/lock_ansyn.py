"""Reads the list of archives from ANSYN's record, once."""

from pathlib import Path

from vwta.paper.downloads.zenodo import lock_record
from vwta.workflow.job import job
from vwta.workflow.notes import noted
from vwta.workflow.places import cache_of

with job(snakemake):
    params = snakemake.params
    with noted(params.note, params.until):
        lock_record(
            url=params.record,
            names=params.names,
            lock=params.lock,
            cache=cache_of(snakemake.output[0], params.lock),
            mirror=Path(params.mirror) if params.mirror else None,
        )
