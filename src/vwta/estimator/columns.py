"""Inputs as numbers: missing values are filled in, categories become indicators, all is scaled.

Everything is learned from training rows, and is saved with the model as JSON.
"""

from __future__ import annotations

__all__ = ["Categories", "Columns", "DataWarning", "Numbers", "others"]

import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_LEVELS = 50  # of a column with categories; rarer ones count as unknown
BEYOND = 3.0  # standard deviations beyond the training values that a number may lie
Array = NDArray[np.float64]


class DataWarning(UserWarning):
    """Something about the data, or about what was learned from it, that a user should know."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers: missing ones become the median, and all are standardised.

    Networks have learned nothing of numbers far from those of training rows, and one such number
    would decide the whole prediction. Numbers are therefore moved to the nearest one within three
    standard deviations of the range of training values. A constant column is 0 whatever comes.

    Attributes:
        name: how messages call the column.
        median: of the training rows.
        mean: of the training rows, once missing values are filled in.
        scale: their standard deviation; 0 for a constant column.
        low: lowest value of the training rows.
        high: highest one.
        indicator: whether a second column says where values were missing: some were in training.
    """

    name: str
    median: float
    mean: float
    scale: float
    low: float
    high: float
    indicator: bool

    @classmethod
    def learn(cls, name: str, values: Array) -> Numbers:
        """The column of training rows `(n,)`, in which nan is missing."""
        missing = np.isnan(values)
        if missing.all():
            raise ValueError(
                f"X, column {name}: all {len(values)} values are missing. Remedy: leave it out"
            )
        median = float(np.median(values[~missing]))
        filled = np.where(missing, median, values)
        scale = float(filled.std())
        if scale <= 1e-12 * float(np.abs(filled).max()):
            scale = 0.0
        low, high = float(filled.min()), float(filled.max())
        return cls(name, median, float(filled.mean()), scale, low, high, bool(missing.any()))

    def encode(self, values: Any) -> Array:
        """Inputs `(n, 1)`, or `(n, 2)` with the indicator."""
        numbers = as_numbers(values, self.name)
        missing = np.isnan(numbers)
        near = np.clip(np.where(missing, self.median, numbers), *self._reach)
        scaled = (near - self.mean) / self.scale if self.scale else np.zeros(len(near))
        parts = [scaled, missing.astype(np.float64)] if self.indicator else [scaled]
        return np.stack(parts, 1)

    def far(self, values: Any) -> str:
        """Which of the values are moved, in words; empty if none is."""
        numbers = as_numbers(values, self.name)
        low, high = self._reach
        moved = np.flatnonzero((numbers < low) | (numbers > high))
        if not len(moved):
            return ""
        first = int(moved[0])
        taken = float(np.clip(numbers[first], low, high))
        return (
            f"column {self.name}, row {first} (counted from 0): {numbers[first]:g} is "
            f"taken as {taken:g}, as training values were {self.low:g} to {self.high:g}"
            f"{others(len(moved), 'such values')}"
        )

    @property
    def _reach(self) -> tuple[float, float]:
        """Lowest and highest number that is left where it is."""
        return self.low - BEYOND * self.scale, self.high + BEYOND * self.scale


@dataclass(frozen=True)
class Categories:
    """A column of categories: an indicator for each, which is 0 for all if one is unknown.

    Attributes:
        name: how messages call the column.
        levels: the categories of the training rows as text, at most 50, the most frequent first.
        missing: whether missing values have an indicator of their own: some were in training.
    """

    name: str
    levels: list[str]
    missing: bool

    @classmethod
    def learn(cls, name: str, values: Any) -> Categories:
        """The column of training rows `(n,)`."""
        texts = as_texts(values, name)
        counts = Counter(text for text in texts if text is not None)
        levels = sorted(counts, key=lambda level: (-counts[level], level))[:MOST_LEVELS]
        rest = sum(counts.values()) - sum(counts[level] for level in levels)
        if rest > len(texts) / 2:
            warnings.warn(
                f"X, column {name}: {len(counts)} categories in {len(texts)} rows, and most rows "
                f"have a rare one, which counts as unknown. Remedy: leave the column out, or group "
                "its values",
                DataWarning,
                stacklevel=2,
            )
        return cls(name, levels, None in texts)

    def encode(self, values: Any) -> Array:
        """Inputs `(n, levels)`, or one more with missing values."""
        place: dict[str | None, int] = {level: index for index, level in enumerate(self.levels)}
        if self.missing:
            place[None] = len(self.levels)
        found = np.array([place.get(text, -1) for text in as_texts(values, self.name)], dtype=int)
        width = len(self.levels) + self.missing
        indicators: Array = (found[:, None] == np.arange(width)).astype(np.float64)
        return indicators


