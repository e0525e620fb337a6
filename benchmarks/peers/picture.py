"""The tables and the figure of a comparison."""

from __future__ import annotations

__all__ = ["complete", "write_figure", "write_markdown", "write_table"]

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd

from vwta.io.storage import atomic
from vwta.style import style

LABELS = {
    "vwta": "vwta, head auto",
    "vwta_ensemble": "5 × vwta, auto",
    "vwta_voronoi": "vwta, voronoi",
    "vwta_local": "vwta, local",
    "vwta_continuous": "vwta, continuous",
    "mdn_ensemble": "5 × MDN",
    "deep_ensembles": "Deep Ensembles (5)",
    "ngboost": "NGBoost",
    "zuko_gmm": "zuko, GMM",
    "zuko_nsf": "zuko, NSF",
    "quantile_boosting": "quantile boosting",
}


class Metric(NamedTuple):
    """How a metric is shown: in the table, on the axis, and how its numbers are written."""

    title: str
    axis: str
    form: str


METRICS = {
    "nll": Metric("Negative log-likelihood", "NLL above the best", ".3f"),
    "crps": Metric("CRPS, in the plane the energy score", "CRPS by the best", "#.3g"),
    "coverage90": Metric("Coverage of regions of 90 %", "coverage of 90 % regions", ".3f"),
    "odds_error": Metric("Error of scenario odds", "error of scenario odds", ".3f"),
    "fit_seconds": Metric("CPU-seconds to fit", "CPU-seconds to fit", ".3g"),
    "predict_seconds": Metric("CPU-seconds to predict", "CPU-seconds to predict", ".2g"),
}


def complete(frame: pd.DataFrame) -> pd.DataFrame:
    """The splits of each data set that all its methods have done, so that means compare."""
    count = frame.groupby(["dataset", "split"])["method"].transform("count")
    return frame[count == count.groupby(frame["dataset"]).transform("max")]


def write_table(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Means over splits and their standard errors, a row for each data set and method.

    Returns:
        The table as it stands in the file.
    """
    metrics = [name for name in METRICS if name in frame]
    groups = frame.groupby(["dataset", "method"])[metrics]
    table = groups.mean().join(groups.sem().add_suffix("_error"))
    table.insert(0, "splits", frame.groupby(["dataset", "method"]).size())
    with atomic(path) as temporary:
        table.to_csv(temporary, float_format="%.6g")
    return pd.read_csv(path).set_index(["dataset", "method"])


def write_markdown(table: pd.DataFrame, path: Path) -> None:
    """A table for each metric: methods by data sets, with the best in bold.

    Arguments:
        table: what :func:`write_table` gives.
        path: file to write.
    """
    datasets = list(table.index.unique("dataset"))
    splits = table["splits"].groupby("dataset").first()
    lines = ["| | " + " | ".join(datasets) + " |", "|---" * (len(datasets) + 1) + "|"]
    lines.append("| splits | " + " | ".join(str(splits[name]) for name in datasets) + " |\n")
    for metric, (title, _, form) in METRICS.items():
        if metric not in table:
            continue
        values = table[metric].unstack("dataset")
        shown = [name for name in datasets if values[name].notna().any()]
        distance = (values - 0.9).abs() if metric == "coverage90" else values
        best = distance.eq(distance.min())
        lines += [f"**{title}**\n", "| | " + " | ".join(shown) + " |"]
        lines.append("|---" * (len(shown) + 1) + "|")
        for method in [name for name in LABELS if name in values.index]:
            cells = [_cell(table, name, method, metric, form) for name in shown]
            bold = [
                f"**{cell}**" if best.loc[method, name] else cell
                for cell, name in zip(cells, shown, strict=True)
            ]
            lines.append(f"| {LABELS[method]} | " + " | ".join(bold) + " |")
        lines.append("")
    with atomic(path) as temporary:
        temporary.write_text("\n".join(lines))


def _cell(table: pd.DataFrame, dataset: str, method: str, metric: str, form: str) -> str:
    """A mean and, of several splits, its standard error; empty if there is none."""
    if (dataset, method) not in table.index:
        return ""
    mean, error = (table.loc[(dataset, method), name] for name in (metric, f"{metric}_error"))
    if pd.isna(mean):
        return ""
    return f"{mean:{form}}" + ("" if pd.isna(error) else f" ± {error:.1g}")


def write_figure(frame: pd.DataFrame, path: Path) -> None:
    """A panel for each metric, with a row for each data set and a mark for each method."""
    means = frame.groupby(["dataset", "method"])[[m for m in METRICS if m in frame]].mean()
    datasets = list(dict.fromkeys(frame["dataset"]))
    methods = [name for name in LABELS if name in set(frame["method"])]
    with style():
        figure, axes = plt.subplots(2, 3, figsize=(8.5, 6), layout="constrained", sharey=True)
        for ax, (metric, (_, label, _)) in zip(axes.flat, METRICS.items(), strict=True):
            if metric not in means:
                ax.set_axis_off()
                continue
            values = means[metric].unstack("method").reindex(datasets)
            if metric == "nll":
                values = values.sub(values.min(axis=1), axis=0)
                ax.set_xscale("symlog", linthresh=0.1, linscale=0.8)
            if metric == "crps":
                values = values.div(values.min(axis=1), axis=0)
            _marks(ax, values, methods)
            ax.set(yticks=range(len(datasets)), yticklabels=datasets)
            if metric.endswith("seconds"):
                ax.set_xscale("log")
            if metric == "nll":
                ax.set_xticks([0, 0.05, 0.1, 0.3, 1, 3], [0, 0.05, 0.1, 0.3, 1, 3])
                ax.set_xlim(left=-0.02)
            if metric == "coverage90":
                ax.axvline(0.9, color="0.4", lw=0.8, zorder=0)
            ax.label_outer(remove_inner_ticks=False)
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(label)
        axes[0, 0].invert_yaxis()
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4)
        with atomic(path) as temporary:
            figure.savefig(temporary, dpi=130, format="png")
        plt.close(figure)


def _marks(ax: Any, values: pd.DataFrame, methods: list[str]) -> None:
    """Marks in rows, those of ours filled."""
    for k, method in enumerate(methods):
        if method not in values:
            continue
        place = [row + 0.7 * (k / max(1, len(methods) - 1) - 0.5) for row in range(len(values))]
        mine = method.startswith("vwta")
        ax.plot(values[method], place, "os^Dv<>PhXd"[k % 11], color=f"C{k % 10}", ms=5,
                label=LABELS[method], mfc=None if mine else "white")  # fmt: skip
