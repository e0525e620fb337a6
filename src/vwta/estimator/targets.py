"""Targets as a network sees them: checked, standardised, and the domain in which they lie."""

from __future__ import annotations

__all__ = ["FEWEST", "Targets", "check_targets", "place_of"]

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vwta.estimator.columns import DataWarning, others
from vwta.geometry.spaces import Box, Space, Sphere

SPACES = ("auto", "line", "box", "sphere")
UNIT = 1e-4  # by how much the length of a direction may differ from 1
FEWEST = 5  # rows with which a model can be fitted
MARGIN = 0.1  # of the range of training targets, by which a box reaches beyond it
FAR = 50.0  # median distances from the median: beyond it a target is likely a wrong number
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Targets:
    """How targets are scaled, `u = (y - location) / scale`, and where they lie.

    Attributes:
        space: `line` for all of :math:`R^d`, `box`, or `sphere`, on which nothing is scaled.
        location: mean of the training targets on each axis, d of them.
        scale: their standard deviations.
        low: lowest corner of a box, in the unit of the targets; None if there is no box.
        high: highest corner.
        flat: whether targets were given as `(n,)`, so that predictions have that shape too.
        names: names of the target's columns, if they have any.
    """

    space: str
    location: list[float]
    scale: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    flat: bool = False
    names: list[str] | None = None

    @property
    def dimension(self) -> int:
        """Number d of the target's columns."""
        return len(self.location)

    def domain(self) -> Space:
        """The domain of scaled targets."""
        if self.space == "sphere":
            return Sphere()
        if self.low is None or self.high is None:
            return Box(-np.inf, np.inf)
        return Box(*(self.scaled(np.array([side]))[0].tolist() for side in (self.low, self.high)))

    def scaled(self, y: Array) -> Array:
        """Targets `(*, d)` as the network sees them."""
        scaled: Array = (y - np.array(self.location)) / np.array(self.scale)
        return scaled

    def outside(self, y: Array) -> NDArray[np.bool_]:
        """Which targets `(n, d)` lie outside the box."""
        if self.low is None or self.high is None:
            return np.zeros(len(y), dtype=bool)
        beyond: NDArray[np.bool_] = np.any((y < self.low) | (y > self.high), axis=1)
        return beyond

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold: the arguments of this class."""
        return asdict(self)


def check_targets(y: Any, rows: int | None = None) -> Array:
    """Targets `(n, d)` in float64, one row for each row of inputs; an error says what is wrong.

    Arguments:
        y: targets, `(n,)` or `(n, d)`.
        rows: number n that is expected.
    """
    try:
        raw = np.asarray(y)
        array = raw.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y holds something that is no number: {error}. Remedy: give numbers alone"
        ) from error
    if raw.dtype.kind in "mM":
        raise ValueError("y holds dates or times. Remedy: turn them into numbers, such as days")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(
            f"y has shape {np.shape(y)}. Remedy: give one target a row, (n,) or (n, d)"
        )
    if rows is not None and len(array) != rows:
        raise ValueError(
            f"X has {rows} rows and y has {len(array)} (inconsistent numbers of samples). Remedy: "
            "give one target for each row of X"
        )
    bad = ~np.isfinite(array)
    if bad.any():
        row = int(np.flatnonzero(bad.any(1))[0])
        value = array[row][bad[row]][0]
        raise ValueError(
            f"y, row {row}: {value} is not finite (NaN or inf)"
            f"{others(int(bad.any(1).sum()), 'such rows')}. Remedy: leave rows without a number out"
        )
    return array


def place_of(y: Array, space: str | Box, flat: bool, names: list[str] | None = None) -> Targets:
    """Scale and domain of training targets `(n, d)`.

    Arguments:
        y: the targets.
        space: `line`, `box` (their range and a tenth of it on each side), `sphere`, a `Box` in
            their own unit, or `auto`: the sphere if all are unit vectors, the line otherwise.
        flat: whether they were given as `(n,)`.
        names: names of their columns.
    """
    if not isinstance(space, Box) and space not in SPACES:
        raise ValueError(
            f"space {space!r}. Remedy: choose one of {', '.join(map(repr, SPACES))}, or give a Box"
        )
    lengths = np.linalg.norm(y, axis=1)
    directions = y.shape[1] == 3 and bool((np.abs(lengths - 1) <= UNIT).all())
    if space == "sphere" and not directions:
        raise ValueError(
            f"space 'sphere' needs unit vectors, found y of {y.shape[1]} columns with lengths from "
            f"{lengths.min():g} to {lengths.max():g}. Remedy: give three columns, divided by their "
            "lengths"
        )
    if space == "sphere" or (space == "auto" and directions):
        return Targets("sphere", [0.0] * 3, [1.0] * 3, flat=False, names=names)
    location, scale = y.mean(0), y.std(0)
    _check_scale(y, location, scale, names)
    low = high = None
    if isinstance(space, Box):
        _check_box(space, y)
        low, high = (
            np.broadcast_to(side.numpy(), y.shape[1:]).tolist() for side in (space.low, space.high)
        )
    elif space == "box":
        reach = MARGIN * (y.max(0) - y.min(0))
        low, high = (y.min(0) - reach).tolist(), (y.max(0) + reach).tolist()
    kind = "line" if low is None else "box"
    return Targets(kind, location.tolist(), scale.tolist(), low, high, flat, names)


def _check_box(box: Box, y: Array) -> None:
    """Raises an error for a box of another dimension, or one that holds next to no target."""
    sides = {side.numel() for side in (box.low, box.high)} - {1}
    if sides - {y.shape[1]}:
        raise ValueError(
            f"space {box}: the box has {max(sides)} columns and y has {y.shape[1]}. Remedy: give a "
            "lower and an upper bound for each column of y, or one for all"
        )
    low, high = box.low.numpy(), box.high.numpy()
    inside = int(((y >= low) & (y <= high)).all(1).sum())
    if inside < FEWEST:
        raise ValueError(
            f"space {box}: {inside} of {len(y)} targets lie in the box. Remedy: give a Box that "
            "holds the targets, in their own unit"
        )


def _check_scale(y: Array, location: Array, scale: Array, names: list[str] | None) -> None:
    """Raises an error for constant targets; warns of discrete ones and of wrong numbers."""
    for axis in range(y.shape[1]):
        name = f"y, column {names[axis]!r}" if names else f"y, column {axis}"
        column = y[:, axis]
        if not scale[axis] > 1e-12 * np.abs(column).max():
            if np.ptp(column):
                raise ValueError(
                    f"{name}: targets differ by {np.ptp(column):g} about {location[axis]:g}, which "
                    "is too little for float64. Remedy: subtract a number from all of them"
                )
            raise ValueError(
                f"{name}: all {len(y)} targets are {column[0]:g}. Remedy: choose a target that "
                "varies"
            )
        _check_far(name, column)
        values = len(np.unique(column))
        if values <= max(len(y) / 20, min(10, len(y) / 4)):
            _warn(
                f"{name} is discrete: {values} values in {len(y)} rows. Densities at these values "
                "grow without end as the bandwidth falls, so that scores mean little. Remedy: "
                "predict classes, or add noise of the size of a step"
            )


def _check_far(name: str, column: Array) -> None:
    """Warns of a target far from all others, by medians, which it does not move.

    The distance of targets that equal the median, as many do in discrete columns, does not count.
    """
    distance = np.abs(column - np.median(column))
    far = distance / np.median(distance[distance > 0])
    row = int(far.argmax())
    if far[row] > FAR:
        _warn(
            f"{name}, row {row}: {column[row]:g} lies {far[row]:.3g} times as far from the median "
            "as half of the targets do. Remedy: correct it if it is wrong, or predict the "
            "logarithm of the target",
            5,
        )


def _warn(message: str, level: int = 4) -> None:
    warnings.warn(message, DataWarning, stacklevel=level)
