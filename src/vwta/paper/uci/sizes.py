"""Sizes of the UCI data sets."""

from __future__ import annotations

__all__ = ["sizes"]

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from vwta.io.storage import read_tensors
from vwta.paper.collection import write_parts


def sizes(tables: Mapping[str, Path], splits: Mapping[str, int], path: Path) -> None:
    """Writes a table of UCI data sets: `dataset`, `rows`, `inputs`, `splits` and `discrete`.

    Arguments:
        tables: files of the data sets, by name.
        splits: how many splits of each are run.
        path: file to write.
    """
    parts = {}
    for name, file in tables.items():
        tensors, facts = read_tensors(file)
        count, inputs = tensors["inputs"].shape
        row = {"dataset": name, "rows": count, "inputs": inputs, "splits": splits[name]}
        parts[str(file)] = pd.DataFrame([{**row, "discrete": facts["discrete"]}]), facts
    write_parts(path, parts)
