"""Places of labels that must not overlap."""

from __future__ import annotations

__all__ = ["keep_apart"]

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression


def keep_apart(places: ArrayLike, gap: float, low: float, high: float) -> NDArray[np.float64]:
    r"""Places of labels in a figure, moved as little as need be to be some distance apart.

    With :math:`x_i` the places in ascending order, they minimise :math:`\sum_i (y_i - x_i)^2` with
    :math:`y_{i+1} \ge y_i + g`, a monotone regression of :math:`x_i - i g`; what lies outside the
    line is then moved onto it.

    Arguments:
        places: where labels should be, `(n,)`.
        gap: smallest distance g of two.
        low: start of the line.
        high: its end; if it is too short for all, the last ones lie beyond.

    Returns:
        Where they go, `(n,)`, in the order of `places`.

    Example:
        >>> keep_apart([5.0, 1.0, 5.0], 2.0, 0.0, 10.0)
        array([4., 1., 6.])
    """
    wanted = np.asarray(places, float)
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    level = isotonic_regression(wanted[order] - steps).x if len(wanted) else wanted
    free = max(low, high - steps[-1]) if len(wanted) else high
    moved = np.empty_like(wanted)
    moved[order] = np.clip(level, low, free) + steps
    return moved
