"""The paper's own numbers in figures: hollow markers beside our curves."""

from __future__ import annotations

__all__ = ["as_printed", "draw_printed", "entry"]

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

HOLLOW: dict[str, Any] = {"ls": "", "mfc": "white", "ms": 5, "mew": 0.7}
TOP = 4  # above all curves


def as_printed(table: pd.DataFrame, measured_as: Mapping[str, str]) -> pd.DataFrame:
    """Metrics of a figure as the published code measures them, under the names of the paper.

    Rows of a problem and method are replaced where there are rows of the other metric.

    Arguments:
        table: tidy table.
        measured_as: metrics of ours by metrics of the paper.
    """
    for metric, ours in measured_as.items():
        theirs = table[table["metric"] == ours].assign(metric=metric)
        keys = ["metric", "dataset", "method"]
        replaced, every = (pd.MultiIndex.from_frame(part[keys]) for part in (theirs, table))
        table = pd.concat([table[~every.isin(replaced)], theirs], ignore_index=True)
    return table


def draw_printed(axis: Axes, rows: pd.DataFrame, along: str, look: Mapping[str, Any]) -> None:
    """Draws numbers of the paper in a figure.

    Arguments:
        axis: where to draw.
        rows: with `value`, and with `along`, or without it for a number that has none: then the
            marker stands at the right end.
        along: column of the axis of x.
        look: `color` and `marker` of the curve that they belong to.
    """
    if rows.empty:
        return
    own = {"color": look["color"], "marker": look["marker"], "zorder": TOP, **HOLLOW}
    if rows[along].isna().all():
        place = axis.get_yaxis_transform()
        axis.plot([1.0], rows["value"], transform=place, clip_on=False, **own)
    else:
        axis.plot(rows[along], rows["value"], **own)


def entry() -> Line2D:
    """The entry of a figure's legend for the numbers of the paper."""
    return Line2D([], [], label="printed", color="0.3", marker="o", **HOLLOW)
