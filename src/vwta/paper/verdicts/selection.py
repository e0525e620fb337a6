"""Queries: the numbers that a claim or a difference speaks of, as means over seeds and splits.

A query is a section of a configuration file:

| key | what |
|---|---|
| `metric`, `method` | which numbers |
| `K`, `h` | of these only: a list, or `smallest` or `largest` of what is there |
| `h` | or `printed`: those that the paper prints, or shows in the figures that were read |
| `tuned` | true: at tuned bandwidths; else at given ones, or tuned ones if there are no others |
| `protocol` | of this protocol, whichever is judged; `printed` for the paper's own numbers |
| `reduce` | `over` a key (h or K), `by` lowest or range: one number in place of a curve |
| `minus`, `divided_by` | another query, whose numbers are subtracted or divided by |
| `by_split` | true: splits are not averaged |
"""

from __future__ import annotations

__all__ = ["KEYS", "VALUES", "Evidence", "select", "shared", "words"]

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from vwta.paper.verdicts.reported import PRINTED

KEYS = ["dataset", "K", "h", "split"]
VALUES = ["value", "deviation", "count"]

Query = Mapping[str, Any]


class Evidence:
    """All numbers that verdicts rest on, by study and protocol.

    Arguments:
        measured: see :mod:`vwta.paper.verdicts.evidence`.
        printed: see :func:`vwta.paper.verdicts.reported.as_evidence`.
        borrows: for each study and protocol the protocol `of` which it takes what it has no rows
            for, and the `methods` for which it does; all, if there are none listed.
    """

    def __init__(
        self,
        measured: pd.DataFrame,
        printed: pd.DataFrame,
        borrows: Mapping[str, Mapping[str, Mapping[str, Any]]],
    ) -> None:
        self.table = pd.concat([measured.assign(deviation=np.nan), printed], ignore_index=True)
        self.borrows = borrows
        self._rows: dict[tuple[str, str], pd.DataFrame] = {}
        self._means: dict[tuple[object, ...], pd.DataFrame] = {}
        self._printed = printed[printed["h"].notna()]

    def rows(self, study: str, protocol: str) -> pd.DataFrame:
        """Rows of a protocol, and those that it takes from another one."""
        if (study, protocol) not in self._rows:
            mine = self.table[self.table["study"] == study]
            own = mine[mine["protocol"] == protocol]
            lender = self.borrows.get(study, {}).get(protocol)
            if lender is not None and not own.empty:
                own = pd.concat([own, _lent(mine, own, lender)], ignore_index=True)
            self._rows[study, protocol] = own
        return self._rows[study, protocol]

    def means(
        self,
        study: str,
        protocol: str,
        metric: str,
        method: str,
        tuned: bool | None = None,
        by_split: bool = False,
    ) -> pd.DataFrame:
        """Means over seeds, and over splits unless they are kept apart: see :func:`select`."""
        key = (study, protocol, metric, method, tuned, by_split)
        if key not in self._means:
            rows = self.rows(study, protocol)
            rows = rows[(rows["metric"] == metric) & (rows["method"] == method)]
            self._means[key] = _means(_at(rows, tuned), by_split)
        return self._means[key]

    def paired(self, study: str, queries: Sequence[Query]) -> Evidence:
        """The same numbers of a study, of networks that all queries' protocols have.

        For each data set and K, those with seeds that not all of them have are left out.

        Arguments:
            study: the study.
            queries: each with a protocol.
        """
        where = ["dataset", "K"]
        seeds = []
        for query in queries:
            rows = self.rows(study, query["protocol"])
            rows = rows[(rows["metric"] == query["metric"]) & (rows["method"] == query["method"])]
            rows = rows[rows["seed"].notna()].fillna({"K": -1})
            seeds.append({key: set(part) for key, part in rows.groupby(where)["seed"]})
        common = {
            key: set.intersection(*(each[key] for each in seeds))
            for key in set.intersection(*map(set, seeds))
        }
        found = copy.copy(self)
        found._means, found._rows = {}, {}
        for name in {query["protocol"] for query in queries}:
            rows = self.rows(study, name)
            keys = zip(rows["dataset"], rows["K"].fillna(-1), rows["seed"], strict=True)
            kept = [
                pd.isna(seed) or (dataset, K) not in common or seed in common[dataset, K]
                for dataset, K, seed in keys
            ]
            found._rows[study, name] = rows[np.array(kept, bool)]
        return found

    def printed_h(self, study: str, metric: str, method: str, dataset: str) -> list[float]:
        """Bandwidths of the paper's own numbers of a data set, or of others if it has none."""
        rows = self._printed
        for key, name in (("study", study), ("metric", metric), ("method", method)):
            rows = rows[rows[key] == name]
        own = rows[rows["dataset"] == dataset]
        return sorted(set((rows if own.empty else own)["h"]))


