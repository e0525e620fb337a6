"""Tables of metrics put together, with the record of where each part comes from.

The metadata of such a table has `parts`, in the order in which their rows follow each other. Each
has its `provenance`, and says under `rows` how many (`count`) are its own and what they are about.
"""

from __future__ import annotations

__all__ = ["collect", "merge", "read_parts", "write_parts"]

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from vwta.io.storage import key, read_metadata, read_table, write_table

Part = tuple[pd.DataFrame, Mapping[str, Any]]
"""Rows, and the metadata of the file they come from."""

# What a number is about; all other columns tell what was found.
KEYS = ["study", "protocol", "dataset", "method", "model", "K", "h", "tuned", "seed", "split"]
KEYS += ["metric"]
TOLD = ("protocol", "dataset", "seed", "split")


def collect(parts: Sequence[Path], path: Path) -> None:
    """Writes all rows of some tables into one.

    The provenance of each part goes along, as `parts` in the metadata, by the part's path.

    Arguments:
        parts: tables with the same columns.
        path: file to write.
    """
    write_parts(path, {str(part): (read_table(part), read_metadata(part)) for part in parts})


def merge(old: Path, new: Path, path: Path) -> None:
    """Writes the rows of a table, and of an older one those about something else.

    What `h` a bandwidth was tuned to, what a search tried, and how long a training went, is not
    what a row is about: the newer rows take the place of the older ones. Parts are named by their
    path and a hash of their metadata, by which those with the same path can be told apart; a part
    without rows is dropped.

    Arguments:
        old: an outcome of this function, or a file that does not exist.
        new: table of :func:`collect` or :func:`write_parts`.
        path: file to write; the same for the same parts, in whatever order they came.
    """
    fresh = {f"{name} {key(**part[1])}": part for name, part in read_parts(new).items()}
    parts = read_parts(old) if old.exists() else {}
    about = pd.concat([_keys(rows) for rows, _ in fresh.values()]).drop_duplicates()
    for name, (rows, facts) in parts.items():
        found = _keys(rows).merge(about, how="left", indicator=True)["_merge"]
        parts[name] = rows[(found == "left_only").to_numpy()], facts
    parts |= fresh
    write_parts(path, {name: parts[name] for name in sorted(parts) if len(parts[name][0])})


def write_parts(path: Path, parts: Mapping[str, Part]) -> None:
    """Writes a table of several parts, which are given by their names."""
    table = pd.concat([rows for rows, _ in parts.values()], ignore_index=True)
    facts = {name: {**facts, "rows": _tell(rows)} for name, (rows, facts) in parts.items()}
    write_table(path, table, {"parts": facts})


def read_parts(path: Path) -> dict[str, Part]:
    """Parts of a table of :func:`write_parts`, by name."""
    table, first = read_table(path), 0
    parts: dict[str, Part] = {}
    for name, facts in read_metadata(path).get("parts", {}).items():
        count = facts.get("rows", {}).get("count", 0)
        rest = {fact: value for fact, value in facts.items() if fact != "rows"}
        parts[name] = table.iloc[first : first + count], rest
        first += count
    if first != len(table):
        raise ValueError(
            f"{path}: its parts account for {first} of {len(table)} rows. Remedy: collect it anew"
        )
    return parts


def _keys(rows: pd.DataFrame) -> pd.DataFrame:
    searched = ["h"] if "chosen" in rows else []  # a search is replaced as a whole
    keys = rows[[name for name in KEYS if name in rows and name not in searched]]
    return keys.assign(h=keys["h"].mask(keys["tuned"])) if "tuned" in keys else keys


def _tell(rows: pd.DataFrame) -> dict[str, Any]:
    told = {name: rows[name].dropna().unique().tolist() for name in TOLD if name in rows}
    return {"count": len(rows), **{name: sorted(values) for name, values in told.items() if values}}
