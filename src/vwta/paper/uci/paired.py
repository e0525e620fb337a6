"""Paired differences of the UCI study: methods and protocols compared split by split."""

from __future__ import annotations

__all__ = ["COLUMNS", "difference", "write_ablations", "write_paired"]

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from vwta.paper.methods import METHODS
from vwta.paper.problems import title
from vwta.paper.tables import Sheet, signed, write_sheet
from vwta.paper.uci.comparison import over_splits
from vwta.paper.uci.tables import EARLIER, OURS, earlier_recipe

LEVEL = 0.95  # of intervals
SIGNIFICANT = 0.01  # p-value from which on a difference is bold
DIGITS = 2
# Methods that are compared, with the same number of networks each: the first minus the second.
PAIRS = (
    ("v_wta", "k_wta"),
    ("v_wta", "mdn"),
    ("k_wta", "mdn"),
    ("v_wta_ensemble", "k_wta_ensemble"),
    ("v_wta_ensemble", "mdn_ensemble"),
    ("k_wta_ensemble", "mdn_ensemble"),
    ("v_wta_ensemble", "gaussian_ensemble"),
    ("local_v_wta", "v_wta"),
    ("local_v_wta", "mdn"),
    ("local_v_wta_ensemble", "v_wta_ensemble"),
    ("local_v_wta_ensemble", "mdn_ensemble"),
    ("local_v_wta_ensemble", "gaussian_ensemble"),
)
# One switch from `paper` to `released`, each a protocol.
SWITCHES = {
    "test_rows": "validation rows = test rows",
    "literal": "epoch by the loss",
    "mean_scores": "mean over scores",
    "published_loss": "loss of the MDN",
    "published_search": "interval of h",
    "published_domain": "domain",
}
ABLATED = ("v_wta", "k_wta", "tk_hist", "mdn")
COLUMNS = ["dataset", "protocol", "method", "other_protocol", "other_method"]
NUMBERS = ["splits", "mean", "low", "high", "p", "seeds"]

INTERVAL = (
    "Differences of NLL are paired: split by split, after the mean over networks of equal seeds. "
    "In brackets: the 95 % interval of their mean by Student's t over splits. Splits share rows, "
    "so it is narrower than one over new data."
)
TEST = (
    "Bold: p < .01 in Wilcoxon's signed-rank test, not corrected for the number of tests; five "
    "splits, as of Protein, cannot reach this, and are judged by their intervals."
)


class Difference(NamedTuple):
    """A paired difference over splits, with its interval and the p-value of Wilcoxon's test.

    `seeds` tells how many networks of a split are averaged, if any.
    """

    splits: int
    mean: float
    low: float
    high: float
    p: float
    seeds: int = 1


def difference(a: pd.Series, b: pd.Series) -> Difference | None:
    r"""Paired difference :math:`\bar d`, d = a - b, of a UCI metric over the splits of both.

    The interval is :math:`\bar d \pm t_{n-1} s_d / \sqrt n` at level .95; p is that of Wilcoxon's
    signed-rank test, two-sided. One split has neither.

    Arguments:
        a: values by split.
        b: values by split.

    Returns:
        None if they have no split in common, or a value is not finite.

    Example:
        >>> difference(pd.Series([1.0, 2.0, 3.0]), pd.Series([0.0, 1.0, 2.0])).mean
        1.0
    """
    d = (a - b).dropna().to_numpy(float) if a.notna().all() and b.notna().all() else np.array([])
    if not len(d) or not np.isfinite(d).all():
        return None
    n, mean = len(d), float(d.mean())
    if n == 1:
        return Difference(1, mean, math.nan, math.nan, math.nan)
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * d.std(ddof=1) / math.sqrt(n))
    p = float(stats.wilcoxon(d).pvalue) if d.any() else 1.0
    return Difference(n, mean, mean - half, mean + half, p)


def write_paired(
    metrics: pd.DataFrame, folder: Path, protocols: Sequence[str], datasets: Sequence[str]
) -> None:
    """Writes `uci_paired`: differences of NLL between methods of the UCI study, by protocol.

    Arguments:
        metrics: tidy table, of all protocols.
        folder: where to write.
        protocols: protocols, from top to bottom.
        datasets: data sets, from left to right.
    """
    values = _values(metrics)
    found, lines = [], []
    for protocol in protocols:
        for one, other in PAIRS:
            sides = (protocol, one), (protocol, other)
            row = {name: _compared(values, name, *sides) for name in datasets}
            if any(part is not None for part in row.values()):
                found += [_record(name, *sides, part) for name, part in row.items() if part]
                lines.append([protocol, _minus(one, other), *map(_cell, row.values())])
    early = earlier_recipe(metrics) if OURS in protocols else []
    heads = [title(name) + "§" * (name in early) for name in datasets]
    cells = pd.DataFrame(lines, columns=["Protocol", "Difference", *heads])
    caption = "UCI: paired differences of NLL between methods (negative: the first is better)"
    notes = [INTERVAL, TEST, *([EARLIER] if set(early) & set(datasets) else [])]
    sheet = Sheet(cells, caption, "tab:uci-paired", notes, words=2)
    numbers = pd.DataFrame(found, columns=[*COLUMNS, *NUMBERS])
    write_sheet(sheet, numbers, folder / "uci_paired")


