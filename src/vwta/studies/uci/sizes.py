"""How large the sets are."""

from __future__ import annotations

__all__ = ["sizes"]

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from vwta.storage import read_tensors, write_table


def sizes(tables: Mapping[str, Path], splits: Mapping[str, int], path: Path) -> None:
    """Writes a table with `dataset`, `rows`, `inputs`, `splits` and `discrete`.

    Arguments:
        tables: files of the sets, by name.
        splits: how many splits of each are run.
        path: file to write.
    """
    rows = []
    for name, file in tables.items():
        tensors, facts = read_tensors(file)
        count, inputs = tensors["inputs"].shape
        rows.append((name, count, inputs, splits[name], facts["discrete"]))
    columns = ["dataset", "rows", "inputs", "splits", "discrete"]
    write_table(path, pd.DataFrame(rows, columns=columns), {})
