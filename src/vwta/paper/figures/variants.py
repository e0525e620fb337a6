"""Ways to train WTA networks, compared by their risk."""

from __future__ import annotations

__all__ = ["variants"]

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from vwta.io.storage import read_table
from vwta.paper.figures.style import COLUMN, save, style
from vwta.paper.problems import title

MARKERS = "oDs^vP"
LABELS = {
    "paper": "plain",
    "relaxed": "relaxed",
    "top": "top n",
    "annealed": "annealed",
    "k_means_plus_plus": "k-means++ start",
}
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def variants(
    metrics: Path,
    paths: Sequence[Path],
    protocols: Sequence[str],
    datasets: Sequence[str],
    counts: Sequence[int],
) -> None:
    r"""Draws the risk of WTA networks over Lloyd's, :math:`R / R_\text{Lloyd}`, problem by problem.

    A dot is a mean over the seeds; a line through it reaches from the lowest seed to the highest.
    At 1 a network would quantise each input as well as Lloyd's algorithm does with its law alone.

    Arguments:
        metrics: table of properties.
        paths: files to write, in the format of their suffix.
        protocols: the ways to train, from top to bottom.
        datasets: problems, from left to right.
        counts: the numbers K of hypotheses.
    """
    table = read_table(metrics)
    ratios = table[(table["metric"] == "lloyd_ratio") & (table["method"] == "wta")]
    with style():
        size = (2 * COLUMN, 0.5 + 0.22 * len(protocols) + 0.35)
        figure, axes = plt.subplots(1, len(datasets), figsize=size, squeeze=False, sharey=True)
        for axis, dataset in zip(axes[0], datasets, strict=True):
            _panel(axis, ratios[ratios["dataset"] == dataset], protocols, counts)
            axis.set_title(title(dataset))
            axis.set_xlabel("risk / Lloyd's")
        axes[0, 0].set_yticks(range(len(protocols)), [LABELS.get(name, name) for name in protocols])
        axes[0, 0].invert_yaxis()
        entries = axes[0, 0].get_legend_handles_labels()
        figure.legend(*entries, loc="outside lower center", ncols=len(counts) + 1)
        save(figure, paths)


def _panel(axis: Axes, rows: pd.DataFrame, protocols: Sequence[str], counts: Sequence[int]) -> None:
    axis.axvline(1, color="black", lw=0.8, ls=":", label="Lloyd's optimum")
    for index, K in enumerate(counts):
        mine = rows[rows["K"] == K].groupby("protocol")["value"].agg(["mean", "min", "max"])
        missing = [name for name in protocols if name not in mine.index]
        if missing:
            raise ValueError(f"no risk of {', '.join(missing)} at K={K} in the table of metrics")
        mine = mine.loc[list(protocols)]
        height = [place + 0.22 * (index - (len(counts) - 1) / 2) for place in range(len(mine))]
        color, marker = COLORS[index], MARKERS[index]
        label = f"$K = {K}$"
        axis.plot(mine["mean"], height, ls="", color=color, marker=marker, label=label)
        axis.hlines(height, mine["min"], mine["max"], color=color, lw=1)
    axis.set_xlim(left=min(0.95, axis.get_xlim()[0]))
    axis.grid(axis="y", visible=False)
