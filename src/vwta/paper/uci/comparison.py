"""Means over splits beside the printed numbers, for tables and figures."""

from __future__ import annotations

__all__ = ["best", "compare", "over_splits", "shown"]

import math
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from vwta.paper.methods import METHODS, in_panel

LOWEST_IS_BEST = ("nll", "rmse", "crps", "nll_dequantised")  # of others none is marked as best
KEYS = ["protocol", "dataset", "metric", "method"]
NUMBERS = {
    "K": "Int64",
    "splits": "int64",
    "not_finite": "int64",
    "mean": "float64",
    "std": "float64",
    "standard_error": "float64",
}
TOLERANCE = 1e-9  # decimal numbers that are equal in print are equal


def over_splits(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over a UCI data set's splits of a tidy table's rows.

    Where there are rows at tuned bandwidths, the others are left out. Seeds of the same split are
    averaged first.

    Arguments:
        metrics: tidy table.

    Returns:
        One row for each `protocol`, `dataset`, `metric` and `method`, with `K`, the number of
        `splits`, how many of them are `not_finite`, `mean`, `std` (of a sample) and
        `standard_error`. One split that is not finite makes the mean infinite or missing, as
        leaving it out would flatter the method; one split alone has no deviation.
    """
    keys = [metrics[key] for key in KEYS]
    tuned = metrics["tuned"]
    rows = metrics[tuned | ~tuned.groupby(keys, dropna=False).transform("any")]
    clash = rows[rows.duplicated([*KEYS, "seed", "split"])]
    if not clash.empty:
        where = ", ".join(f"{key} = {clash.iloc[0][key]}" for key in [*KEYS, "seed", "split"])
        raise ValueError(f"two rows for {where}: keep those of one K and one bandwidth")
    every = [_summary(key, mine) for key, mine in rows.groupby(KEYS, sort=False)]
    return pd.DataFrame(every, columns=[*KEYS, *NUMBERS]).astype(NUMBERS)


def compare(
    metrics: pd.DataFrame,
    reported: pd.DataFrame,
    protocol: str,
    metric: str,
    methods: Sequence[str],
    datasets: Sequence[str],
) -> pd.DataFrame:
    """Ours beside the printed numbers of the UCI study, one row for each data set and method.

    There is a row whether the method was run or not.

    Arguments:
        metrics: tidy table, of all protocols and data sets.
        reported: printed numbers, with columns `dataset`, `metric`, `method`, `mean`, `std`.
        protocol: the protocol.
        metric: the metric.
        methods: methods, in this order; the best ones are found among them.
        datasets: data sets, in this order.

    Returns:
        What :func:`over_splits` has, then `printed` (whether the paper has a cell for it, be it
        without a number), `printed_mean`, `printed_std`, `difference` (ours minus printed), `best`
        and `printed_best` (see :func:`best`), and `missing`: `no data` for those without any row,
        `not run` for those without one of this protocol, empty otherwise.
    """
    cells = pd.MultiIndex.from_product([datasets, methods], names=["dataset", "method"])
    mine = metrics[(metrics["protocol"] == protocol) & (metrics["metric"] == metric)]
    ours = over_splits(mine).set_index(cells.names).reindex(cells)
    theirs = reported[reported["metric"] == metric].set_index(cells.names)
    theirs = theirs[["mean", "std"]].astype("float64")
    table = ours.join(theirs.assign(printed=True).rename(columns=lambda name: _PRINTED[name]))
    table["printed"] = table["printed"].eq(True)
    table = table.fillna({"splits": 0, "not_finite": 0}).astype(NUMBERS)
    table["difference"] = table["mean"] - table["printed_mean"]
    for prefix in ("", "printed_"):
        numbers = table[[f"{prefix}mean", f"{prefix}std"]].groupby("dataset", sort=False)
        found = [best(*(part[column] for column in part)) for _, part in numbers]
        table[f"{prefix}best"] = pd.concat(found) & (metric in LOWEST_IS_BEST)
    states = {name: _missing(metrics, name, protocol) for name in datasets}
    table = table.assign(protocol=protocol, metric=metric).reset_index()
    table["missing"] = table["dataset"].map(states)
    return table[_COLUMNS]


def best(mean: pd.Series, std: pd.Series) -> pd.Series:
    """The paper's rule for bold numbers of UCI: the lowest mean, and whose interval reaches it.

    Arguments:
        mean: means on one data set, by method; missing ones are never best.
        std: standard deviations; the interval is one to each side, or nothing if it is missing.
    """
    finite = mean[np.isfinite(mean)]
    reached: pd.Series = mean - std.fillna(0) <= finite.min() + TOLERANCE
    return reached & mean.index.isin(finite.index)


def shown(panel: str, metrics: pd.DataFrame) -> list[str]:
    """Methods of a UCI panel; those that the paper does not have only if a table has them."""
    there = set(metrics["method"])
    return [name for name in in_panel(panel) if name in there or not METHODS[name].extra]


_PRINTED = {"mean": "printed_mean", "std": "printed_std", "printed": "printed"}
_COLUMNS = [
    *KEYS,
    *NUMBERS,
    *("printed", "printed_mean", "printed_std", "difference", "best", "printed_best", "missing"),
]


def _summary(key: tuple[Hashable, ...], rows: pd.DataFrame) -> tuple[object, ...]:
    """A row of :func:`over_splits` from the rows of one method on one data set."""
    by_split = rows.groupby("split", dropna=False)["value"]
    values = np.array([seeds.to_numpy().mean() for _, seeds in by_split])
    count = len(values)
    broken = int((~np.isfinite(values)).sum())
    std = values.std(ddof=1) if count > 1 and not broken else math.nan
    return (*key, rows["K"].iloc[0], count, broken, values.mean(), std, std / math.sqrt(count))


def _missing(metrics: pd.DataFrame, dataset: str, protocol: str) -> str:
    mine = metrics[metrics["dataset"] == dataset]
    if mine.empty:
        return "no data"
    return "" if (mine["protocol"] == protocol).any() else "not run"
