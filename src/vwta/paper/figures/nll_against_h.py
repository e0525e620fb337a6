"""Figures of the synthetic study."""

from __future__ import annotations

__all__ = ["nll_against_h", "nll_panel"]

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from vwta.io.storage import read_table
from vwta.paper.figures.printed import as_printed, draw_printed, entry
from vwta.paper.figures.style import COLUMN, log_ticks, save, style
from vwta.paper.methods import METHODS, in_panel
from vwta.paper.metrics import of_protocol
from vwta.paper.problems import title

PANEL = "nll against h"


def nll_against_h(
    metrics: Path,
    reported: Path,
    paths: Sequence[Path],
    protocol: str,
    otherwise: str,
    measured_as: Mapping[str, str],
    datasets: Sequence[str],
    K: int,
) -> None:
    """Draws the NLL against the bandwidth h, one panel for each problem.

    Curves are means over the seeds, bands one standard deviation. Methods without a bandwidth are
    horizontal lines. Hollow markers are the paper's own numbers. Panels are scaled to the right
    ends of the curves: what lies higher at small bandwidths is left out.

    Arguments:
        metrics: table of metrics.
        reported: csv of the paper's numbers.
        paths: files to write, in the format of their suffix.
        protocol: which protocol's rows to draw.
        otherwise: the protocol of methods without any, see `of_protocol`.
        measured_as: see :func:`vwta.paper.figures.printed.as_printed`.
        datasets: problems, from left to right.
        K: number of hypotheses.
    """
    table = as_printed(of_protocol(read_table(metrics), protocol, otherwise), measured_as)
    theirs = pd.read_csv(reported).query("metric == 'nll' and K == @K")
    rows = table[(table["metric"] == "nll") & ~table["tuned"]]
    rows = rows[rows["method"].isin(in_panel(PANEL)) & (rows["K"].isna() | (rows["K"] == K))]
    with style():
        size = (max(1.4 * COLUMN, 0.62 * COLUMN * len(datasets)), 0.85 * COLUMN)
        figure, axes = plt.subplots(1, len(datasets), figsize=size, squeeze=False)
        for axis, dataset in zip(axes[0], datasets, strict=True):
            mine = rows[rows["dataset"] == dataset]
            if mine["h"].isna().all():
                raise ValueError(f"no NLL of {protocol} on {dataset} at K={K} in the metrics")
            nll_panel(axis, mine)
            for method in in_panel(PANEL):
                numbers = theirs[(theirs["dataset"] == dataset) & (theirs["method"] == method)]
                look = METHODS[method]
                draw_printed(axis, numbers, "h", {"color": look.color, "marker": look.marker})
            axis.set_title(title(dataset))
        axes[0, 0].set_ylabel(f"NLL (nats), $K = {K}$, protocol {protocol}")
        entries, _ = axes[0, 0].get_legend_handles_labels()
        if theirs["dataset"].isin(datasets).any():
            entries.append(entry())
        columns = min(7, 2 * len(datasets))
        figure.legend(handles=entries, loc="outside lower center", ncols=columns)
        save(figure, paths)


def nll_panel(axis: Axes, rows: pd.DataFrame) -> None:
    """Draws the NLL of one problem and K against the bandwidth, see :func:`nll_against_h`.

    Arguments:
        axis: where to draw.
        rows: tidy rows at given bandwidths, or without any; all finite.
    """
    ticks = sorted(rows["h"].dropna().unique())
    for order, method in enumerate(in_panel(PANEL)):
        look, mine = METHODS[method], rows[rows["method"] == method]
        if mine.empty:
            continue
        seeds = mine.groupby("h", dropna=False)["value"].agg(["mean", "std"]).fillna(0.0)
        low, high = seeds["mean"] - seeds["std"], seeds["mean"] + seeds["std"]
        line: dict[str, Any] = {"color": look.color, "ls": look.line, "label": look.label}
        line["zorder"] = 3 - 0.1 * order  # the first is on top
        band: dict[str, Any] = {"color": look.color, "alpha": 0.2, "lw": 0}
        if mine["h"].isna().all():
            axis.axhline(seeds["mean"].item(), **line)
            axis.axhspan(low.item(), high.item(), **band)
        else:
            axis.plot(seeds.index, seeds["mean"], marker=look.marker, **line)
            axis.fill_between(seeds.index, low, high, **band)
    log_ticks(axis, ticks, 1.6)
    ends = rows[rows["h"].isna() | (rows["h"] == ticks[-1])]
    lowest = rows["value"].min()
    room = ends["value"].max() - lowest
    axis.set_ylim(lowest - 0.1 * room, lowest + 1.2 * room)
    axis.set_xlabel("bandwidth $h$")
