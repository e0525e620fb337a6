"""Nearest atoms: by comparison with all of them, or by a search where many points share them.

The search is one in a k-d tree, on the line a bisection.
"""

from __future__ import annotations

__all__ = ["PlaceTree", "nearest_of_rows", "nearest_of_shared", "place_tree"]

import math
from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

WORK = 2**21  # distances held at once
SETTLED = 10  # comparisons at most with the nearest atom so far, until none is nearer


class PlaceTree(NamedTuple):
    """The places of atoms, made ready for a search.

    Attributes:
        first: the first atom at each of the `P` distinct places, `(P,)`.
        tree: of the places; None on the line.
        middles: on the line, where places in their order begin and end, `(P + 1,)`.
    """

    first: Tensor
    tree: cKDTree | None
    middles: Tensor | None = None


def place_tree(atoms: Tensor) -> PlaceTree:
    """Tree of atoms `(K, e)`; those that coincide count once."""
    if atoms.shape[1] == 1:
        line, at = np.unique(atoms[:, 0].numpy(), return_index=True)
        middles = np.concatenate([[-np.inf], (line[1:] + line[:-1]) / 2, [np.inf]])
        return PlaceTree(torch.from_numpy(at), None, torch.from_numpy(middles))
    places, at = np.unique(atoms.numpy(), axis=0, return_index=True)
    return PlaceTree(torch.from_numpy(at), cKDTree(places))


def nearest_of_shared(tree: PlaceTree, atoms: Tensor, y: Tensor) -> Tensor:
    """The nearest of the atoms `(K, e)` to each point `(N, e)`; the first of equals.

    Points to which two places are equally near, up to rounding, are compared with all atoms.
    """
    out = torch.zeros(len(y), dtype=torch.long)
    finite = y.isfinite().all(-1)
    close = torch.ones_like(finite)
    place, close[finite] = _searched(tree, atoms, y[finite])
    out[finite] = tree.first[place]
    if close.any():
        row = torch.zeros(int(close.sum()), dtype=torch.long)
        out[close] = nearest_of_rows(atoms[None], y[close], row)
    return out


def _searched(tree: PlaceTree, atoms: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest place to each point `(N, e)`, and whether another is as near up to rounding."""
    if tree.tree is not None:
        distance, place = (
            torch.from_numpy(np.asarray(found)) for found in tree.tree.query(y.numpy(), k=2)
        )
        return place[:, 0], distance[:, 1] <= distance[:, 0] * (1 + _blur(y))
    assert tree.middles is not None
    blur = _blur(y) * atoms.abs().amax()  # far above the rounding of a middle
    target = y[:, 0].contiguous()
    place = torch.searchsorted(tree.middles[1:-1], target)
    below, above = (tree.middles[place + end] for end in (0, 1))
    return place, (target - below <= blur) | (above - target <= blur)


def nearest_of_rows(points: Tensor, y: Tensor, row: Tensor) -> Tensor:
    """The nearest of the atoms `(B, K, e)` of its row `(N,)` to each point `(N, e)`."""
    out = torch.empty_like(row)
    step = max(1, WORK // points.shape[1])
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        atoms = points[row[part]]
        distance = (atoms[..., 0] - y[part, :1]) ** 2
        for i in range(1, y.shape[-1]):
            distance += (atoms[..., i] - y[part, i : i + 1]) ** 2
        out[part] = _first_least(distance, atoms, y[part])
    return out


def _blur(y: Tensor) -> float:
    """Relative rounding of squared distances of points `(*, e)`."""
    return 2 * (y.shape[-1] + 3) * torch.finfo(y.dtype).eps


def _first_least(distance: Tensor, atoms: Tensor, y: Tensor) -> Tensor:
    r"""The nearest atom `(N,)`, also where squares are too coarse to tell.

    Squares of two atoms at a distance r differ by 2 w times their distance from each other if y is
    w away from the border between them. Rounding of the squares, :math:`r^2` times 1e-16, hides
    this if atoms are close together and y is far away. The difference of two squares, as

    .. math:: |z_k - y|^2 - |z_l - y|^2 = (z_k - z_l) \cdot ((z_k - y) + (z_l - y)),

    is rounded in proportion to itself, so that only points within some roundings of r are in doubt.

    Arguments:
        distance: squared distances, `(N, K)`.
        atoms: the atoms, `(N, K, e)`.
        y: points, `(N, e)`.
    """
    first = distance.argmin(1)
    least = distance.gather(1, first[:, None])
    close = distance <= least * (1 + _blur(y))
    doubtful = (torch.count_nonzero(close, 1) > 1) & least[:, 0].isfinite()
    if not doubtful.any():
        return first
    at = torch.nonzero(doubtful)[:, 0]
    z, apart = atoms[at], atoms[at] - y[at, None]
    best, close = first[at], close[at]
    for _ in range(SETTLED):
        last = best[:, None, None].expand(-1, 1, y.shape[-1])
        gap = ((z - z.gather(1, last)) * (apart + apart.gather(1, last))).sum(-1)
        best = gap.masked_fill_(~close, math.inf).argmin(1)
        if torch.equal(best, last[:, 0, 0]):
            break
    first[at] = best
    return first