@dataclass(frozen=True)
class Columns:
    """All columns of a table of inputs, as :meth:`learn` finds them in training rows.

    Example:
        >>> X = np.array([["red", 1.0], ["blue", np.nan], ["red", 3.0]], dtype=object)
        >>> Columns.learn(X).encode(X[:2]).round(2).tolist()
        [[1.0, 0.0, -1.22, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """

    columns: list[Numbers | Categories]

    @classmethod
    def learn(cls, X: Any) -> Columns:
        """Columns of training rows, an array `(n, c)` or a DataFrame."""
        found: list[Numbers | Categories] = []
        for name, values in _each(X):
            numbers = _maybe_numbers(values, name)
            found.append(
                Categories.learn(name, values) if numbers is None else Numbers.learn(name, numbers)
            )
        return cls(found)

    @property
    def inputs(self) -> int:
        """Number of inputs of a network."""
        return sum(
            1 + each.indicator if isinstance(each, Numbers) else len(each.levels) + each.missing
            for each in self.columns
        )

    def encode(self, X: Any) -> Array:
        """Inputs `(n, inputs)` of rows with the same columns."""
        pairs = zip(self.columns, _each(X), strict=True)
        return np.concatenate([column.encode(values) for column, (_, values) in pairs], 1)

    def warn_of_far(self, X: Any) -> None:
        """Warns, once for all columns, of numbers that lie too far from those of training rows."""
        pairs = zip(self.columns, _each(X), strict=True)
        found = [each.far(values) for each, (_, values) in pairs if isinstance(each, Numbers)]
        found = [text for text in found if text]
        if found:
            warnings.warn(
                f"X, {found[0]}{others(len(found), 'such columns')}. Remedy: correct these values, "
                "or fit with rows that are like them",
                DataWarning,
                stacklevel=4,
            )

    def to_json(self) -> list[dict[str, Any]]:
        """What JSON can hold, for :meth:`from_json`."""
        return [{"kind": type(each).__name__, **asdict(each)} for each in self.columns]

    @classmethod
    def from_json(cls, stored: list[dict[str, Any]]) -> Columns:
        kinds = {"Numbers": Numbers, "Categories": Categories}
        return cls([kinds[each.pop("kind")](**each) for each in map(dict, stored)])


def as_numbers(values: Any, name: str) -> Array:
    """A column `(n,)` of numbers in float64; missing ones are nan, and the others are finite."""
    numbers = _maybe_numbers(values, name)
    if numbers is None:
        bad = next(text for text in as_texts(values, name) if not _is_number(text))
        raise ValueError(
            f"X, column {name}: {bad!r} is not a number, and all were in training. Remedy: correct "
            "it, or leave it empty if the value is missing"
        )
    return numbers


def as_texts(values: Any, name: str) -> list[str | None]:
    """A column `(n,)` of categories as texts; None is missing."""
    return [_text(value, name) for value in np.asarray(values, dtype=object)]


def others(count: int, what: str) -> str:
    """The number of things of which a message names the first; empty if there is no other one.

    Example:
        >>> others(1, "such rows"), others(3, "such rows")
        ('', '; 3 such rows')
    """
    return f"; {count} {what}" if count > 1 else ""


def _each(X: Any) -> list[tuple[str, Any]]:
    """Columns of a DataFrame or an array with the names that messages give them."""
    if hasattr(X, "iloc"):
        return [(repr(name), X.iloc[:, place]) for place, name in enumerate(X.columns)]
    return [(str(place), X[:, place]) for place in range(X.shape[1])]


def _maybe_numbers(values: Any, name: str) -> Array | None:
    """A column as numbers, None if it has categories."""
    kind = getattr(values.dtype, "kind", "O")
    if kind in "mM":
        raise TypeError(
            f"X, column {name} holds {values.dtype}. Remedy: turn dates into numbers, such as the "
            "year and the day of the year"
        )
    if hasattr(values, "to_numpy"):  # a pandas column
        if str(values.dtype) == "category":
            return None
        if kind in "biuf":
            return _finite(values.to_numpy(dtype=np.float64, na_value=np.nan), name)
        values = values.to_numpy(dtype=object)
    if values.dtype.kind in "biuf":
        return _finite(np.asarray(values, dtype=np.float64), name)
    texts = as_texts(values, name)
    if not all(text is None or _is_number(text) for text in texts):
        return None
    return _finite(np.array([np.nan if text is None else float(text) for text in texts]), name)


def _finite(numbers: Array, name: str) -> Array:
    """The numbers, if all that are not missing are finite."""
    bad = np.isinf(numbers)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"X, column {name}, row {row}: {numbers[row]} is not finite"
            f"{others(int(bad.sum()), 'such values')}. Remedy: correct it, or make it NaN if the "
            "value is missing"
        )
    return numbers


def _text(value: Any, name: str) -> str | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # those of pandas
        return None
    if isinstance(value, float | np.floating) and np.isnan(value):
        return None
    if isinstance(value, str | bool | int | float | np.generic):
        return str(value)
    if type(value).__name__ in ("Interval", "Period"):  # of pandas, such as those of `pd.cut`
        return str(value)
    raise TypeError(
        f"X, column {name}: argument must be a string or a number, found {value!r}. Remedy: turn "
        "the column into numbers or texts"
    )


def _is_number(text: str | None) -> bool:
    if text is None or "_" in text:
        return text is None
    try:
        float(text)
    except ValueError:
        return False
    return True
