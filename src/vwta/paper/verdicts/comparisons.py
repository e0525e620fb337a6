"""Kinds of comparison that a claim may make of the numbers it selects.

A comparison looks at cases one by one, such as each problem and K, and says of each whether it
holds. This is the whole vocabulary of claims:

| kind | holds if |
|---|---|
| `below` | a is below b, or above it by less than `within` |
| `coincide` | a and b differ by at most `within` |
| `ordering` | each of `terms` is below the next |
| `tends_to` | where a curve ends, a and b differ by at most `within`, and by less than before |
| `settles` | the last step of a is at most `within` |
| `diverges` | where it ends, a exceeds its lowest value by more than `by`, and still grows |
| `falls`, `rises` | a does, in at least `trend` of all pairs of points, and from end to end |
| `u_shape` | a falls to a lowest point, not the last one, and rises from there, up to `within` |
| `slope` | log a against log of the key has a slope between `low` and `high` |
| `bounded` | a lies between `low` and `high` |
| `finite` | a is finite |

`within` has `absolute`, `relative` (a part of b) and `deviations` (of both, root of the sum of
squares), which add up. A curve goes `along` a key, `towards` its smallest or largest value, where
it ends; one that ends before `reach` is no case. The left arm of a U may lie outside of what was
measured. `ignore` names keys in which a and b may differ.
"""

from __future__ import annotations

__all__ = ["KINDS", "Case", "Kind", "compare", "rounded"]

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vwta.paper.verdicts.selection import KEYS, shared

Frame = pd.DataFrame


class Case(NamedTuple):
    """One case of a claim, which its comparison looks at.

    Attributes:
        where: its keys, such as `dataset` and `K`.
        holds: whether the comparison holds.
        margin: by how much, in units of the kind; negative if it does not hold.
        numbers: what decides, by name.
    """

    where: dict[str, Any]
    holds: bool
    margin: float
    numbers: dict[str, Any]


class Curve(NamedTuple):
    """Values that a claim compares along a key, in ascending order of the key."""

    where: dict[str, Any]
    at: np.ndarray
    values: np.ndarray

    @property
    def numbers(self) -> dict[str, Any]:
        return {"at": self.at.tolist(), "a": self.values.tolist()}


class Kind(NamedTuple):
    """A kind of comparison that claims are made of.

    Attributes:
        function: gives the cases of selections, with options by name.
        terms: the queries it needs, by key.
        needs: options that must be given.
        options: options that may be given.
    """

    function: Callable[..., Iterator[Case]]
    terms: tuple[str, ...]
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def compare(kind: str, frames: Sequence[Frame], options: Mapping[str, Any]) -> list[Case]:
    """Cases of a claim's comparison.

    Arguments:
        kind: a key of :data:`KINDS`.
        frames: selections, in the order of its terms.
        options: its options.
    """
    if any(frame.empty for frame in frames):
        return []
    return list(KINDS[kind].function(*frames, **options))


def rounded(value: Any) -> str:
    """A number in the reason of a verdict, three digits or so; several with commas."""
    if isinstance(value, list | tuple):
        return ", ".join(map(rounded, value))
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "not a number")
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _allowance(row: Any, within: Mapping[str, float] | None) -> float:
    """The difference that `within` allows in a row of :func:`shared`."""
    if not within:
        return 0.0
    known = (0.0 if math.isnan(s) else s for s in (row.deviation_a, row.deviation_b))
    deviation = math.hypot(*known)
    relative = within.get("relative", 0.0) * abs(float(row.value_b))
    return within.get("absolute", 0.0) + relative + within.get("deviations", 0.0) * deviation


def _case(where: Any, margin: float, strict: bool = False, **numbers: Any) -> Case:
    """A case that holds if its margin is positive, or 0 unless it must be strictly so."""
    holds = bool(margin > 0 if strict else margin >= 0)  # of a nan neither is true
    return Case(_where(where), holds, margin, numbers)