def select(
    evidence: Evidence,
    study: str,
    protocol: str,
    query: Query,
    datasets: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The numbers of a claim's query: those of :data:`KEYS` that apply, and :data:`VALUES`.

    `value` is the mean over seeds and splits, `deviation` their standard deviation (missing for a
    single one), `count` their number.

    Arguments:
        evidence: all numbers.
        study: the study.
        protocol: the protocol, unless the query names one.
        query: the query.
        datasets: of these only; all, if none are given.
    """
    how = {key: query[key] for key in ("metric", "method", "tuned", "by_split") if key in query}
    frame = evidence.means(study, query.get("protocol", protocol), **how)
    if datasets is not None:
        frame = frame[frame["dataset"].isin(datasets)]
    if query.get("h") == PRINTED:
        frame = _only_printed(frame, evidence, study, query)
    for key in ("K", "h"):
        if query.get(key) != PRINTED:
            frame = _only(frame, key, query.get(key))
    if "reduce" in query:
        frame = _reduce(frame, **query["reduce"])
    for key, combine in COMBINATIONS.items():
        if key in query:
            frame = combine(frame, select(evidence, study, protocol, query[key], datasets))
    return frame


def shared(a: pd.DataFrame, b: pd.DataFrame, ignore: Sequence[str] = ()) -> pd.DataFrame:
    """Two selections of a claim side by side, where they have the same keys.

    Values end in `_a` and `_b`.

    Arguments:
        a: a selection.
        b: another.
        ignore: keys in which they may differ; those of `a` are told.
    """
    keys = [key for key in KEYS if key in a and key in b and key not in ignore]
    b = b.drop(columns=[key for key in ignore if key in b])
    if not keys:
        return a.merge(b, how="cross", suffixes=("_a", "_b"))
    return a.merge(b, on=keys, suffixes=("_a", "_b"))


def words(query: Query) -> str:
    """A claim's query for readers, such as `nll of v_wta, lowest over h`."""
    text = f"{query['metric']} of {query['method']}"
    if query.get("protocol") == PRINTED:
        text += " as printed"
    elif "protocol" in query:
        text += f" under {query['protocol']}"
    for key in ("K", "h"):
        if key in query:
            value = query[key]
            many = value if isinstance(value, str) else ", ".join(f"{one:g}" for one in value)
            text += f", {key} = {many}"
    text += ", h tuned" if query.get("tuned") else ""
    if "reduce" in query:
        text += f", {query['reduce']['by']} over {query['reduce']['over']}"
    for key, sign in (("minus", "-"), ("divided_by", "/")):
        text = f"({text}) {sign} ({words(query[key])})" if key in query else text
    return text


def _lent(mine: pd.DataFrame, own: pd.DataFrame, lender: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of a lender's metrics and methods that a protocol has none of."""
    other = mine[mine["protocol"] == lender["of"]]
    if "methods" in lender:
        other = other[other["method"].isin(lender["methods"])]
    there, pairs = (pd.MultiIndex.from_frame(t[["metric", "method"]]) for t in (own, other))
    lacking: pd.DataFrame = other[~pairs.isin(there)]
    return lacking


def _at(rows: pd.DataFrame, tuned: bool | None) -> pd.DataFrame:
    """Rows at given or at tuned bandwidths; the latter have no h in common.

    Arguments:
        rows: of one metric and method.
        tuned: which ones; None for the given bandwidths, or the tuned ones if there are no others.
    """
    if tuned is None:
        tuned = bool(rows["tuned"].all())
    rows = rows[rows["tuned"] == tuned]
    return rows.assign(h=np.nan) if tuned else rows


def _means(rows: pd.DataFrame, by_split: bool) -> pd.DataFrame:
    """Means over seeds, and over splits unless they are kept apart.

    Where there are splits, seeds of the same one are averaged first, so that the deviation is that
    of splits. One value that is not finite spoils the mean, as leaving it out would flatter the
    method.
    """
    keys = [key for key in KEYS if key != "split" or by_split]
    keys = [key for key in keys if key == "dataset" or rows[key].notna().any()]
    if rows.empty:
        return pd.DataFrame(columns=[*keys, *VALUES])
    if rows["split"].notna().any():
        each = rows.groupby([*dict.fromkeys([*keys, "split"])], dropna=False)
        mean = each["value"].mean().mask(each["value"].count() < each.size())
        rows = pd.DataFrame({"value": mean, "deviation": each["deviation"].first()}).reset_index()
    groups = rows.groupby(keys, dropna=False, sort=True)
    value, deviation, count = groups["value"], groups["deviation"], groups.size()
    found = {
        "value": value.mean().mask(value.count() < count),
        "deviation": value.std(ddof=1).fillna(deviation.first()).mask(value.count() < count),
        "count": count,
    }
    return pd.DataFrame(found).reset_index()[[*keys, *VALUES]]


def _only(frame: pd.DataFrame, key: str, wanted: Sequence[float] | str | None) -> pd.DataFrame:
    """Rows with the wanted values of a key, or with its smallest or largest one."""
    if wanted is None or frame.empty:
        return frame
    if key not in frame:
        return frame.iloc[:0]
    values = frame[key].astype(float)
    if isinstance(wanted, str):
        others = [other for other in KEYS if other in frame and other != key]
        ends = values.groupby([frame[other] for other in others], dropna=False)
        end = ends.transform("min") if wanted == "smallest" else ends.transform("max")
        chosen = (values == end).to_numpy()
    else:
        chosen = np.isclose(values.to_numpy()[:, None], np.array(wanted, float)).any(1)
    return frame.iloc[np.flatnonzero(chosen)]


def _only_printed(
    frame: pd.DataFrame, evidence: Evidence, study: str, query: Query
) -> pd.DataFrame:
    """Rows at the bandwidths that the paper has numbers of, for each data set."""
    parts = [
        _only(part, "h", evidence.printed_h(study, query["metric"], query["method"], str(name)))
        for name, part in frame.groupby("dataset", sort=False)
    ]
    return pd.concat(parts, ignore_index=True) if parts else frame


def _reduce(frame: pd.DataFrame, over: str, by: str) -> pd.DataFrame:
    if frame.empty or over not in frame:
        return frame.iloc[:0].drop(columns=over, errors="ignore")
    keys = [key for key in KEYS if key in frame and key != over]
    found = []
    for _, curve in frame.groupby(keys, dropna=False):
        values = curve["value"].to_numpy(float)
        at = 0 if np.isnan(values).all() else int(np.nanargmin(values))
        best = curve.iloc[[at]].drop(columns=over)
        if by == "range":
            best = best.assign(value=values.max() - values.min(), deviation=np.nan)
        found.append(best)
    return pd.concat(found, ignore_index=True)


def _minus(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    both = shared(frame, other)
    squares = both[["deviation_a", "deviation_b"]].astype(float) ** 2
    return _combined(both, both["value_a"] - both["value_b"], squares)


def _divided_by(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    both = shared(frame, other)
    ratio = both["value_a"] / both["value_b"]
    relative = [both[f"deviation_{x}"].astype(float) / both[f"value_{x}"] for x in "ab"]
    return _combined(both, ratio, pd.concat([(ratio * one) ** 2 for one in relative], axis=1))


def _combined(both: pd.DataFrame, value: pd.Series, squares: pd.DataFrame) -> pd.DataFrame:
    """Numbers that two selections make, with the root of the sum of squares of deviations."""
    both = both.assign(
        value=value,
        deviation=squares.sum(axis=1, min_count=1) ** 0.5,
        count=np.minimum(both["count_a"], both["count_b"]),
    )
    return both[[*(key for key in KEYS if key in both), *VALUES]]


COMBINATIONS = {"minus": _minus, "divided_by": _divided_by}
