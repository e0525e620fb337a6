"""Figures of the audio study from metrics alone: NLL, error of volumes, dispersion."""

from __future__ import annotations

__all__ = ["dispersion", "monte_carlo", "nll_against_h"]

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from vwta.io.storage import read_table
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.estimators import measured_in
from vwta.paper.figures.labels import keep_apart
from vwta.paper.figures.nll_against_h import nll_panel
from vwta.paper.figures.style import COLUMN, label_panels, log_ticks, panels, save, style
from vwta.paper.methods import METHODS, in_panel

SIDE_BY_SIDE = 4  # panels
SMALL = 6  # size of the writing inside a panel
UNIFORM = math.log(4 * math.pi)  # NLL of the uniform density
PRINTED = 0.01  # last digit of a printed NLL
DISPERSION = "audio dispersion"  # methods of this panel; the first is on top
GAP = 0.055  # between names of classes, in widths of a panel
TUNED: dict[str, Any] = {"ls": "", "mfc": "white", "mew": 1.0, "ms": 5, "zorder": 4}


def nll_against_h(metrics: Path, paths: Sequence[Path], protocol: str, dataset: str) -> None:
    """Draws the NLL against the bandwidth h, one panel for each number K of hypotheses.

    Panels are those of :func:`vwta.paper.figures.nll_against_h.nll_panel` with one scale for all;
    hollow markers are bandwidths that were tuned. A line tells the NLL of the uniform density,
    log 4 pi.

    Arguments:
        metrics: table of metrics.
        paths: files to write, in the format of their suffix.
        protocol: which protocol's rows to draw.
        dataset: where the scenes come from.
    """
    rows = _rows(read_table(metrics), protocol, dataset, ["nll"])
    counts = _counts(rows)
    with style():
        figure, axes = _panels(len(counts), 0.8 * COLUMN, sharey=True)
        limits = []
        for axis, K in zip(axes, counts, strict=True):
            mine = rows[rows["K"].isna() | (rows["K"] == K)]
            if mine.loc[~mine["tuned"], "h"].isna().all():
                raise ValueError(f"no NLL of {protocol} on {dataset} at K={K} at given bandwidths")
            limits.append(_nll(axis, mine))
            axis.set_title(f"$K = {K}$")
        axes[0].set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        label_panels(axes, SIDE_BY_SIDE, "bandwidth $h$", "NLL (nats)")
        entries = _entries(axes)
        if rows["tuned"].any():
            entries.append(Line2D([], [], color="0.3", marker="o", label="tuned $h$", **TUNED))
        figure.legend(handles=entries, loc="outside lower center", ncols=min(5, 1 + len(counts)))
        save(figure, paths)


