"""Tables of metrics put together, with the record of where each part comes from.

The metadata of such a table has `parts`, in the order in which their rows follow each other. Each
has its `provenance`, and says under `rows` how many (`count`) are its own and what they are about.
"""

from __future__ import annotations

__all__ = [
    "collect",
    "collect_curves",
    "cost",
    "facts",
    "merge",
    "read_parts",
    "records",
    "write_parts",
]

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from vwta.io.storage import atomic, key, read_metadata, read_table, read_tensors, write_table

Part = tuple[pd.DataFrame, Mapping[str, Any]]
"""Rows, and the metadata of the file they come from."""

# Columns that identify a number; all others are results.
KEYS = ["study", "protocol", "dataset", "method", "model", "K", "h", "tuned", "seed", "split"]
KEYS += ["metric"]
LISTED = ("protocol", "dataset", "seed", "split")
FACTS = ("revision", "python", "processor", "accelerator", "device", "data")


def collect(parts: Sequence[Path], path: Path, within: str = "") -> None:
    """Writes all rows of some tables of metrics into one.

    The provenance of each part goes along, as `parts` in the metadata, by the part's path.

    Arguments:
        parts: tables with the same columns.
        path: file to write.
        within: beginning of paths that is left out of the names of parts, such as a storage's.
    """
    found = {str(part).removeprefix(within): part for part in parts}
    write_parts(
        path, {name: (read_table(part), read_metadata(part)) for name, part in found.items()}
    )


def collect_curves(networks: Mapping[str, Sequence[Path]], path: Path, within: str = "") -> None:
    """Writes the curves of trained networks as a table of metrics, one row an epoch.

    Its columns are `protocol`, `dataset`, `model`, `K`, `seed`, `epoch` (from 1), `training` (the
    loss on the training rows), `loss` and `distance` (those on the validation rows; the second for
    WTA networks alone), `selected_by_loss` and `selected_by_distance` (whether the epoch has the
    lowest).

    Arguments:
        networks: files of trained networks, by protocol.
        path: file to write.
        within: beginning of paths that is left out of the names of parts, such as a storage's.
    """
    parts: dict[str, Part] = {}
    for protocol, files in networks.items():
        for file in files:
            tensors, metadata = read_tensors(file)
            record, selected = metadata["provenance"], metadata["selected"]
            table = pd.DataFrame(tensors["curve"].numpy(), columns=["training", *selected])
            facts = {name: record[name] for name in ("dataset", "model", "K", "seed")}
            marks = {
                f"selected_by_{name}": table.index == epoch for name, epoch in selected.items()
            }
            table = table.assign(protocol=protocol, **facts, epoch=table.index + 1, **marks)
            parts[str(file).removeprefix(within)] = table, {"provenance": record}
    write_parts(path, parts)


def merge(old: Path, new: Path, path: Path) -> None:
    """Merges tables of metrics: rows of one, and those of an older one that they do not replace.

    A row replaces one with the same keys. A tuned bandwidth, the bandwidths that a search tried and
    the epochs of a training are no keys, so that they are replaced as a whole. Parts are named by
    their path and a hash of their metadata, which distinguishes those with the same path; a part
    without rows is dropped.

    Arguments:
        old: an outcome of this function, or a file that does not exist.
        new: table of :func:`collect` or :func:`write_parts`. If it does not exist, the old table
            is copied.
        path: file to write; the same for the same parts, in whatever order they came.
    """
    if not new.exists():
        with atomic(path) as temporary:
            shutil.copyfile(old, temporary)
        return
    fresh = {f"{name} {key(**part[1])}": part for name, part in read_parts(new).items()}
    parts = read_parts(old) if old.exists() else {}
    about = pd.concat([_keys(rows) for rows, _ in fresh.values()]).drop_duplicates()
    for name, (rows, facts) in parts.items():
        found = _keys(rows).merge(about, how="left", indicator=True)["_merge"]
        parts[name] = rows[(found == "left_only").to_numpy()], facts
    parts |= fresh
    write_parts(path, {name: parts[name] for name in sorted(parts) if len(parts[name][0])})


