"""Figures of the synthetic study against the number K of hypotheses."""

from __future__ import annotations

__all__ = ["BANDS", "ROWS", "quantitative", "tuned"]

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter

from vwta.io.storage import read_table
from vwta.paper.estimators import swept_in
from vwta.paper.figures.printed import as_printed, draw_printed, entry
from vwta.paper.figures.style import COLUMN, log_ticks, save, shade, style
from vwta.paper.methods import METHODS, PROPOSED, Method, in_panel, network_of
from vwta.paper.metrics import of_protocol
from vwta.paper.problems import title

ROWS = ("nll", "emd", "risk")  # metrics, from top to bottom
LABELS = {"nll": "NLL (nats)", "emd": "EMD", "risk": "quantisation error"}
LOGARITHMIC = ("emd", "risk")
OF_ATOMS = ("risk",)  # whatever the bandwidth

THIN = 0.8
MARKERS = "osv^"  # of bandwidths, from the smallest on
# Digits of the ticks of a logarithmic axis, from sparse to dense.
DIGITS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7))

Band = Callable[[pd.DataFrame], tuple[pd.Series, pd.Series]]


class Curve(NamedTuple):
    """A curve of a figure: its method, and its bandwidth if it has one."""

    method: str
    h: float | None = None


BEST = Curve(f"{PROPOSED}_at_best")


