"""Figures of the synthetic study."""

from __future__ import annotations

__all__ = ["nll_against_h"]

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from vwta.figures.style import COLUMN, METHODS, TITLES, save, style
from vwta.storage import read_table


def nll_against_h(
    metrics: Path, paths: Sequence[Path], protocol: str, datasets: Sequence[str], K: int
) -> None:
    """Draws the NLL against the bandwidth h, one panel for each problem.

    Curves are means over the seeds, bands one standard deviation.

    Arguments:
        metrics: table of metrics.
        paths: files to write, in the format of their suffix.
        protocol: which protocol's rows to draw.
        datasets: problems, from left to right.
        K: number of hypotheses.
    """
    table = read_table(metrics)
    rows = table[(table["protocol"] == protocol) & (table["metric"] == "nll")]
    rows = rows[rows["K"].isna() | (rows["K"] == K)]
    with style():
        width = COLUMN if len(datasets) == 1 else 0.62 * COLUMN * len(datasets)
        size = (width, 0.75 * COLUMN)
        figure, axes = plt.subplots(1, len(datasets), figsize=size, squeeze=False)
        for axis, dataset in zip(axes[0], datasets, strict=True):
            _panel(axis, rows[rows["dataset"] == dataset])
            axis.set_title(TITLES[dataset])
        axes[0, 0].set_ylabel(f"NLL (nats), $K = {K}$")
        axes[0, 0].legend()
        save(figure, paths)


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
    for method, look in METHODS.items():
        mine = rows[rows["method"] == method]
        if mine.empty:
            continue
        if mine["h"].isna().all():
            axis.axhline(mine["value"].mean(), color=look.color, ls=look.line, label=look.label)
            continue
        over_seeds = mine.groupby("h")["value"].agg(["mean", "std"]).fillna(0.0)
        h, mean, std = over_seeds.index, over_seeds["mean"], over_seeds["std"]
        axis.plot(h, mean, look.line, color=look.color, marker=look.marker, label=look.label)
        axis.fill_between(h, mean - std, mean + std, color=look.color, alpha=0.2, lw=0)
    ticks = sorted(rows["h"].dropna().unique())
    axis.set_xscale("log")
    axis.set_xticks(ticks, _labels(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.margins(y=0.08)
    axis.set_xlabel("bandwidth $h$")


def _labels(ticks: Sequence[float], apart: float = 1.6) -> list[str]:
    """Labels of ticks on a logarithmic axis: none for a tick too close to the label before."""
    labels, last = [], 0.0
    for tick in ticks:
        labels.append(f"{tick:g}" if tick >= apart * last else "")
        last = tick if labels[-1] else last
    return labels