def write_ablations(
    metrics: pd.DataFrame, reported: pd.DataFrame, folder: Path, datasets: Sequence[str]
) -> None:
    """Writes `uci_ablations`: what each switch between text and published code does to the NLL.

    Arguments:
        metrics: tidy table, of all protocols.
        reported: printed numbers, with columns `dataset`, `metric`, `method`, `mean`.
        folder: where to write.
        datasets: data sets, from top to bottom.
    """
    values = _values(metrics)
    means = _means(over_splits(metrics), "protocol", "dataset", "method")
    printed = _means(reported, "dataset", "method")
    found, lines = [], []
    for name in datasets:
        shown = [method for method in ABLATED if ("paper", name, method) in means]
        for method in shown:
            base = ("paper", method)
            keys = [(protocol, name, method) for protocol in ("paper", *SWITCHES)]
            networks = [values[key] for key in keys if key in values]
            shared = pd.concat(networks, axis=1, join="inner", keys=range(len(networks)))
            row = {key: _compared(values, name, (key, method), base) for key in SWITCHES}
            found += [_record(name, (key, method), base, part) for key, part in row.items() if part]
            lines.append(
                [
                    title(name) if method == shown[0] else "",
                    METHODS[method].label,
                    _plain(means["paper", name, method]),
                    _plain(float(_by_split(shared[0]).mean(skipna=False))),
                    *map(_cell, row.values()),
                    _plain(means.get(("released", name, method), math.nan)),
                    _plain(printed.get((name, method), math.nan)),
                ]
            )
    ends = "`released`", "printed"
    heads = ["Dataset", "Method", "`paper`", "`paper`, shared", *SWITCHES.values(), *ends]
    sheet = Sheet(
        cells=pd.DataFrame(lines, columns=heads),
        caption="UCI: NLL under `paper`, and what one switch towards `released` changes",
        label="tab:uci-ablations",
        notes=[
            INTERVAL,
            TEST,
            "A difference is over the networks (seeds) that both protocols have. `paper` is the "
            "mean over all of its networks, and `paper`, shared, over those with seeds that all "
            "switches of a line have: start from there for switches with fewer networks. The csv "
            "has the number of `seeds` of each difference. Switches do not add up. With the test "
            "rows as validation rows, networks are also trained on a quarter more rows.",
        ],
        spans=[("changed by", 4, 3 + len(SWITCHES))],
        words=2,
    )
    numbers = pd.DataFrame(found, columns=[*COLUMNS, *NUMBERS])
    write_sheet(sheet, numbers, folder / "uci_ablations")


def _means(table: pd.DataFrame, *keys: str) -> dict[tuple[str, ...], float]:
    """Mean NLL by some columns."""
    rows = table[table["metric"] == "nll"]
    names = rows[list(keys)].itertuples(index=False, name=None)
    return dict(zip(names, rows["mean"], strict=True))


def _values(metrics: pd.DataFrame) -> dict[tuple[str, str, str], pd.Series]:
    """NLL by split and seed, of each protocol, data set and method."""
    rows = metrics[metrics["metric"] == "nll"]
    groups = rows.groupby(["protocol", "dataset", "method"])
    found = {}
    for key, part in groups:
        protocol, dataset, method = map(str, key)
        found[protocol, dataset, method] = part.set_index(["split", "seed"])["value"]
    return found


def _compared(
    values: Mapping[tuple[str, str, str], pd.Series],
    dataset: str,
    one: tuple[str, str],
    other: tuple[str, str],
) -> Difference | None:
    """The first minus the second, each a protocol and a method, on a data set.

    Networks of a split are averaged first, those with seeds that both have.
    """
    keys = [(protocol, dataset, method) for protocol, method in (one, other)]
    if any(key not in values for key in keys):
        return None
    both = pd.concat([values[key] for key in keys], axis=1, join="inner", keys=["a", "b"])
    found = difference(_by_split(both["a"]), _by_split(both["b"]))
    return found and found._replace(seeds=int(both.groupby("split").size().max()))


def _by_split(values: pd.Series) -> pd.Series:
    """Means over the networks of each split; one that is not finite makes them so."""
    by_split = values.groupby("split")
    means: pd.Series = by_split.mean().mask(by_split.count() < by_split.size())
    return means


def _record(
    dataset: str, one: tuple[str, str], other: tuple[str, str], part: Difference
) -> list[Any]:
    return [dataset, *one, *other, *part]


def _minus(one: str, other: str) -> str:
    return f"{METHODS[one].label} − {METHODS[other].label}"


def _cell(part: Difference | None) -> str:
    """A difference with its interval; bold if it is significant, and not 0 by its digits."""
    if part is None:
        return ""
    text = signed(part.mean, DIGITS)
    text = f"**{text}**" if part.p < SIGNIFICANT and round(part.mean, DIGITS) else text
    if math.isnan(part.low):
        return text
    return f"{text} [{signed(part.low, DIGITS)}, {signed(part.high, DIGITS)}]"


def _plain(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.{DIGITS}f}"
