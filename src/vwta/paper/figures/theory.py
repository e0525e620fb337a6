"""Figures of the theory measured on networks: weak convergence, cells, and where atoms lie."""

from __future__ import annotations

__all__ = ["cells", "point_density", "weak_convergence"]

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from vwta.io.storage import read_table
from vwta.paper.figures.style import COLUMN, log_ticks, save, style
from vwta.paper.methods import METHODS, PROPOSED, network_of
from vwta.paper.problems import PROBLEMS, title

NETWORK = network_of(PROPOSED)
OPTIMUM: dict[str, Any] = {"color": "black", "ls": "--", "lw": 0.9}
FLOOR: dict[str, Any] = {"color": "0.45", "ls": ":", "lw": 1}
# Panels of :func:`cells`: title, metric, its floor, value at the optimum for large K, log scale.
PANELS: list[tuple[str, str, str | None, float | None, bool]] = [
    ("largest diameter seen", "largest_diameter_seen", None, None, True),
    ("mean diameter", "mean_diameter", None, None, True),
    ("score off mass (TV)", "score_tv", "score_tv_floor", None, True),
    ("off centroid (RMS)", "centroid_rms", "centroid_rms_floor", None, True),
    ("risk / Zador's", "zador_ratio", None, 1.0, False),
]


def weak_convergence(
    metrics: Path, paths: Sequence[Path], protocols: Sequence[str], datasets: Sequence[str]
) -> None:
    """Draws errors of the probabilities of fixed sets against K: a row for each protocol.

    Thin lines are single bandwidths, the thick line is the worst of them for each K. For
    comparison: atoms without kernels, the worst bandwidth of V-WTA on atoms of Lloyd's algorithm
    with exact masses, and what the finite number of points of the true law leaves.

    Arguments:
        metrics: table of properties.
        paths: files to write, in the format of their suffix.
        protocols: protocols, from top to bottom.
        datasets: problems, from left to right.
    """
    table = _means(metrics, protocols, datasets)
    table = table[table["metric"].isin(["set_error", "set_error_floor"])]

    def panel(axis: Axes, protocol: str, dataset: str) -> None:
        rows = table[table["dataset"] == dataset]
        mine = rows[rows["protocol"] == protocol].set_index("method")
        for method in ("k_wta", "v_wta"):
            look, sweep = METHODS[method], mine.loc[[method]]
            for _, line in sweep.groupby("h"):
                axis.plot(line["K"], line["value"], color=look.color, lw=0.5, alpha=0.5)
            worst = sweep.groupby("K")["value"].max()
            axis.plot(worst, color=look.color, marker=look.marker)
        bare, look = mine.loc[["dirac_wta"]], METHODS["dirac_wta"]
        axis.plot(bare["K"], bare["value"], color=look.color, marker=look.marker, lw=1)
        best = rows[rows["method"] == "v_lloyd"].groupby("K")["value"].max()
        axis.plot(best, **OPTIMUM)
        axis.axhline(rows.loc[rows["method"] == "truth", "value"].mean(), **FLOOR)
        _against_K(axis, table["K"])
        _log_scale(axis)

    handles = [
        Line2D([], [], color=look.color, marker=look.marker, label=f"{look.label}, worst $h$")
        for look in (METHODS["v_wta"], METHODS["k_wta"])
    ]
    handles += [
        Line2D([], [], color="0.5", lw=0.6, label="single $h$"),
        _handle(METHODS["dirac_wta"].label, METHODS["dirac_wta"].color, "x"),
        Line2D([], [], label="V kernels at Lloyd's optimum, worst $h$", **OPTIMUM),
        Line2D([], [], label="noise of the true law", **FLOOR),
    ]
    _grid(paths, protocols, datasets, "$|P_K(E) - P(E)|$", panel, handles)


def cells(
    metrics: Path, paths: Sequence[Path], protocols: Sequence[str], datasets: Sequence[str]
) -> None:
    """Draws what theory says of cells against K: a row for each protocol, problems by colour.

    Dashed lines are atoms of Lloyd's algorithm, dotted ones what an optimum would show for the
    finite number of points of the true law. Bands reach from the lowest seed to the highest.

    Arguments as of :func:`weak_convergence`.
    """
    table = _means(metrics, protocols, datasets)
    with style():
        size = (0.62 * COLUMN * len(PANELS), 0.6 * COLUMN * len(protocols) + 0.4)
        figure, axes = plt.subplots(
            len(protocols), len(PANELS), figsize=size, squeeze=False, sharex=True, sharey="col"
        )
        for line, protocol in zip(axes, protocols, strict=True):
            for axis, (_, metric, floor, limit, log) in zip(line, PANELS, strict=True):
                for dataset in datasets:
                    rows = table[table["dataset"] == dataset].set_index("metric")
                    _cell_lines(axis, rows, protocol, metric, floor, _look(dataset))
                if limit is not None:
                    axis.axhline(limit, **FLOOR)
                _against_K(axis, table["K"])
                if log:
                    _log_scale(axis)
            line[0].set_ylabel(f"protocol {protocol}")
        for axis, (heading, *_) in zip(axes[0], PANELS, strict=True):
            axis.set_title(heading)
        for axis in axes[-1]:
            axis.set_xlabel("$K$")
        _legend(figure, [*_problem_handles(datasets), *_reference_handles()])
        save(figure, paths)


