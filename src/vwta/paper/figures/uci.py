"""Figures of the UCI study: methods on each data set, and the search for the bandwidth."""

from __future__ import annotations

__all__ = ["bandwidth_search", "comparison"]

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from vwta.io.storage import read_table
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.figures.style import COLUMN, label_panels, panels, save, style
from vwta.paper.methods import METHODS
from vwta.paper.problems import title
from vwta.paper.uci.comparison import compare, shown

COLUMNS = 5  # panels side by side
LABELS = {"nll": "NLL (nats)", "rmse": "RMSE"}
APART = 0.22  # ours and printed, from the middle of a method's line
FAR = 6.0  # without printed numbers, so many typical distances from the median is far off
SMALL = 5.5  # size of the writing inside a panel
NARROWEST = 5.0  # ratio of the ends of an axis of bandwidths
LINEAR = 0.1  # the scale of the search is linear up to here, in nats, and logarithmic beyond


def comparison(
    metrics: Path,
    reported: Path,
    paths: Sequence[Path],
    protocol: str,
    datasets: Sequence[str],
    metric: str,
) -> None:
    """Draws a metric of all methods, one panel for each data set: ours filled, printed hollow.

    Dots are means over the splits, bars one standard deviation to each side. A panel shows the
    printed numbers and what is not far from them, see :func:`limits`; an arrow at its border stands
    for a mean beyond it, with the number beside, and a bar without its end goes on beyond. Two
    dashes are a method that has not converged.

    Arguments:
        metrics: tidy table, of all protocols.
        reported: csv of the printed numbers.
        paths: files to write, in the format of their suffix.
        protocol: which protocol's rows to draw.
        datasets: data sets, row by row; those without numbers are left out.
        metric: the metric.
    """
    table = read_table(metrics)
    methods = shown("uci", table[table["protocol"] == protocol])
    rows = compare(table, pd.read_csv(reported), protocol, metric, methods, datasets)
    datasets = _with_numbers(rows.dropna(subset=["mean", "printed_mean"], how="all"), datasets)
    with style():
        figure, axes = _panels(len(datasets), 0.45 + 0.19 * len(methods))
        for axis, dataset in zip(axes, datasets, strict=True):
            mine = rows[rows["dataset"] == dataset].set_index("method")
            _methods(axis, mine)
            missing = mine["missing"].iloc[0]
            name = title(dataset)
            axis.set_title(f"{name}: {missing}" if missing else name)
        axes[0].set_yticks(range(len(methods)), [METHODS[name].label for name in methods])
        axes[0].set_ylim(len(methods) - 0.4, -0.6)
        label_panels(axes, COLUMNS, LABELS[metric])
        figure.legend(handles=_entries(protocol), loc="outside lower center", ncols=3)
        save(figure, paths)


