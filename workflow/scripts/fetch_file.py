"""Fetches a file from the mirror or from its addresses."""

import sys
from pathlib import Path

from job import job

from vwta.data.errors import DataError
from vwta.data.fetch import File, fetch

with job(snakemake):
    params = snakemake.params
    try:
        fetch(
            File.of(params.file), Path(params.cache), Path(params.mirror) if params.mirror else None
        )
    except DataError as error:
        sys.exit(str(error))
