"""Searches for bandwidths of trained networks: all that they tried, and what they chose.

A table of searches has one row for each bandwidth that a golden section met. Its columns are
:data:`COLUMNS`; of `K`, `seed` and `split` it has those that tell the networks of a study apart.
"""

from __future__ import annotations

__all__ = [
    "COLUMNS",
    "SearchFile",
    "at_border",
    "read_chosen",
    "read_record",
    "search_rows",
    "write_searches",
]

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from vwta.io.provenance import provenance
from vwta.io.storage import read_metadata, read_table, write_table

COLUMNS = {
    "protocol": "str",
    "dataset": "str",
    "method": "str",
    "K": "Int64",
    "seed": "Int64",
    "split": "Int64",
    "h": "float64",
    "nll": "float64",
    "chosen": "bool",
    "border": "bool",
}
NUMBERS = ("K", "seed", "split")


class SearchFile(NamedTuple):
    """A table of searches that a job writes.

    Attributes:
        path: its path.
        protocol: name of the protocol.
        dataset: name of the problem or data set.
        code: digest of the code.
    """

    path: Path
    protocol: str
    dataset: str
    code: str


def at_border(interval: tuple[float, float], low: float, high: float) -> bool:
    """Whether the last interval of a search for h touches an end of the first one."""
    return interval[0] <= low * (1 + 1e-9) or interval[1] >= high * (1 - 1e-9)


def search_rows(
    tried: Iterable[tuple[float, float]], h: float, border: bool, deviation: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Rows of a search: bandwidths that it tried, with the NLL of the validation rows.

    Arguments:
        tried: bandwidths and the NLL there, of standardised targets.
        h: the bandwidth that it chose.
        border: whether it ended at an end of its interval.
        deviation: standard deviation by which targets were divided.
    """
    for at, value in tried:
        yield {
            "h": at,
            "nll": value + math.log(deviation),
            "chosen": at == h,
            "border": border,
        }


def write_searches(
    output: SearchFile, rows: Iterable[Mapping[str, Any]], numbers: Sequence[str], **facts: Any
) -> None:
    """Writes a table of searches.

    Arguments:
        output: file to write.
        rows: those of :func:`search_rows`, with their method and numbers.
        numbers: those of `K`, `seed` and `split` that the table has.
        facts: for its record of provenance.
    """
    common = {"protocol": output.protocol, "dataset": output.dataset}
    columns = {k: kind for k, kind in COLUMNS.items() if k not in NUMBERS or k in numbers}
    table = pd.DataFrame([{**common, **row} for row in rows], columns=list(columns))
    record = {"provenance": provenance(code=output.code, **facts)}
    write_table(output.path, table.astype(columns), record)


def read_chosen(path: Path) -> dict[tuple[Any, ...], float]:
    """Bandwidths that searches chose, to the bit, by method and numbers in the order of columns."""
    table = read_table(path)
    table = table[table["chosen"]]
    names = ["method", *(name for name in NUMBERS if name in table)]
    keys = table[names].itertuples(index=False, name=None)
    return {tuple(key): h for key, h in zip(keys, table["h"].tolist(), strict=True)}


def read_record(path: Path) -> dict[str, Any]:
    """What the evaluation that reads a table of searches records of it: its code and its cost."""
    record = read_metadata(path)["provenance"]
    return {name: record[name] for name in ("code", "made", "cpu_seconds")}
