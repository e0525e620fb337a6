"""Tables of all methods on the same splits: who wins, by how much, and at which cost."""

from __future__ import annotations

__all__ = ["COLUMNS", "costs_of", "write_costs", "write_rivals"]

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from vwta.paper.collection import read_parts
from vwta.paper.methods import METHODS
from vwta.paper.problems import title
from vwta.paper.tables import Sheet, signed, write_sheet
from vwta.paper.uci.paired import difference
from vwta.paper.uci.tables import DECIMALS, DISCRETE, EARLIER, LABELS, earlier_recipe

PROTOCOL = "ours"  # in which all methods have the same recipe
COLUMNS = ("gaussian", "mdn", "tk_hist", "k_wta", "v_wta", "local_v_wta", "flow", "ngboost")


class _Group(NamedTuple):
    """What is compared with each other: metrics, and the method of each column that has one."""

    name: str
    metrics: tuple[str, ...]
    methods: Mapping[str, str]


SCORES = ("nll", "nll_dequantised", "crps", "rmse", "coverage90", "pit")
ODDS = ("mdn", "tk_hist", "k_wta", "v_wta", "local_v_wta")  # methods with atoms
FIRST = "uci_rivals"
TABLES = {
    FIRST: ("nll", "nll_dequantised", "crps", "risk"),
    "uci_rivals_more": ("rmse", "coverage90", "pit", "odds"),
}
WITHOUT_ENSEMBLE = ("tk_hist", "ngboost")
ENSEMBLES = {name: f"{name}_ensemble" for name in COLUMNS if name not in WITHOUT_ENSEMBLE}
ATOMS = {"mdn": "mdn", "tk_hist": "hist", "v_wta": "wta", "local_v_wta": "local"}
GROUPS = (
    _Group("single", SCORES, {name: name for name in COLUMNS}),
    _Group("single", ("odds",), {name: name for name in ODDS}),
    _Group("ensembles", SCORES, ENSEMBLES),
    _Group("atoms", ("risk",), ATOMS),
)
SCORED = ("coverage90", "pit", "odds")  # of which the lowest does not win
KEYS = ["dataset", "networks", "metric"]
NUMBERS = ["method", "splits", "mean", "difference", "low", "high", "wins"]
NOTES = (
    "Means over the splits that all methods of a line have; those of single networks over the five "
    "of a split too. Bold: the lowest mean, and means whose 95 % interval of the paired difference "
    "to it (Student's t, split by split) reaches 0. In brackets: this interval, of the others.",
    "All have the same rows, splits and standardisation; what is chosen is chosen on the same "
    "validation rows: the best of the settings that a run tries (weights of the scores for V-WTA "
    "and K-WTA, learning rates for NGBoost, weight decays for all others), h of V-WTA, K-WTA and "
    "the histogram, the factor on all widths of local kernels, the number of NGBoost's trees, and "
    "the epoch of MDN, Gaussian, local kernels and flow. Methods have equally many settings, "
    "except where § is.",
)
COST = (
    "CPU seconds of training on a split, with all that is tried and trained again, and of 1,000 "
    "log-densities. Networks of all splits are trained as one stack."
)


def write_rivals(
    metrics: pd.DataFrame, sizes: pd.DataFrame, folder: Path, datasets: Sequence[str]
) -> None:
    """Writes all methods of the UCI study on the splits that they have in common.

    The tables are `uci_rivals`, and `uci_rivals_more` with other metrics.

    Arguments:
        metrics: tidy table, of all protocols.
        sizes: `dataset` and `discrete` of the data sets.
        folder: where to write.
        datasets: data sets, from top to bottom.
    """
    ours = metrics[(metrics["protocol"] == PROTOCOL) & metrics["dataset"].isin(datasets)]
    there = set(ours["method"])
    columns = [name for name in COLUMNS if any(g.methods.get(name) in there for g in GROUPS)]
    marked = set(sizes.loc[sizes["discrete"].astype(bool), "dataset"])
    heads = ["Dataset", "Metric", "splits", *(METHODS[name].label for name in columns)]
    notes = [*NOTES, *([DISCRETE] if marked & set(datasets) else [])]
    early = earlier_recipe(ours)
    notes += [EARLIER] if early else []
    for name, shown in TABLES.items():
        lines, numbers = [], []
        for dataset in datasets:
            head = title(dataset) + "†" * (dataset in marked) + "§" * (dataset in early)
            for place, (group, metric) in enumerate(_lines_of(shown)):
                rows = ours[(ours["dataset"] == dataset) & (ours["metric"] == metric)]
                found = _compared(rows, group, metric)
                numbers += [[dataset, group.name, metric, *row] for row in found.values()]
                if found:
                    texts = [_cell(found.get(column), metric) for column in columns]
                    label = f"{LABELS.get(metric, metric)}, {group.name}"
                    splits = str(next(iter(found.values()))[1])
                    lines.append([head if place == 0 else "", label, splits, *texts])
        table = pd.DataFrame(numbers, columns=[*KEYS, *NUMBERS])
        caption = f"UCI: all methods on common splits, {'other metrics, ' * (name != FIRST)}"
        caption += f"protocol {PROTOCOL}"
        label = f"tab:{name.replace('_', '-')}"
        cells = pd.DataFrame(lines, columns=heads)
        write_sheet(Sheet(cells, caption, label, notes, words=2), table, folder / name)


