"""The table and the figure of a comparison."""

from __future__ import annotations

__all__ = ["write_figure", "write_table"]

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from vwta.io.storage import atomic
from vwta.style import style

METRICS = {
    "nll": "NLL above the best",
    "crps": "CRPS by the best",
    "coverage90": "coverage of 90 % regions",
    "odds_error": "error of scenario odds",
    "fit_seconds": "CPU-seconds to fit",
    "predict_seconds": "CPU-seconds to predict",
}
Record = dict[str, Any]


def write_table(records: Sequence[Record], path: Path) -> None:
    """Means over splits and their standard errors, a row for each data set and method."""
    frame = pd.DataFrame(records)
    metrics = [name for name in METRICS if name in frame]
    groups = frame.groupby(["dataset", "method"])[metrics]
    table = groups.mean().join(groups.sem().add_suffix("_error"))
    table.insert(0, "splits", frame.groupby(["dataset", "method"]).size())
    with atomic(path) as temporary:
        table.to_csv(temporary, float_format="%.6g")


def write_figure(records: Sequence[Record], path: Path) -> None:
    """A panel for each metric, with a row for each data set and a mark for each method."""
    frame = pd.DataFrame(records)
    means = frame.groupby(["dataset", "method"])[[m for m in METRICS if m in frame]].mean()
    datasets, methods = (list(dict.fromkeys(frame[name])) for name in ("dataset", "method"))
    with style():
        figure, axes = plt.subplots(2, 3, figsize=(10, 5.5), layout="constrained", sharey=True)
        for ax, (metric, label) in zip(axes.flat, METRICS.items(), strict=True):
            if metric not in means:
                ax.set_axis_off()
                continue
            values = means[metric].unstack("method").reindex(datasets)
            if metric == "nll":
                values = values.sub(values.min(axis=1), axis=0)
            if metric == "crps":
                values = values.div(values.min(axis=1), axis=0)
            _marks(ax, values, methods)
            ax.set(xlabel=label, yticks=range(len(datasets)), yticklabels=datasets)
            if metric.endswith("seconds"):
                ax.set_xscale("log")
            else:
                ax.locator_params(axis="x", nbins=5)
            if metric == "coverage90":
                ax.axvline(0.9, color="0.4", lw=0.8, zorder=0)
            ax.label_outer(remove_inner_ticks=False)
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(label)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=5)
        with atomic(path) as temporary:
            figure.savefig(temporary, dpi=150, format="png")
        plt.close(figure)


def _marks(ax: Any, values: pd.DataFrame, methods: Sequence[str]) -> None:
    """Marks in rows, those of ours filled."""
    for k, method in enumerate(methods):
        if method not in values:
            continue
        place = [row + 0.6 * (k / max(1, len(methods) - 1) - 0.5) for row in range(len(values))]
        mine = method.startswith("vwta")
        ax.plot(values[method], place, "os^Dv<>PhX"[k % 10], color=f"C{k % 10}", ms=5, label=method,
                mfc=None if mine else "white")  # fmt: skip
