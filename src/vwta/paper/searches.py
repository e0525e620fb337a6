"""Searches for bandwidths of trained networks: all that they tried, and what they chose.

A table of searches has one row for each bandwidth that a golden section met; of local kernels, `h`
is the factor on all bandwidths. Its columns are :data:`COLUMNS`; of `K`, `seed` and `split` it has
those that tell the networks of a study apart, and `temperature` if scores have one.
"""

from __future__ import annotations

__all__ = [
    "COLUMNS",
    "Chosen",
    "SearchFile",
    "adjusted_rows",
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

from vwta.distributions.bandwidth import Adjustment
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
    "temperature": "float64",
    "nll": "float64",
    "chosen": "bool",
    "border": "bool",
}
NUMBERS = ("K", "seed", "split")
OPTIONAL = (*NUMBERS, "temperature")


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


class Chosen(NamedTuple):
    """What a search chose.

    Attributes:
        h: the bandwidth; of local kernels the factor on all bandwidths.
        temperature: of the scores of local kernels; None if they have none.
    """

    h: float
    temperature: float | None = None


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


def adjusted_rows(
    found: Adjustment, low: float, high: float, deviation: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Rows of a search for the factor of local kernels, then of that for their temperature.

    Arguments:
        found: outcome of :func:`vwta.distributions.bandwidth.adjust`.
        low: lowest factor and temperature.
        high: highest.
        deviation: see :func:`search_rows`.
    """
    border = at_border(found.by_factor.interval, low, high)
    scores = found.by_temperature
    for row in search_rows(found.by_factor.tried, found.factor, border, deviation):
        yield row if scores is None else {**row, "temperature": 1.0, "chosen": False}
    if scores is not None:
        border = at_border(scores.interval, low, high)
        for row in search_rows(scores.tried, scores.at, border, deviation):
            yield {**row, "h": found.factor, "temperature": row["h"]}


def write_searches(
    output: SearchFile, rows: Iterable[Mapping[str, Any]], more: Sequence[str], **facts: Any
) -> None:
    """Writes a table of searches.

    Arguments:
        output: file to write.
        rows: those of :func:`search_rows`, with their method and numbers.
        more: those of `K`, `seed`, `split` and `temperature` that the table has.
        facts: for its record of provenance.
    """
    common = {"protocol": output.protocol, "dataset": output.dataset}
    columns = {k: kind for k, kind in COLUMNS.items() if k not in OPTIONAL or k in more}
    table = pd.DataFrame([{**common, **row} for row in rows], columns=list(columns))
    record = {"provenance": provenance(code=output.code, **facts)}
    write_table(output.path, table.astype(columns), record)


def read_chosen(path: Path) -> dict[tuple[Any, ...], Chosen]:
    """What searches chose, to the bit, by method and numbers in the order of columns."""
    table = read_table(path)
    table = table[table["chosen"]]
    names = ["method", *(name for name in NUMBERS if name in table)]
    keys = table[names].itertuples(index=False, name=None)
    found = [Chosen(h) for h in table["h"].tolist()]
    if "temperature" in table:
        heats = [None if math.isnan(heat) else heat for heat in table["temperature"].tolist()]
        found = [Chosen(one.h, heat) for one, heat in zip(found, heats, strict=True)]
    return {tuple(key): one for key, one in zip(keys, found, strict=True)}


def read_record(path: Path) -> dict[str, Any]:
    """What the evaluation that reads a table of searches records of it: its code and its cost."""
    record = read_metadata(path)["provenance"]
    return {name: record[name] for name in ("code", "made", "cpu_seconds")}
