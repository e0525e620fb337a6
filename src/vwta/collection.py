"""Tables of metrics put together, with the record of where each part comes from."""

from __future__ import annotations

__all__ = ["collect"]

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .storage import read_metadata, read_table, write_table


def collect(parts: Sequence[Path], path: Path) -> None:
    """Writes all rows of some tables into one.

    The provenance of each part goes along, as `parts` in the metadata, by the part's path.

    Arguments:
        parts: tables with the same columns.
        path: file to write.
    """
    table = pd.concat([read_table(part) for part in parts], ignore_index=True)
    write_table(path, table, {"parts": {str(part): read_metadata(part) for part in parts}})