def bandwidth_search(
    search: Path, paths: Sequence[Path], protocol: str, method: str, datasets: Sequence[str]
) -> None:
    """Draws the NLL of validation rows against h, a panel for each data set, a line for each split.

    For local kernels it is drawn against the factor on all widths.
    From each line its lowest value is subtracted. The axis is linear up to 0.1 nats.

    Arguments:
        search: table of what the searches tried: `protocol`, `dataset`, `method`, `split`, `h`,
            `nll`, `chosen` (whether this is the outcome) and `border` (whether the outcome lies at
            the border of the interval).
        paths: files to write, in the format of their suffix.
        protocol: which protocol's searches to draw.
        method: likewise.
        datasets: data sets, row by row.
    """
    table = read_table(search)
    table = table[(table["protocol"] == protocol) & (table["method"] == method)]
    look = METHODS[method]
    with style():
        figure, axes = _panels(len(datasets), 0.58 * COLUMN)
        for axis, dataset in zip(axes, datasets, strict=True):
            axis.set_title(title(dataset))
            _search(axis, table[table["dataset"] == dataset], look.color)
        axes[0].set_yscale("symlog", linthresh=LINEAR)
        axes[0].set_ylim(-0.1 * LINEAR, 30 * axes[0].get_ylim()[1])  # room for the notes
        axes[0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        along = "factor on all widths" if ESTIMATORS[method].adjusted else "bandwidth $h$"
        label_panels(axes, COLUMNS, along, "NLL above lowest (nats)")
        entries = [
            Line2D(
                [],
                [],
                color=look.color,
                lw=0.6,
                label=f"{look.label}, protocol {protocol}: a split",
            ),
            Line2D([], [], ls="", label="chosen", **_chosen(look.color)),
        ]
        figure.legend(handles=entries, loc="outside lower center", ncols=2)
        save(figure, paths)


def _with_numbers(rows: pd.DataFrame, datasets: Sequence[str]) -> Sequence[str]:
    """The data sets that have rows; all of them if none has."""
    return [name for name in datasets if name in set(rows["dataset"])] or datasets


def _panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels of this height in inches and one axis of y."""
    return panels(count, COLUMNS, 2 * COLUMN, height, 0.5, sharey=True)


def _methods(axis: Axes, rows: pd.DataFrame) -> None:
    """Draws the methods on one data set from top to bottom.

    Arguments:
        axis: where to draw.
        rows: rows of :func:`vwta.paper.uci.comparison.compare` for one data set, by method.
    """
    ours, theirs = (rows[[f"{which}mean", f"{which}std"]] for which in ("", "printed_"))
    axis.set_xlim(*limits(ours.to_numpy(), theirs.to_numpy()))
    for place, (method, row) in enumerate(rows.iterrows()):
        look = METHODS[str(method)]
        for prefix, there, fill, shift in (
            ("printed_", row["printed"], "white", -APART),
            ("", row["splits"] > 0, look.color, APART),
        ):
            if there:
                numbers = row[f"{prefix}mean"], row[f"{prefix}std"]
                drawn = {"marker": look.marker, "color": look.color, "mfc": fill, "mew": 0.8}
                _dot(axis, *numbers, place + (0 if look.printed else shift), drawn)
    axis.xaxis.set_major_locator(MaxNLocator(3))
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)


def limits(ours: NDArray[np.float64], printed: NDArray[np.float64]) -> tuple[float, float]:
    """Limits of a panel that numbers far off do not stretch.

    All printed means are shown, and ours that are no farther from them than they are apart. Without
    printed ones, a mean is far off if its distance to the median is some typical ones. Bars widen
    this by half to each side at most, or by what is usual for a bar.

    Arguments:
        ours: means and standard deviations, with shape `(n, 2)`; missing or infinite means do not
            count, and a missing standard deviation is no bar.
        printed: likewise, with shape `(m, 2)`.
    """
    ours, printed = (rows[np.isfinite(rows[:, 0])] for rows in (ours, printed))
    mean = ours[:, 0]
    if len(printed):
        low, high = printed[:, 0].min(), printed[:, 0].max()
        room = (high - low) or abs(high) or 1.0
        near = (mean >= low - room) & (mean <= high + room)
    elif len(ours):
        distance = np.abs(mean - np.median(mean))
        near = distance <= FAR * (np.median(distance) or distance.mean())
    else:
        return 0.0, 1.0
    mean, std = np.nan_to_num(np.concatenate([ours[near], printed])).T
    width = mean.max() - mean.min()
    room = max(width / 2, 1.5 * np.median(std))
    low = max((mean - std).min(), mean.min() - room)
    high = min((mean + std).max(), mean.max() + room)
    margin = 0.08 * (high - low) or 0.1 * abs(low) or 1.0
    return float(low - margin), float(high + margin)


def _dot(axis: Axes, mean: float, std: float, height: float, look: Mapping[str, Any]) -> None:
    """Draws a mean with its bar; an arrow and the number if it lies beyond the panel."""
    low, high = axis.get_xlim()
    if low <= mean <= high:
        bar = None if math.isnan(std) else std
        axis.errorbar(mean, height, xerr=bar, ls="", elinewidth=0.8, capsize=1.5, **look)
        return
    place = axis.get_yaxis_transform()
    write: dict[str, Any] = {"transform": place, "va": "center", "fontsize": SMALL}
    if math.isnan(mean):
        axis.text(0.03, height, "--", color=look["color"], **write)
        return
    right = mean > high
    arrow = {**look, "marker": ">" if right else "<"}
    axis.plot(1 if right else 0, height, ls="", transform=place, clip_on=False, **arrow)
    text = f"{mean:.3g}".replace("inf", "$\\infty$").replace("-", "−")
    write |= {"ha": "right" if right else "left", "color": look["color"]}
    axis.text(0.94 if right else 0.06, height, text, **write)


def _search(axis: Axes, rows: pd.DataFrame, color: str) -> None:
    """Draws the searches on one data set.

    Arguments:
        axis: where to draw.
        rows: what was tried, for all splits and networks.
        color: of the lines.
    """
    axis.set_xscale("log")
    rows = rows[np.isfinite(rows["nll"])]
    if rows.empty:
        axis.text(0.5, 0.5, "no data", transform=axis.transAxes, ha="center", va="center")
        axis.set_xticks([])
        axis.minorticks_off()
        return
    each = ["seed", "split"]
    rows = rows.assign(above=rows["nll"] - rows.groupby(each)["nll"].transform("min"))
    for _, line in rows.sort_values("h").groupby(each):
        axis.plot(line["h"], line["above"], color=color, lw=0.6, alpha=0.6)
    chosen = rows[rows["chosen"]]
    axis.plot(chosen["h"], chosen["above"], ls="", **_chosen(color))
    at_border = int(chosen["border"].sum())
    if at_border:
        text = f"at the border in\n{at_border} of {len(chosen)} searches"
        place = axis.transAxes
        axis.text(0.5, 1, text, transform=place, ha="center", va="top", weight="bold", fontsize=6.5)
    low, high = axis.get_xlim()
    widen = max(1.0, math.sqrt(NARROWEST * low / high))  # ticks of a narrow range would overlap
    axis.set_xlim(low / widen, high * widen)
    wide = math.log10(high / low)  # decades: the labels of a wide range would overlap as well
    subs = (1, 2, 5) if wide < 1.45 else (1, 3) if wide < 2.4 else (1,)
    axis.xaxis.set_major_locator(LogLocator(subs=subs, numticks=5))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _chosen(color: str) -> dict[str, Any]:
    return {"marker": "D", "color": color, "mfc": "white", "ms": 3, "mew": 0.8, "zorder": 3}


def _entries(protocol: str) -> list[Line2D]:
    look: dict[str, Any] = {"color": "0.3", "ls": "", "marker": "o", "mew": 0.8}
    return [
        Line2D([], [], label="printed", mfc="white", **look),
        Line2D([], [], label=f"ours, protocol {protocol}", **look),
        Line2D([], [], label="standard deviation over the splits", color="0.3", lw=0.8),
        Line2D([], [], label="beyond the panel: its mean", **{**look, "marker": ">"}),
        Line2D([], [], label="has not converged", **{**look, "marker": "$--$"}),
    ]