def _where(row: Any) -> dict[str, Any]:
    if isinstance(row, dict):
        return row
    found = {key: getattr(row, key) for key in KEYS if hasattr(row, key)}
    found = {key: value for key, value in found.items() if not pd.isna(value)}
    for key in ("K", "split"):
        if key in found:
            found[key] = int(found[key])
    return found


def _rows(frame: Frame) -> Iterator[Any]:
    yield from frame.itertuples(index=False)


def _pairs(a: Frame, b: Frame, ignore: Sequence[str] = ()) -> Iterator[Any]:
    yield from _rows(shared(a, b, ignore))


def _curves(
    a: Frame, along: str, points: int = 2, towards: str = "largest", reach: float | None = None
) -> Iterator[Curve]:
    """Curves along a key, of at least so many points, that reach a value at an end."""
    if along not in a:
        return
    others = [key for key in KEYS if key in a and key != along]
    for _, part in a[a[along].notna()].groupby(others, dropna=False):
        part = part.sort_values(along)
        at, values = (part[name].to_numpy(float) for name in (along, "value"))
        if len(at) < points or _falls_short(at[-1 if towards == "largest" else 0], towards, reach):
            continue
        yield Curve(_where(next(_rows(part[others]))), at, values)


def _below(
    a: Frame, b: Frame, within: Mapping[str, float] | None = None, ignore: Sequence[str] = ()
) -> Iterator[Case]:
    for row in _pairs(a, b, ignore):
        margin = row.value_b + _allowance(row, within) - row.value_a
        yield _case(row, margin, strict=within is None, a=row.value_a, b=row.value_b)


def _coincide(
    a: Frame, b: Frame, within: Mapping[str, float], ignore: Sequence[str] = ()
) -> Iterator[Case]:
    for row in _pairs(a, b, ignore):
        margin = _allowance(row, within) - abs(row.value_a - row.value_b)
        yield _case(row, margin, a=row.value_a, b=row.value_b)


def _ordering(*terms: Frame) -> Iterator[Case]:
    first, *others = terms
    table = first.rename(columns={"value": "value_0"}).drop(columns=["deviation", "count"])
    for index, term in enumerate(others, 1):
        keys = [key for key in KEYS if key in table and key in term]
        term = term.rename(columns={"value": f"value_{index}"})
        table = table.merge(term.drop(columns=["deviation", "count"]), on=keys)
    for row in _rows(table):
        values = [float(getattr(row, f"value_{index}")) for index in range(len(terms))]
        steps = [after - before for before, after in itertools.pairwise(values)]
        yield _case(row, min(steps), strict=True, terms=values)


def _tends_to(
    a: Frame,
    b: Frame,
    along: str,
    towards: str,
    within: Mapping[str, float],
    reach: float | None = None,
) -> Iterator[Case]:
    table = shared(a, b)
    if along not in table:
        return
    others = [key for key in KEYS if key in table and key != along]
    for _, part in table.groupby(others, dropna=False):
        part = part.sort_values(along, ascending=towards == "largest")
        end = next(_rows(part.tail(1)))
        if len(part) < 2 or _falls_short(getattr(end, along), towards, reach):
            continue
        gaps = (part["value_a"] - part["value_b"]).abs().to_numpy(float)
        margin = min(_allowance(end, within) - gaps[-1], gaps[:-1].max() - gaps[-1])
        yield _case(end, margin, a=end.value_a, b=end.value_b, largest_gap=gaps.max())


def _settles(
    a: Frame, along: str, towards: str, within: Mapping[str, float], reach: float | None = None
) -> Iterator[Case]:
    for curve in _curves(a, along, towards=towards, reach=reach):
        before, last = _last_two(curve, towards)
        allowed = within.get("absolute", 0.0) + within.get("relative", 0.0) * abs(last)
        yield _case(curve.where, allowed - abs(last - before), a=last, before=before)