def write_parts(path: Path, parts: Mapping[str, Part]) -> None:
    """Writes a table of metrics of several parts, which are given by their names."""
    table = pd.concat([rows for rows, _ in parts.values()], ignore_index=True)
    facts = {name: {**facts, "rows": _listed(rows)} for name, (rows, facts) in parts.items()}
    write_table(path, table, {"parts": facts})


def read_parts(path: Path) -> dict[str, Part]:
    """Parts of a table of metrics of :func:`write_parts`, by name."""
    table, first = read_table(path), 0
    parts: dict[str, Part] = {}
    for name, facts in read_metadata(path).get("parts", {}).items():
        count = facts.get("rows", {}).get("count", 0)
        rest = {fact: value for fact, value in facts.items() if fact != "rows"}
        parts[name] = table.iloc[first : first + count], rest
        first += count
    if first != len(table):
        raise ValueError(
            f"{path}: its parts account for {first} of {len(table)} rows. Remedy: collect it again"
        )
    return parts


def facts(tables: Iterable[Path]) -> dict[str, list[str]]:
    """Facts in the records of tables of metrics: each value of a fact once."""
    found: dict[str, set[str | None]] = defaultdict(set)
    for _, record in records(tables):
        for name in FACTS:
            value = record.get(name)
            found[name].add(json.dumps(value) if isinstance(value, dict) else value)
        packages = record.get("packages", {})
        found["packages"].add(", ".join(f"{k} {v}" for k, v in sorted(packages.items())))
    return {name: sorted(filter(None, values)) for name, values in found.items()}


def cost(tables: Iterable[Path]) -> dict[str, dict[str, float]]:
    """Jobs of each kind behind tables of metrics, and their CPU hours by their own records.

    Each job is counted once: a second table of a job has a part of the record of the first, which
    names its trainings too. Records without a time are counted as `unknown`.
    """
    found: dict[str, list[float | None]] = defaultdict(list)
    for jobs in _at_one_time(tables).values():
        for kind, record in jobs:
            if not any(record.items() < other.items() for _, other in jobs):
                found[kind].append(record.get("cpu_seconds"))
    return {
        kind: {
            "files": len(seconds),
            "cpu_hours": round(sum(filter(None, seconds)) / 3600, 3),
            "unknown": seconds.count(None),
        }
        for kind, seconds in sorted(found.items())
    }


def records(tables: Iterable[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All records of provenance in tables of metrics, at any depth, with their kinds.

    The kind is the name of the part's file without its numbers, or the model of a training.
    """
    for table in tables:
        for name, part in read_metadata(table)["parts"].items():
            stem = Path(name.rpartition(" ")[0] or name).stem
            yield from _within(part, re.sub(r"_?(seed|split)\d+", "", stem))


def _at_one_time(tables: Iterable[Path]) -> dict[str | None, list[tuple[str, dict[str, Any]]]]:
    """Records of the tables, each once with its kind, by the time at which they were made."""
    distinct = {json.dumps(found, sort_keys=True): found for found in records(tables)}
    by_time: dict[str | None, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for kind, record in distinct.values():
        by_time[record.get("made")].append((kind, record))
    return by_time


def _keys(rows: pd.DataFrame) -> pd.DataFrame:
    searched = ["h"] if "chosen" in rows else []  # a search is replaced as a whole
    keys = rows[[name for name in KEYS if name in rows and name not in searched]]
    return keys.assign(h=keys["h"].mask(keys["tuned"])) if "tuned" in keys else keys


def _listed(rows: pd.DataFrame) -> dict[str, Any]:
    found = {name: rows[name].dropna().unique().tolist() for name in LISTED if name in rows}
    return {
        "count": len(rows),
        **{name: sorted(values) for name, values in found.items() if values},
    }


def _within(value: Any, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        if "model" in value and "settings" in value:
            kind = f"{value['model']} network"
        if "revision" in value:
            yield kind, value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _within(inner, kind)