def _range(values: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """From the lowest seed to the highest."""
    return values.min(axis=1), values.max(axis=1)


def _deviation(values: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """One standard deviation to each side of the mean; none for a single seed."""
    mean, deviation = values.mean(axis=1), values.std(axis=1).fillna(0.0)
    return mean - deviation, mean + deviation


# Lower and upper bounds (K,) of the band around the mean of the seeds (K, S).
BANDS: dict[str, Band] = {"range": _range, "deviation": _deviation}


def quantitative(
    metrics: Sequence[Path],
    reported: Path,
    paths: Sequence[Path],
    protocol: str,
    otherwise: str,
    measured_as: Mapping[str, str],
    models: Sequence[str],
    h: Mapping[str, Sequence[float]],
    K: Sequence[int],
    band: str,
) -> None:
    """Draws NLL, EMD and quantisation error against K: a row for each, a column for each problem.

    Curves are means over the seeds. Dotted lines are theory: the true law's own NLL, the distance
    between two of its samples, and the asymptotic risks. Hollow markers are the paper's own
    numbers.

    Arguments:
        metrics: tables of metrics: evaluation, distances and reference risks.
        reported: csv of the paper's numbers.
        paths: files to write, in the format of their suffix.
        protocol: which protocol's rows to draw.
        otherwise: the protocol for methods without rows, see
            :func:`vwta.paper.metrics.of_protocol`.
        measured_as: see :func:`vwta.paper.figures.printed.as_printed`.
        models: networks of the study; what follows from others is left out.
        h: bandwidths of V-WTA for each problem; problems from left to right.
        K: numbers of hypotheses.
        band: `range` for a band from the lowest seed to the highest, `deviation` for bars of one
            standard deviation.
    """
    table = of_protocol(pd.concat([read_table(path) for path in metrics]), protocol, otherwise)
    table, theirs = as_printed(table, measured_as), pd.read_csv(reported)
    every = sorted({value for values in h.values() for value in values})
    looks = _looks(every)
    with style():
        size = (0.53 * COLUMN * len(h) + 1.6, 0.45 * COLUMN * len(ROWS) + 0.4)
        figure, axes = plt.subplots(len(ROWS), len(h), figsize=size, squeeze=False, sharex=True)
        for line, metric in zip(axes, ROWS, strict=True):
            methods, of_atoms = in_panel(metric), metric in OF_ATOMS
            for axis, (dataset, bandwidths) in zip(line, h.items(), strict=True):
                where = {"protocol": protocol, "metric": metric, "dataset": dataset, "tuned": False}
                for curve in _curves(methods, models, None if of_atoms else bandwidths):
                    rows = _pick(table, where | curve._asdict())
                    _draw(axis, _by_seed(rows, K), looks[curve], band)
                    draw_printed(
                        axis, _reported(theirs, metric, dataset, curve, K), "K", looks[curve]
                    )
                if metric in LOGARITHMIC:
                    _logarithmic(axis)
            line[0].set_ylabel(LABELS[metric])
            entries = _entries(looks, _curves(methods, models, None if of_atoms else every))
            if theirs["dataset"].isin(h).any():
                entries.append(entry())
            legend = line[-1].legend(handles=entries, loc="center left", bbox_to_anchor=(1.02, 0.5))
            if metric == ROWS[0]:
                legend.set_title(f"protocol {protocol}")
        _frame(axes, list(h), K)
        save(figure, paths)


def tuned(
    metrics: Path,
    paths: Sequence[Path],
    protocol: str,
    otherwise: str,
    models: Sequence[str],
    methods: Sequence[str],
    datasets: Sequence[str],
    K: Sequence[int],
) -> None:
    """Draws the NLL at tuned bandwidths, and below it these bandwidths, against K.

    Beside them stand MDN and V-WTA at the given bandwidth that is best on the test points. Curves
    are means over the seeds, bands reach from the lowest seed to the highest.

    Arguments:
        metrics: table of metrics.
        paths: files to write, in the format of their suffix.
        protocol: which protocol's rows to draw.
        otherwise: the protocol for methods without rows, see
            :func:`vwta.paper.metrics.of_protocol`.
        models: networks of the study; what follows from others is left out.
        methods: methods whose bandwidth was tuned.
        datasets: problems, from left to right.
        K: numbers of hypotheses.
    """
    table = of_protocol(read_table(metrics), protocol, otherwise)
    best = [BEST] if network_of(PROPOSED) in models else []
    curves = [*_curves(methods, models), *best, *_curves(in_panel("tuned"), models)]
    looks = _looks([])
    with style():
        size = (max(1.4 * COLUMN, 0.52 * COLUMN * len(datasets)), 0.9 * COLUMN + 0.4)
        figure, axes = plt.subplots(2, len(datasets), figsize=size, squeeze=False, sharex=True)
        for (above, below), dataset in zip(axes.T, datasets, strict=True):
            where = {"protocol": protocol, "metric": "nll", "dataset": dataset}
            for curve in curves:
                rows = _rows(table, where, curve, curve.method in methods)
                _draw(above, _by_seed(rows, K), looks[curve], "range")
                if rows["h"].notna().all():
                    _draw(below, _by_seed(rows, K, "h"), looks[curve], "range")
            _logarithmic(below)
        for axis, label in zip(axes[:, 0], (LABELS["nll"], "bandwidth $h$"), strict=True):
            axis.set_ylabel(label)
        _frame(axes, datasets, K)
        entries = _entries(looks, curves)
        columns, name = int(size[0] / 1.1), f"protocol {protocol}"
        figure.legend(handles=entries, loc="outside lower center", ncols=columns, title=name)
        save(figure, paths)


def _curves(
    methods: Sequence[str], models: Sequence[str], bandwidths: Sequence[float] | None = None
) -> list[Curve]:
    """Curves of methods that need no other networks, at each of the bandwidths if there are any."""
    curves, swept = [], swept_in("synthetic")
    for method in methods:
        if network_of(method) not in (None, *models):
            continue
        at = bandwidths if method in swept and bandwidths is not None else [None]
        curves += [Curve(method, h) for h in at]
    return curves


def _pick(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Rows whose columns have the given values (None: no value); an error if there are none."""
    passed: dict[str, Any] = {}
    for column, value in where.items():
        cells = table[column]
        found = table[cells.isna() if value is None else cells == value]
        if found.empty:
            there = sorted(cells.dropna().unique().tolist())
            raise ValueError(f"{_name(passed)}: no row with {column} = {value}, there are {there}")
        table = found
        passed[column] = value
    return table


def _reported(
    theirs: pd.DataFrame, metric: str, dataset: str, curve: Curve, K: Sequence[int]
) -> pd.DataFrame:
    """The paper's numbers of a curve, at the K that are drawn."""
    at = theirs["h"].isna() if curve.h is None else theirs["h"] == curve.h
    where = {"metric": metric, "dataset": dataset, "method": curve.method}
    for column, value in where.items():
        at &= theirs[column] == value
    return theirs[at & theirs["K"].isin(K)]


def _rows(
    table: pd.DataFrame, where: Mapping[str, Any], curve: Curve, was_tuned: bool
) -> pd.DataFrame:
    """Rows of a curve: at tuned bandwidths, at the best given ones, or of what has none."""
    if was_tuned:
        return _pick(table, {**where, "method": curve.method, "tuned": True})
    if curve != BEST:
        return _pick(table, {**where, **curve._asdict(), "tuned": False})
    rows = _pick(table, {**where, "method": PROPOSED, "tuned": False})
    best = rows.groupby(["K", "h"])["value"].mean().unstack("h").idxmin(axis=1)
    return rows[rows["h"] == rows["K"].map(best)]


def _by_seed(rows: pd.DataFrame, K: Sequence[int], column: str = "value") -> pd.DataFrame:
    """Numbers `(K, S)` for each K and seed, or `(1, 1)` if they have no K.

    Arguments:
        rows: one for each K and seed.
        K: numbers of hypotheses, each of which must be there with every seed.
        column: where the numbers stand.
    """
    if rows["K"].isna().all():
        return rows[[column]]
    rows = rows.assign(seed=rows["seed"].fillna(-1))  # theory has none
    values = rows.pivot(index="K", columns="seed", values=column).reindex(sorted(K))
    gaps = [(count, seed) for count, row in values.iterrows() for seed in row.index[row.isna()]]
    if gaps:
        names = ("protocol", "metric", "dataset", "method", "tuned", "h")
        common = {name: rows[name].iloc[0] for name in names if rows[name].nunique() == 1}
        missing = ", ".join(
            f"K = {count}" if seed == -1 else f"K = {count} and seed = {seed}"
            for count, seed in gaps
        )
        raise ValueError(f"{_name(common)}: no row with {missing}")
    return values


def _name(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{column} = {value}" for column, value in where.items()) or "metrics"


def _looks(bandwidths: Sequence[float]) -> dict[Curve, dict[str, Any]]:
    """How each curve is drawn; it gets lighter from one bandwidth to the next."""
    looks: dict[Curve, dict[str, Any]] = {}
    for method, (index, h) in product(swept_in("synthetic"), enumerate(bandwidths)):
        look = _line(METHODS[method])
        look["label"] += f", $h = {h:g}$"
        look["color"] = shade(look["color"], 1 - 0.6 * (1 - (index + 1) / len(bandwidths)))
        look["marker"] = MARKERS[index % len(MARKERS)]
        looks[Curve(method, h)] = look
    looks |= {Curve(method): _line(look) for method, look in METHODS.items()}
    best = {"label": f"{METHODS[PROPOSED].label}, best fixed $h$", "ls": "--", "fillstyle": "none"}
    return looks | {BEST: looks[Curve(PROPOSED)] | best}


def _line(look: Method) -> dict[str, Any]:
    line = {"label": look.label, "color": look.color, "marker": look.marker, "ls": look.line}
    return line if look.marker else {**line, "lw": THIN}


def _draw(axis: Axes, values: pd.DataFrame, look: Mapping[str, Any], band: str) -> None:
    """Draws the mean over the seeds, and a band if there are several.

    Arguments:
        axis: where to draw.
        values: numbers `(K, S)` for each K and seed, or `(1, 1)` for a horizontal line.
        look: properties of the line.
        band: a key of :data:`BANDS`; deviations are drawn as bars, ranges as bands.
    """
    order = 3 - 0.01 * len(axis.lines)  # the first is on top
    if values.index.name != "K":
        axis.axhline(values.to_numpy().item(), zorder=order, **look)
        return
    K, mean = values.index.to_numpy(float), values.mean(axis=1).to_numpy(float)
    low, high = (bound.to_numpy(float) for bound in BANDS[band](values))
    if band == "deviation" and values.shape[1] > 1:
        axis.errorbar(K, mean, [mean - low, high - mean], zorder=order, capsize=1.5, **look)
        return
    axis.plot(K, mean, zorder=order, **look)
    axis.fill_between(K, low, high, color=look["color"], alpha=0.2, lw=0, zorder=order - 1)


def _entries(looks: Mapping[Curve, Mapping[str, Any]], curves: Sequence[Curve]) -> list[Line2D]:
    """Entries of a legend for some curves."""
    return [Line2D([], [], **looks[curve]) for curve in curves]


def _logarithmic(axis: Axes) -> None:
    """A logarithmic scale with plain numbers at three ticks or more, for what is drawn."""
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    for digits in DIGITS:
        ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        if sum(low <= tick <= high for tick in ticks) >= 3:
            break
    else:  # so narrow that it is nearly linear
        ticks = list(MaxNLocator(4).tick_values(low, high))
    ticks = [tick for tick in ticks if low <= tick <= high]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.yaxis.set_minor_formatter(NullFormatter())


def _frame(axes: Any, datasets: Sequence[str], K: Sequence[int]) -> None:
    """Titles of the columns, and the axis of K that all panels share.

    Arguments:
        axes: panels, with shape `(rows, columns)`.
        datasets: problem of each column.
        K: numbers of hypotheses.
    """
    for axis, dataset in zip(axes[0], datasets, strict=True):
        axis.set_title(title(dataset))
    for axis in axes[-1]:
        log_ticks(axis, sorted(K), 1.5)
        axis.set_xlabel("hypotheses $K$")
    axes[0, 0].figure.align_ylabels(axes[:, 0])