def _diverges(
    a: Frame, along: str, towards: str, by: float, reach: float | None = None
) -> Iterator[Case]:
    for curve in _curves(a, along, towards=towards, reach=reach):
        before, last = _last_two(curve, towards)
        margin = min(last - curve.values.min() - by, last - before)
        numbers = {"a": last, "before": before, "lowest": curve.values.min()}
        yield _case(curve.where, margin, strict=True, **numbers)


def _falls_short(end: float, towards: str, reach: float | None) -> bool:
    """Whether a curve ends before a value that it must reach."""
    if reach is None:
        return False
    short = reach - end if towards == "largest" else end - reach
    return short > 1e-9


def _last_two(curve: Curve, towards: str) -> tuple[float, float]:
    """The last value but one, and the last, on the way to an end."""
    values = curve.values[::-1] if towards == "smallest" else curve.values
    return float(values[-2]), float(values[-1])


def _trend(a: Frame, along: str, trend: float, sign: int) -> Iterator[Case]:
    for curve in _curves(a, along):
        up = [sign * (y - x) > 0 for x, y in itertools.combinations(curve.values, 2)]
        whole = sign * (curve.values[-1] - curve.values[0])
        share = sum(up) / len(up)
        margin = share - trend if whole > 0 else min(share - trend, -1.0)
        yield _case(curve.where, margin, **curve.numbers, share=share)


def _falls(a: Frame, along: str, trend: float) -> Iterator[Case]:
    yield from _trend(a, along, trend, -1)


def _rises(a: Frame, along: str, trend: float) -> Iterator[Case]:
    yield from _trend(a, along, trend, 1)


def _u_shape(a: Frame, along: str, within: Mapping[str, float]) -> Iterator[Case]:
    """Up to an allowance each step goes down before the lowest point, and up behind it."""
    allowed = within.get("absolute", 0.0)
    for curve in _curves(a, along, points=3):
        steps, lowest = np.diff(curve.values), int(curve.values.argmin())
        wrong = np.concatenate([steps[:lowest], -steps[lowest:]]).max()
        rises = lowest < len(steps)
        margin = allowed - wrong if rises else min(allowed - wrong, -1.0)
        yield _case(curve.where, float(margin), **curve.numbers, lowest_at=curve.at[lowest])


def _slope(a: Frame, along: str, low: float, high: float) -> Iterator[Case]:
    for curve in _curves(a, along):
        if (curve.values <= 0).any():
            yield _case(curve.where, -math.inf, **curve.numbers)
            continue
        slope = float(np.polyfit(np.log(curve.at), np.log(curve.values), 1)[0])
        yield _case(curve.where, min(slope - low, high - slope), slope=slope)


def _bounded(a: Frame, low: float = -math.inf, high: float = math.inf) -> Iterator[Case]:
    for row in _rows(a):
        yield _case(row, min(row.value - low, high - row.value), a=row.value)


def _finite(a: Frame) -> Iterator[Case]:
    for row in _rows(a):
        yield _case(row, 1.0 if math.isfinite(row.value) else -1.0, a=row.value)


KINDS: dict[str, Kind] = {
    "below": Kind(_below, ("a", "b"), options=("within", "ignore")),
    "coincide": Kind(_coincide, ("a", "b"), ("within",), ("ignore",)),
    "ordering": Kind(_ordering, ("terms",)),
    "tends_to": Kind(_tends_to, ("a", "b"), ("along", "towards", "within"), ("reach",)),
    "settles": Kind(_settles, ("a",), ("along", "towards", "within"), ("reach",)),
    "diverges": Kind(_diverges, ("a",), ("along", "towards", "by"), ("reach",)),
    "falls": Kind(_falls, ("a",), ("along",), ("trend",)),
    "rises": Kind(_rises, ("a",), ("along",), ("trend",)),
    "u_shape": Kind(_u_shape, ("a",), ("along", "within")),
    "slope": Kind(_slope, ("a",), ("along", "low", "high")),
    "bounded": Kind(_bounded, ("a",), options=("low", "high")),
    "finite": Kind(_finite, ("a",)),
}
