"""Reads a table of one's own."""

import sys
from pathlib import Path

from job import job

from vwta.data.errors import DataError
from vwta.studies.uci.prepare import prepare_own

with job(snakemake):
    entry = snakemake.params.entry
    try:
        prepare_own(
            source=Path(snakemake.input[0]),
            target=entry["target"],
            delimiter=entry.get("delimiter", ","),
            path=Path(snakemake.output[0]),
            code=snakemake.params.code,
        )
    except DataError as error:
        sys.exit(str(error))