def point_density(
    metrics: Path, paths: Sequence[Path], protocols: Sequence[str], datasets: Sequence[str]
) -> None:
    r"""Draws how far atoms follow :math:`\rho^{1/2}` and :math:`\rho`, against K.

    A row for each protocol, a panel for each problem, and a last one with the likeliest exponent.

    Arguments as of :func:`weak_convergence`.
    """
    table = _means(metrics, protocols, datasets)
    # Colours that no problem has: these stand in the last panel.
    curves = {"half": ("#000000", "P"), "one": ("#E69F00", "X")}
    last = "likeliest exponent"

    def panel(axis: Axes, protocol: str, dataset: str) -> None:
        if dataset == last:
            for name in datasets:
                rows = table[table["dataset"] == name].set_index("metric")
                look = _look(name)
                _cell_lines(axis, rows, protocol, "point_density_exponent", None, look)
            axis.axhline(0.5, **FLOOR)
            axis.set_ylim(0, 1.5)
        else:
            rows = table[table["dataset"] == dataset].set_index("metric")
            for name, (color, marker) in curves.items():
                look = {"color": color, "marker": marker}
                _cell_lines(axis, rows, protocol, f"point_density_tv_{name}", None, look)
            mine = rows.loc[["point_density_tv_chance"]]
            mine = mine[(mine["protocol"] == protocol) & (mine["method"] == NETWORK)]
            axis.plot(mine["K"], mine["value"], **FLOOR)
            axis.set_ylim(bottom=0)
        _against_K(axis, table["K"])

    handles = [
        _handle(r"off $\rho^{1/2}$", *curves["half"]),
        _handle(r"off $\rho$", *curves["one"]),
        Line2D([], [], label=r"$K$ independent points of $\rho^{1/2}$; exponent 1/2", **FLOOR),
        Line2D([], [], label="Lloyd's optimum", **OPTIMUM),
        *_problem_handles(datasets),
    ]
    _grid(paths, protocols, [*datasets, last], "total variation", panel, handles)


def _means(metrics: Path, protocols: Sequence[str], datasets: Sequence[str]) -> pd.DataFrame:
    """Means (`value`), lowest and highest over the seeds of what some protocols have."""
    table = read_table(metrics)
    there = set(zip(table["protocol"], table["dataset"], strict=True))
    missing = [" on ".join(pair) for pair in product(protocols, datasets) if pair not in there]
    if missing:
        raise ValueError(f"no properties of {', '.join(missing)} in the table of metrics")
    table = table[table["protocol"].isin(list(protocols))]
    keys = ["protocol", "dataset", "method", "metric", "K", "h"]
    means = table.groupby(keys, dropna=False)["value"].agg(["mean", "min", "max"]).reset_index()
    return means.rename(columns={"mean": "value"}).astype({"K": "float64"})


def _cell_lines(
    axis: Axes,
    rows: pd.DataFrame,
    protocol: str,
    metric: str,
    floor: str | None,
    look: dict[str, Any],
) -> None:
    """A metric of WTA networks against K, that of Lloyd's atoms, and the floor."""
    mine = rows.loc[[metric]]
    trained = mine[(mine["protocol"] == protocol) & (mine["method"] == NETWORK)]
    axis.plot(trained["K"], trained["value"], **look)
    color = look["color"]
    axis.fill_between(trained["K"], trained["min"], trained["max"], color=color, alpha=0.2, lw=0)
    optimum = mine[mine["method"] == "lloyd"]
    axis.plot(optimum["K"], optimum["value"], **{**OPTIMUM, "color": color})
    if floor is not None:
        under = rows.loc[[floor]]
        under = under[(under["protocol"] == protocol) & (under["method"] == NETWORK)]
        axis.plot(under["K"], under["value"], **{**FLOOR, "color": color})


def _grid(
    paths: Sequence[Path],
    protocols: Sequence[str],
    columns: Sequence[str],
    quantity: str,
    panel: Callable[[Axes, str, str], None],
    handles: list[Line2D],
) -> None:
    """Draws a row of panels for each protocol."""
    with style():
        size = (
            max(1.6 * COLUMN, 0.6 * COLUMN * len(columns)),
            0.62 * COLUMN * len(protocols) + 0.5,
        )
        shape = (len(protocols), len(columns))
        figure, axes = plt.subplots(*shape, figsize=size, squeeze=False, sharex=True)
        for line, protocol in zip(axes, protocols, strict=True):
            for axis, column in zip(line, columns, strict=True):
                panel(axis, protocol, column)
            line[0].set_ylabel(f"{quantity}, {protocol}")
        for axis, column in zip(axes[0], columns, strict=True):
            axis.set_title(title(column))
        for axis in axes[-1]:
            axis.set_xlabel("$K$")
        _legend(figure, handles)
        save(figure, paths)


def _against_K(axis: Axes, counts: pd.Series[float]) -> None:
    """A logarithmic axis with ticks at the numbers of atoms, and labels where there is room."""
    log_ticks(axis, sorted(counts.dropna().unique()), 1.5)


def _log_scale(axis: Axes) -> None:
    """A logarithmic axis with more labels the less it spans."""
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    span = high / low
    marks = (1, 1.5, 2, 3, 5, 7) if span < 6 else (1, 2, 5) if span < 100 else (1,)
    axis.yaxis.set_major_locator(LogLocator(subs=marks))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _look(dataset: str) -> dict[str, Any]:
    problem = PROBLEMS[dataset]
    return {"color": problem.color, "marker": problem.marker}


def _handle(label: str, color: str, marker: str) -> Line2D:
    return Line2D([], [], color=color, marker=marker, label=label)


def _problem_handles(datasets: Sequence[str]) -> list[Line2D]:
    return [_handle(title(name), **_look(name)) for name in datasets]


def _reference_handles() -> list[Line2D]:
    return [
        Line2D([], [], label="Lloyd's optimum", **{**OPTIMUM, "color": "0.4"}),
        Line2D([], [], label="noise; theory for large $K$", **FLOOR),
    ]


def _legend(figure: Figure, handles: list[Line2D]) -> None:
    columns = min(len(handles), max(2, int(figure.get_figwidth() / 1.6)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
