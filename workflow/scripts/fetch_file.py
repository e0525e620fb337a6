"""Fetches a file from the mirror or from its addresses.

A file that cannot be had leaves a note, by which the next run knows to do without it.
"""

import sys
from pathlib import Path

from job import job

from vwta.data.errors import DataError, Unavailable
from vwta.data.fetch import File, fetch

with job(snakemake):
    params = snakemake.params
    note = Path(params.note)
    note.unlink(missing_ok=True)
    try:
        fetch(
            File.of(params.file), Path(params.cache), Path(params.mirror) if params.mirror else None
        )
    except Unavailable as error:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{error}\n", encoding="utf-8")
        sys.exit(f"{error}\nUntil it is there, the next runs go on without it.")
    except DataError as error:
        sys.exit(str(error))
