"""Earth mover's distance between sets of points: exact, and by the published code's solver."""

from __future__ import annotations

__all__ = ["Array", "emd", "emd_opencv"]

import os
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]
FEW = 200  # points: for less it does not pay to load a second solver
FINENESS = 0.13  # of the grid: some 150 groups for 500 points of the plane
STEPS = 10_000_000  # of the simplex at most; 500 against 500 points take some 10,000


def emd(
    points: ArrayLike,
    others: ArrayLike,
    masses: ArrayLike | None = None,
    other_masses: ArrayLike | None = None,
) -> float:
    r"""Earth mover's distance, :math:`\min_\psi \sum_{ij} \psi_{ij} \|y_i - z_j\|` of a transport.

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
    y, z = np.asarray(points, dtype=np.float64), np.asarray(others, dtype=np.float64)
    for name, array in (("points", y), ("others", z)):
        if not array.size or not np.isfinite(array).all():
            bad = "none" if not array.size else "some that are not finite"
            raise ValueError(f"{name}: expected finite points (n, d), found {bad}")
    if masses is None and other_masses is None and len(y) == len(z):
        return _assign(y, z)
    return _transport(y, z, _normalise(masses, len(y)), _normalise(other_masses, len(z)))[0]


def emd_opencv(
    points: ArrayLike, others: ArrayLike, other_masses: ArrayLike | None = None
) -> float:
    """The distance as OpenCV finds it, in float32, which is the published code's solver.

    It stops after 500 steps of the simplex, so that its transport is not the best one for more than
    some 100 points: at 500 against 500 its distances are up to 14 % too high in our runs.

    Arguments:
        points: points of equal masses, with shape `(n, d)`.
        others: points, with shape `(m, d)`.
        other_masses: masses of the latter, with shape `(m,)`; equal ones if there are none.
    """
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            "emd_solver: opencv needs the package opencv-python-headless. Remedy: pip install "
            "'vwta[opencv]', or emd_solver: exact"
        ) from error
    signatures = []
    for array, masses in ((points, None), (others, other_masses)):
        y = np.asarray(array, dtype=np.float32)
        mass = _normalise(masses, len(y)).astype(np.float32)
        signatures.append(np.concatenate([mass[:, None], y], axis=1))
    return float(cv2.EMD(*signatures, cv2.DIST_L2)[0])


def _assign(y: Array, z: Array) -> float:
    r"""Mean distance of n points `(n, d)` to as many others, in the best assignment.

    Potentials, one number for each row or column, change the costs of all assignments alike. Those
    of a coarser problem are taken off first: what is left is near 0 for the pairs of the best
    assignment, which then takes half the time to find. Other solvers: docs/speed.md.
    """
    cost = cdist(y, z)
    if len(y) > FEW:
        cost -= _potential(y, z)[:, None]
        cost -= cost.min(0)
    _, best = linear_sum_assignment(cost)
    return float(np.linalg.norm(y - z[best], axis=1).mean())


def _potential(y: Array, z: Array) -> Array:
    """Potential of points y `(n,)`, from the transport between groups of neighbours."""
    middle, mass = _groups(y)
    other_middle, other_mass = _groups(z)
    _, v = _transport(middle, other_middle, mass, other_mass)
    potential: Array = (cdist(y, other_middle) - v).min(1)
    return potential


def _groups(points: Array) -> tuple[Array, Array]:
    """Means `(g, d)` and masses `(g,)` of the points `(n, d)` that share a cell of a grid."""
    n, d = points.shape
    apart = points - points.mean(0)
    side = np.abs(apart).mean() / (FINENESS * n ** (1 / d))
    cell = np.floor(apart / side) if side > 0 else np.zeros_like(apart)
    # One number a cell. Two cells that had the same one would be one group: coarser, not wrong.
    _, group, count = np.unique(
        cell @ np.pi ** np.arange(d), return_inverse=True, return_counts=True
    )
    sums = np.stack([np.bincount(group, axis) for axis in points.T], 1)
    return sums / count[:, None], count / n


def _transport(y: Array, z: Array, mass: Array, other_mass: Array) -> tuple[float, Array]:
    """Least mean distance between weighted points, and the potential of the latter, `(m,)`."""
    cost = cdist(y, z)
    distance, log = _solver().emd2(mass, other_mass, cost, numItermax=STEPS, log=True)
    if log["warning"]:
        raise RuntimeError(f"the transport was not found: {log['warning']}")
    return float(distance), log["v"]


def _normalise(masses: ArrayLike | None, n: int) -> Array:
    if masses is None:
        return np.full(n, 1 / n)
    array = np.asarray(masses, dtype=np.float64)
    if array.shape != (n,) or (array < 0).any() or not 0 < array.sum() < np.inf:
        raise ValueError(
            f"masses: expected {n} numbers >= 0 with a positive sum, found shape {array.shape} "
            f"and sum {array.sum()}"
        )
    scaled: Array = array / array.sum()
    return scaled


@cache
def _solver() -> Any:
    """POT, imported when needed: it takes seconds, and longer with its view on torch."""
    os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
    import ot

    return ot