def monte_carlo(metrics: Path, paths: Sequence[Path], protocol: str, dataset: str) -> None:
    """Draws the error of the NLL if volumes are estimated with random points, against h.

    One panel for each K, on a scale that is linear up to the last digit that the paper prints and
    logarithmic beyond. Within the band the error is lost in rounding. A note says how many targets
    lie in a cell without any point, where there is no estimate.

    Arguments as of :func:`nll_against_h`.
    """
    rows = _rows(read_table(metrics), protocol, dataset, ["monte_carlo_bias", "monte_carlo_empty"])
    bias, empty = (rows[rows["metric"] == f"monte_carlo_{name}"] for name in ("bias", "empty"))
    counts = _counts(bias)
    with style():
        figure, axes = _panels(len(counts), 0.7 * COLUMN, sharey=True)
        axes[0].set_yscale("symlog", linthresh=PRINTED)
        for axis, K in zip(axes, counts, strict=True):
            _bias(axis, bias[bias["K"] == K])
            axis.set_title(f"$K = {K}$")
            note = _empties(empty[empty["K"] == K])
            place = axis.transAxes
            axis.text(0.97, 0.98, note, transform=place, ha="right", va="top", fontsize=SMALL)
        axes[0].set_ylim(top=max(3 * PRINTED, axes[0].get_ylim()[1]))  # room for the notes
        axes[0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        label_panels(axes, SIDE_BY_SIDE, "bandwidth $h$", "error of the NLL (nats)")
        columns = min(5, 1 + len(counts))
        figure.legend(handles=_entries(axes), loc="outside lower center", ncols=columns)
        save(figure, paths)


def dispersion(metrics: Path, paths: Sequence[Path], protocol: str, dataset: str) -> None:
    """Draws the predicted dispersion against the true one, class by class, one panel for each K.

    Titles have Spearman's rank correlations. Numbers are means over the seeds.

    Arguments as of :func:`nll_against_h`.
    """
    names = [f"dispersion_{kind}" for kind in (*CLASSES, "correlation")]
    rows = _rows(read_table(metrics), protocol, dataset, names)
    means = rows.groupby(["method", "K", "metric"], dropna=False)["value"].mean().reset_index()
    true = means[(means["method"] == "truth") & np.isfinite(means["value"])]
    true = true.set_index("metric")["value"]
    if true.empty:
        raise ValueError(f"no dispersion of the true law of {protocol} on {dataset} in the metrics")
    counts = _counts(means[means["method"].isin(in_panel(DISPERSION))])
    of_class = means["metric"] != names[-1]
    room = 4 + 0.6 * SMALL * max(len(name) for name in true.index.str.removeprefix("dispersion_"))
    highest = 1.06 * float(means.loc[of_class & np.isfinite(means["value"]), "value"].max())
    with style():
        figure, axes = _panels(len(counts), 0.88 * COLUMN)
        for axis, K in zip(axes, counts, strict=True):
            mine = means[means["K"] == K]
            axis.set(xlim=(0, highest), ylim=(0, highest))
            axis.plot([0, highest], [0, highest], color="black", lw=0.8, ls=":", label="equal")
            _classes(axis, true)
            _dispersions(axis, mine[mine["metric"] != names[-1]], true)
            title = _correlations(mine[mine["metric"] == names[-1]])
            axis.set_title(f"$K = {K}${title}", fontsize=7, pad=room)
        label_panels(
            axes, SIDE_BY_SIDE, "true dispersion (degrees)", "predicted dispersion (degrees)"
        )
        figure.legend(handles=_entries(axes), loc="outside lower center", ncols=4)
        save(figure, paths)


def _rows(table: pd.DataFrame, protocol: str, dataset: str, metrics: Sequence[str]) -> pd.DataFrame:
    """Rows of some metrics; an error that names them if there are none."""
    mine = table[(table["protocol"] == protocol) & (table["dataset"] == dataset)]
    rows = mine[mine["metric"].isin(list(metrics))]
    if rows["K"].isna().all():
        there = sorted(mine["metric"].unique()) or "none"
        raise ValueError(
            f"no {metrics[0]} of {protocol} on {dataset} for any K: metrics there are {there}"
        )
    return rows


def _counts(rows: pd.DataFrame) -> list[int]:
    return sorted(int(K) for K in rows["K"].dropna().unique())


def _panels(count: int, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels of this height in inches."""
    width = max(1.4 * COLUMN, 0.62 * COLUMN * min(SIDE_BY_SIDE, count))
    return panels(count, SIDE_BY_SIDE, width, height, 0.4, **options)


def _entries(axes: Iterable[Axes]) -> list[Any]:
    """Entries of a legend for all that any of the panels shows."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values())


def _nll(axis: Axes, rows: pd.DataFrame) -> tuple[float, float]:
    """Draws the NLL for one K, and says how high and low the panel should go."""
    finite = np.isfinite(rows["value"])
    nll_panel(axis, rows[finite & ~rows["tuned"]])
    low, high = axis.get_ylim()
    label = r"uniform density, $\log 4 \pi$"
    axis.axhline(UNIFORM, color="0.6", lw=0.8, label=label, zorder=1)
    tuned = rows[finite & rows["tuned"]]
    for method, points in tuned.groupby("method"):
        look = METHODS[str(method)]
        axis.plot(points["h"], points["value"], color=look.color, marker=look.marker, **TUNED)
    broken = [METHODS[name].label for name in rows.loc[~finite, "method"].unique()]
    if broken:
        note = f"not finite: {', '.join(broken)}"
        axis.text(0.03, 0.97, note, transform=axis.transAxes, va="top", fontsize=SMALL)
    low, high = min([low, *tuned["value"]]), max([high, *tuned["value"], UNIFORM])
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _bias(axis: Axes, rows: pd.DataFrame) -> None:
    """Draws the error of the NLL for one K."""
    axis.axhspan(-PRINTED / 2, PRINTED / 2, color="0.9", lw=0, label="rounded away in print")
    axis.axhline(0, color="black", lw=0.6)
    ticks = sorted(rows["h"].dropna().unique())
    for method, uniform in _estimated().items():
        for name in (method, uniform):
            look, mine = METHODS[name], rows[rows["method"] == name]
            seeds = mine.groupby("h", dropna=False)["value"].mean()
            line: dict[str, Any] = {"color": look.color, "ls": look.line, "label": look.label}
            if mine.empty:
                continue
            if mine["h"].isna().all():
                axis.axhline(seeds.item(), **line)
            else:
                axis.plot(seeds.index, seeds, marker=look.marker, **line)
    log_ticks(axis, ticks, 1.6)


def _estimated() -> dict[str, str]:
    """Methods whose cells have volumes: one with a bandwidth, and that with uniform kernels."""
    measured = measured_in("audio").items()
    return {recipe.limit_of: name for name, recipe in measured if recipe.limit_of}


def _empties(rows: pd.DataFrame) -> str:
    """How many targets lie in cells without a point, by the kind of atoms."""
    parts = []
    for method, uniform in _estimated().items():
        mine = rows[rows["method"].isin([method, uniform])]
        if len(mine):
            share = 100 * float(mine["value"].sum()) / int(mine["n"].sum())
            parts.append(f"{METHODS[method].label} {share:.2g} %")
    return f"targets in cells without a point:\n{', '.join(parts)}" if parts else ""


def _classes(axis: Axes, true: pd.Series) -> None:
    """Names of classes above a panel, each with a line down to its true dispersion."""
    _, highest = axis.get_xlim()
    places = keep_apart(true.to_numpy(), GAP * highest, 0, highest)
    names = [str(name).removeprefix("dispersion_") for name in true.index]
    where: dict[str, Any] = {
        "transform": axis.get_xaxis_transform(),
        "rotation": 90,
        "fontsize": SMALL,
    }
    for place, name in zip(places, names, strict=True):
        axis.text(place, 1.01, name, ha="center", va="bottom", **where)
    knee = 0.95 * highest
    for x, place in zip(true, places, strict=True):
        axis.plot([x, x, place], [0, knee, highest], color="0.85", lw=0.5, zorder=0.5)
    axis.grid(visible=False)


def _dispersions(axis: Axes, rows: pd.DataFrame, true: pd.Series) -> None:
    """Draws predicted dispersions against true ones; all methods but the first are fainter."""
    for order, method in enumerate(in_panel(DISPERSION)):
        mine = rows[rows["method"] == method].set_index("metric")["value"]
        both = mine.index.intersection(true.index)
        if len(both):
            look, first = METHODS[method], order == 0
            dots: dict[str, Any] = {"color": look.color, "marker": look.marker, "ls": ""}
            dots |= {"ms": 4 if first else 3, "alpha": 1.0 if first else 0.45}
            axis.plot(true[both], mine[both], zorder=3 - 0.1 * order, label=look.label, **dots)


def _correlations(rows: pd.DataFrame) -> str:
    """Spearman's rank correlations: of WTA, and below it of the methods that have one."""
    values = {row["method"]: f"{row['value']:.2f}" for row in rows.to_dict("records")}
    values = {name: text.replace("nan", "undefined") for name, text in values.items()}
    first, *others = in_panel(DISPERSION)
    below = ", ".join(f"{METHODS[name].label} {values[name]}" for name in others if name in values)
    title = rf", $\rho$ = {values[first]}" if first in values else ""
    return title + (f"\n({below})" if below else "")
