"""Records of provenance in the metadata of tables of metrics, read back."""

from __future__ import annotations

__all__ = ["cost", "facts", "records"]

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vwta.io.storage import read_metadata

FACTS = ("revision", "python", "processor", "accelerator", "data")


def facts(tables: Iterable[Path]) -> dict[str, list[str]]:
    """What all records in the tables' metadata say of how they came about, each value once."""
    found: dict[str, set[str | None]] = defaultdict(set)
    for _, record in records(tables):
        for name in FACTS:
            value = record.get(name)
            found[name].add(json.dumps(value) if isinstance(value, dict) else value)
        packages = record.get("packages", {})
        found["packages"].add(", ".join(f"{k} {v}" for k, v in sorted(packages.items())))
    return {name: sorted(filter(None, values)) for name, values in found.items()}


def cost(tables: Iterable[Path]) -> dict[str, dict[str, float]]:
    """Jobs of each kind behind the tables, and their CPU hours by their own records, each once.

    A job that makes several files says in each how long it had taken so far; records that do not
    tell are counted as `unknown`.
    """
    found: dict[str, dict[str, float | None]] = defaultdict(dict)
    for kind, record in records(tables):
        found[kind][json.dumps(record, sort_keys=True)] = record.get("cpu_seconds")
    return {
        kind: {
            "files": len(values),
            "cpu_hours": round(sum(filter(None, values.values())) / 3600, 3),
            "unknown": list(values.values()).count(None),
        }
        for kind, values in sorted(found.items())
    }


def records(tables: Iterable[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All records of provenance in the tables' metadata, at any depth, with their kinds.

    The kind is the name of the part's file without its numbers, or the model of a training.
    """
    for table in tables:
        for name, part in read_metadata(table)["parts"].items():
            stem = Path(name.rpartition(" ")[0] or name).stem
            yield from _within(part, re.sub(r"_?(seed|split)\d+", "", stem))


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
