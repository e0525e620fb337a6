"""Earth mover's distance between sets of points, exact."""

from __future__ import annotations

__all__ = ["emd"]

import os
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

STEPS = 10_000_000  # of the simplex at most; 500 against 500 points take some 10,000


def emd(
    points: ArrayLike,
    others: ArrayLike,
    masses: ArrayLike | None = None,
    other_masses: ArrayLike | None = None,
) -> float:
    r"""Least mean distance :math:`\min_\psi \sum_{ij} \psi_{ij} \|y_i - z_j\|` of a transport.

    It moves the masses of some points to those of others: :math:`\psi \ge 0` has them as its sums
    over rows and columns. Distances are Euclidean and not squared.

    Arguments:
        points: points, with shape `(n, d)`.
        others: points, with shape `(m, d)`.
        masses: masses of the points, with shape `(n,)`; all the same if None. They are scaled to
            sum to 1.
        other_masses: masses of the others, with shape `(m,)`, likewise.

    Example:
        >>> emd([[0.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [3.0, 1.0]])
        3.0
    """
    cost = cdist(np.asarray(points, dtype=np.float64), np.asarray(others, dtype=np.float64))
    a, b = _normalise(masses, cost.shape[0]), _normalise(other_masses, cost.shape[1])
    distance, log = _solver().emd2(a, b, cost, numItermax=STEPS, log=True)
    if log["warning"]:
        raise RuntimeError(f"the transport was not found: {log['warning']}")
    return float(distance)


def _normalise(masses: ArrayLike | None, n: int) -> NDArray[np.float64]:
    if masses is None:
        return np.full(n, 1 / n)
    array = np.asarray(masses, dtype=np.float64)
    if array.shape != (n,) or (array < 0).any() or not 0 < array.sum() < np.inf:
        raise ValueError(
            f"masses: expected {n} numbers >= 0 with a positive sum, found shape {array.shape} "
            f"and sum {array.sum()}"
        )
    scaled: NDArray[np.float64] = array / array.sum()
    return scaled


@cache
def _solver() -> Any:
    """POT, imported when needed: it takes seconds, and longer with its view on torch."""
    os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
    import ot

    return ot
