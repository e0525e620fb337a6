"""The headline table of the UCI study: all methods side by side, as networks and as ensembles."""

from __future__ import annotations

__all__ = ["GROUPS", "write_headline"]

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from vwta.paper.methods import METHODS
from vwta.paper.problems import title
from vwta.paper.tables import Sheet, write_sheet
from vwta.paper.uci.comparison import over_splits
from vwta.paper.uci.tables import DISCRETE, EARLIER, at_ends, earlier_recipe

PRINTED = "printed"
# Networks of `ours`: all splits of a data set are run with each of them.
RECIPES = ("gaussian", "mdn", "k_wta", "v_wta", "local_v_wta")
# What is compared with each other: protocol, networks alone or averaged, methods.
GROUPS = (
    (PRINTED, "single networks", ("mdn", "k_wta", "v_wta")),
    (PRINTED, "ensembles", ("deep_ensembles",)),
    ("paper", "single networks", ("mdn", "k_wta", "v_wta")),
    ("ours", "single networks", RECIPES),
    ("ours", "ensembles", tuple(f"{name}_ensemble" for name in RECIPES)),
)
DIGITS = 2
NOTES = (
    "Bold: the lowest mean of its group, by the digits shown, where all methods of the group have "
    "run. Empty: not run. --: not finite in some split. Means over the splits, and over the "
    "networks of a split where each is measured alone; every group has the same rows, and within "
    "`ours` all methods choose the best of three settings on validation rows, except where § is; "
    "K-WTA and V-WTA also choose h there, and local kernels a factor on all widths.",
    "An MDN has as many components as a WTA network has hypotheses; a Gaussian has one, and its "
    "ensemble is that of Deep Ensembles. Ensembles of `ours` average equally many networks. `ours` "
    "is a recipe of this project, and no reproduction.",
)
BOUND = "‡ Most searches for h ended at an end of their interval."


def write_headline(
    metrics: pd.DataFrame,
    searches: pd.DataFrame,
    sizes: pd.DataFrame,
    reported: pd.DataFrame,
    folder: Path,
    datasets: Sequence[str],
) -> None:
    """Writes `uci_headline`: the NLL of all methods of the UCI study on all data sets.

    Arguments:
        metrics: tidy table, of all protocols.
        searches: searches for h, of all protocols, with `chosen` and `border`.
        sizes: `dataset` and `discrete` of the data sets.
        reported: printed numbers, with columns `dataset`, `metric`, `method`, `mean`.
        folder: where to write.
        datasets: data sets, from left to right.
    """
    ours = over_splits(metrics[metrics["metric"] == "nll"])
    theirs = reported[reported["metric"] == "nll"].assign(protocol=PRINTED)
    keys = ["protocol", "dataset", "method"]
    means = pd.concat([table.set_index(keys)["mean"] for table in (ours, theirs)])
    marked = set(sizes.loc[sizes["discrete"].astype(bool), "dataset"])
    early, ends = earlier_recipe(metrics), at_ends(searches)
    heads = [title(name) + "†" * (name in marked) + "§" * (name in early) for name in datasets]
    lines, numbers = [], []
    for protocol, networks, methods in GROUPS:
        rows = {method: _row(means, protocol, method, datasets) for method in methods}
        rows = {method: row for method, row in rows.items() if row}
        for place, (method, row) in enumerate(rows.items()):
            first = f"{protocol}, {networks}" if place == 0 else ""
            bound = {name for name in datasets if (protocol, name, method) in ends}
            texts = [_text(name, method, rows) + "‡" * (name in bound) for name in datasets]
            lines.append([first, METHODS[method].label, *texts])
            numbers += [[protocol, networks, method, *one] for one in row.items()]
    notes = [*NOTES, *([DISCRETE] if marked & set(datasets) else [])]
    notes += [EARLIER] if set(early) & set(datasets) else []
    notes += [BOUND] if any("‡" in text for line in lines for text in line) else []
    caption = "UCI: NLL (↓) of networks and of ensembles"
    cells = pd.DataFrame(lines, columns=["", "Method", *heads])
    sheet = Sheet(cells, caption, "tab:uci-headline", notes, words=2)
    table = pd.DataFrame(numbers, columns=["protocol", "networks", "method", "dataset", "nll"])
    write_sheet(sheet, table, folder / "uci_headline")


def _row(means: pd.Series, protocol: str, method: str, datasets: Sequence[str]) -> dict[str, float]:
    """Means of a method by data set, of those that it was run on."""
    keys = {name: (protocol, name, method) for name in datasets}
    return {name: float(means[key]) for name, key in keys.items() if key in means.index}


def _text(dataset: str, method: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """A number as it is shown; bold if all others of its group have run, and none is lower."""
    value = rows[method].get(dataset)
    if value is None:
        return ""
    if not math.isfinite(value):
        return "--"
    text = f"{round(value, DIGITS) + 0.0:.{DIGITS}f}"
    if len(rows) < 2 or not all(dataset in row for row in rows.values()):
        return text
    lowest = min(row[dataset] for row in rows.values() if math.isfinite(row[dataset]))
    return f"**{text}**" if round(value, DIGITS) == round(lowest, DIGITS) else text
