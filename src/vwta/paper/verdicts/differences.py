"""The register of differences between the paper's text, its published code and this pipeline.

Each effect is measured by two queries over our own numbers, and is their difference, of the
networks (seeds) that both sides have; or by one whose number is an effect already.
"""

from __future__ import annotations

__all__ = ["COLUMNS", "measure"]

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from vwta.paper.verdicts.comparisons import rounded
from vwta.paper.verdicts.selection import Evidence, Query, select, shared, words

COLUMNS = {
    "id": "str",
    "study": "str",
    "text": "str",
    "code": "str",
    "here": "str",
    "matters": "str",
    "effect_on": "str",
    "query": "str",
    "alone": "boolean",
    "state": "str",
    "cases": "Int64",
    "mean": "float64",
    "lowest": "float64",
    "highest": "float64",
    "by_dataset": "str",
}


def measure(entries: Sequence[Mapping[str, Any]], evidence: Evidence) -> pd.DataFrame:
    """The register of differences with measured effects, a row for each, with :data:`COLUMNS`.

    `state` is `measured`, `not run` if there are no numbers yet, or why nothing can be measured.
    `alone` tells whether the two sides differ in this alone.

    Arguments:
        entries: differences, each with `id`, `study`, what the `text`, the `code` and this pipeline
            (`here`) do, where it `matters`, and `effects` or why there is none (`unmeasured`).
        evidence: all numbers.
    """
    rows = []
    for entry in entries:
        facts = {key: entry[key] for key in ("id", "study", "text", "code", "here", "matters")}
        if "unmeasured" in entry:
            rows.append({**facts, "state": entry["unmeasured"]})
        effects = entry.get("effects", ())
        rows += [{**facts, **_effect(effect, entry["study"], evidence)} for effect in effects]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def _effect(effect: Mapping[str, Any], study: str, evidence: Evidence) -> dict[str, Any]:
    queries: list[Query] = [effect[side] for side in ("to", "from") if side in effect]
    for query in queries:
        if "protocol" not in query:
            raise ValueError(f"the effect on {effect['of']}: each query needs a protocol")
    both = evidence.paired(study, queries)
    frames = [select(both, study, "", query, effect.get("datasets")) for query in queries]
    found = {
        "effect_on": effect["of"],
        "query": " less ".join(f"({words(query)})" for query in queries),
        "alone": effect["alone"],
        "state": "not run",
    }
    if any(frame.empty for frame in frames):
        return found
    changes = _changes(frames)
    if changes.empty:
        return found
    values = changes["change"]
    return {
        **found,
        "state": "measured",
        "cases": len(changes),
        "mean": values.mean(),
        "lowest": values.min(),
        "highest": values.max(),
        "by_dataset": "; ".join(
            f"{name} {rounded(float(part.mean()))}"
            for name, part in values.groupby(changes["dataset"], sort=False)
        ),
    }


def _changes(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    first, *others = frames
    if not others:
        return first.rename(columns={"value": "change"})
    both = shared(first, others[0])
    return both.assign(change=both["value_a"] - both["value_b"])
