"""Figure of the NLL against a factor on all bandwidths, of plain and of local kernels."""

from __future__ import annotations

__all__ = ["nll_against_factor"]

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from vwta.io.storage import read_table
from vwta.paper.figures.style import COLUMN, log_ticks, save, style
from vwta.paper.methods import METHODS
from vwta.paper.problems import title

LOCAL = "local_v_wta"
METRIC = "nll_large"
ROOM = 1.5  # nats above the true law that panels show
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # with ticks


def nll_against_factor(
    metrics: Path,
    paths: Sequence[Path],
    protocol: str,
    beside: str,
    datasets: Sequence[str],
    K: int,
) -> None:
    """Draws the NLL against a factor on bandwidths, one panel for each problem.

    Bandwidths of V-WTA and K-WTA are divided by the mean of those that validation rows chose.
    Curves are means over the seeds, bands one standard deviation.

    Arguments:
        metrics: table of metrics.
        paths: files to write, in the format of their suffix.
        protocol: the protocol of local kernels.
        beside: that of all others.
        datasets: problems, from left to right.
        K: number of hypotheses.
    """
    table = read_table(metrics)
    rows = table[(table["metric"] == METRIC) & (table["K"].isna() | (table["K"] == K))]
    theirs = rows[(rows["protocol"] == beside) & (rows["method"] != LOCAL)]
    mine = rows[(rows["protocol"] == protocol) & (rows["method"] == LOCAL) & ~rows["tuned"]]
    with style():
        size = (max(1.4 * COLUMN, 0.62 * COLUMN * len(datasets)), 0.85 * COLUMN)
        figure, axes = plt.subplots(1, len(datasets), figsize=size, squeeze=False)
        for axis, dataset in zip(axes[0], datasets, strict=True):
            both = pd.concat([part[part["dataset"] == dataset] for part in (mine, theirs)])
            if both.loc[both["method"] == LOCAL, "h"].isna().all():
                raise ValueError(f"no NLL of {protocol} at factors on {dataset}, K={K}")
            _panel(axis, both)
            axis.set_title(title(dataset))
        of = f"protocol {protocol}" if beside == protocol else f"protocols {protocol}, {beside}"
        axes[0, 0].set_ylabel(f"NLL (nats), $K = {K}$, {of}")
        entries, _ = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles=entries, loc="outside lower center", ncols=5)
        save(figure, paths)


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
    """Draws one problem."""
    for method in (LOCAL, "v_wta", "k_wta"):
        look, curve = METHODS[method], _against_factor(rows[rows["method"] == method])
        if curve.empty:
            continue
        axis.plot(
            curve.index, curve["mean"], color=look.color, marker=look.marker, label=look.label
        )
        low, high = curve["mean"] - curve["std"], curve["mean"] + curve["std"]
        axis.fill_between(curve.index, low, high, color=look.color, alpha=0.2, lw=0)
    for method in ("mdn", "truth"):
        look, values = METHODS[method], rows.loc[rows["method"] == method, "value"]
        if len(values):
            axis.axhline(values.mean(), color=look.color, ls=look.line, label=look.label)
    log_ticks(axis, FACTORS, 1.2)
    lowest = rows["value"].min()
    axis.set_ylim(lowest - 0.05 * ROOM, lowest + ROOM)
    axis.set_xlabel("factor on bandwidths")


def _against_factor(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and deviation over seeds, by the factor on what was chosen, or on what was trained."""
    chosen = rows[rows["tuned"]].groupby("seed")["h"].first()
    given = rows[rows["h"].notna() & ~rows["tuned"]]
    factor = given["h"]
    if len(chosen):
        factor = given["h"] / chosen.mean()  # nearly the same for all seeds
    curve = given["value"].groupby(factor).agg(["mean", "std"]).fillna(0.0)
    return curve[(curve.index >= 0.99 * FACTORS[0]) & (curve.index <= 1.01 * FACTORS[-1])]
