"""Tables for readers: means over the seeds, as csv and markdown."""

from __future__ import annotations

__all__ = ["protocols_side_by_side", "to_markdown", "write"]

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .metrics import COLUMNS
from .storage import atomic

KEYS = ["dataset", "metric", "method", "K", "h"]


def protocols_side_by_side(
    metrics: pd.DataFrame, protocols: Sequence[str], against: Sequence[str]
) -> pd.DataFrame:
    """What protocols give for the same quantity, one column each.

    Arguments:
        metrics: tidy table.
        protocols: the columns, in this order.
        against: protocols of which at least one must have a quantity for it to be listed.

    Returns:
        One row for each `dataset`, `metric`, `method`, `K` and `h`, and a column for each protocol
        with the mean over its seeds, missing where it has none. Rows at a tuned bandwidth have no
        `h` and `tuned` in their metric's name.
    """
    rows = metrics[metrics["protocol"].isin(protocols)].copy()
    tuned = rows["tuned"]
    rows.loc[tuned, "metric"] += " tuned"
    rows.loc[tuned, "h"] = float("nan")
    means = rows.groupby([*KEYS, "protocol"], dropna=False)["value"].mean().unstack("protocol")
    means = means.reindex(columns=list(protocols))
    listed = means[means[list(against)].notna().any(axis=1)].reset_index()
    listed.columns.name = None
    return listed.astype({"K": COLUMNS["K"]})


def to_markdown(table: pd.DataFrame, digits: int = 4) -> str:
    """A table in markdown: numbers to some significant digits, missing ones as a dash."""

    def cell(value: Any) -> str:
        if pd.isna(value):
            return "–"
        return f"{value:.{digits}g}" if isinstance(value, float) else str(value)

    lines = [list(map(str, table.columns)), ["---"] * table.shape[1]]
    lines += [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def write(table: pd.DataFrame, csv: Path, markdown: Path) -> None:
    """Writes a table in both formats; the csv has every digit."""
    with atomic(csv) as temporary:
        table.to_csv(temporary, index=False)
    with atomic(markdown) as temporary:
        temporary.write_text(to_markdown(table), encoding="utf-8")