def _lines_of(shown: Sequence[str]) -> list[tuple[_Group, str]]:
    """Groups and metrics of a data set's lines, a metric after the other."""
    return [(group, metric) for metric in shown for group in GROUPS if metric in group.metrics]


def costs_of(metrics: Path) -> pd.DataFrame:
    """Costs that the parts of a table of UCI metrics tell of.

    Arguments:
        metrics: the table, as :func:`vwta.paper.collection.collect` writes it.

    Returns:
        A table with `dataset`, `method`, and CPU seconds of `training` and of `prediction`.
    """
    found: dict[tuple[str, str], Mapping[str, float]] = {}
    for _, facts in read_parts(metrics).values():
        if facts.get("protocol") == PROTOCOL:
            for method, seconds in facts.get("costs", {}).items():
                found[facts["dataset"], method] = seconds
    rows = [[*key, seconds["training"], seconds["prediction"]] for key, seconds in found.items()]
    return pd.DataFrame(rows, columns=["dataset", "method", "training", "prediction"])


def write_costs(costs: pd.DataFrame, folder: Path, datasets: Sequence[str]) -> None:
    """Writes `uci_costs`: CPU seconds of the methods of the UCI study.

    Arguments:
        costs: what :func:`costs_of` gives.
        folder: where to write.
        datasets: data sets, from left to right.
    """
    listed = [method for name in COLUMNS for method in (name, ENSEMBLES.get(name, name))]
    methods = [name for name in dict.fromkeys(listed) if name in set(costs["method"])]
    seconds = {(row.dataset, row.method): row for row in costs.itertuples()}
    lines = []
    for kind, digits in (("training", 1), ("prediction", 4)):
        for place, method in enumerate(methods):
            values = [getattr(seconds.get((name, method)), kind, None) for name in datasets]
            texts = ["" if value is None else f"{value:.{digits}f}" for value in values]
            lines.append([kind if place == 0 else "", METHODS[method].label, *texts])
    cells = pd.DataFrame(lines, columns=["CPU seconds", "Method", *map(title, datasets)])
    caption = f"UCI: cost of training and of prediction, protocol {PROTOCOL}"
    sheet = Sheet(cells, caption, "tab:uci-costs", [COST], words=2)
    write_sheet(sheet, costs, folder / "uci_costs")


def _compared(rows: pd.DataFrame, group: _Group, metric: str) -> dict[str, list[Any]]:
    """By column: method, splits, mean, difference to the lowest with its interval, who wins."""
    values = {}
    for column, method in group.methods.items():
        own = rows[rows["method"] == method].groupby("split")["value"]
        if len(own):
            values[column] = own.mean().mask(own.count() < own.size())  # lost if one network is
    if not values:
        return {}
    together = pd.concat(values, axis=1, join="inner")
    means = together.mean(skipna=False)
    finite = means[means.map(math.isfinite)]
    alone = metric in SCORED or len(values) < 2 or finite.empty
    lowest = "" if alone else str(finite.idxmin())
    found = {}
    for column, mean in zip(values, means, strict=True):
        row: list[Any] = [group.methods[column], len(together), mean, *[math.nan] * 3, False]
        part = difference(together[column], together[lowest]) if lowest else None
        if part is not None:
            row[3:] = [part.mean, part.low, part.high, column == lowest or part.low <= 0]
        found[column] = row
    return found


def _cell(row: Sequence[Any] | None, metric: str) -> str:
    """A mean, bold if it wins; else with the interval of its difference to the lowest."""
    if row is None:
        return ""
    _, _, mean, _, low, high, wins = row
    if not math.isfinite(mean):
        return "--"
    digits = DECIMALS.get(metric, max(0, 2 - math.floor(math.log10(abs(mean) or 1.0))))
    text = f"{round(mean, digits) + 0.0:.{digits}f}"
    if wins:
        return f"**{text}**"
    if math.isnan(low):
        return text
    return f"{text} [{signed(low, digits)}, {signed(high, digits)}]"
