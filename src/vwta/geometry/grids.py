"""Regular grids: centres of bins over a box, and of bins of equal angles on the sphere."""

from __future__ import annotations

__all__ = ["bin_centres", "bin_directions"]

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from vwta.geometry.angles import from_angles


def bin_centres(grid: Sequence[int], low: Sequence[float], high: Sequence[float]) -> Tensor:
    """Centres of the bins of a regular grid over a box, row by row, with shape `(K, d)`.

    Arguments:
        grid: number of bins along each axis; K is their product.
        low: lowest corner of the box.
        high: highest corner.

    Example:
        >>> bin_centres([2, 1], [-1.0, -1.0], [1.0, 1.0])
        tensor([[-0.5000,  0.0000],
                [ 0.5000,  0.0000]], dtype=torch.float64)
    """
    axes = [
        a + (b - a) * (torch.arange(n, dtype=torch.float64) + 0.5) / n
        for n, a, b in zip(grid, low, high, strict=True)
    ]
    points = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)
    return points.reshape(math.prod(grid), len(axes))


def bin_directions(rows: int, columns: int) -> Tensor:
    r"""Centres of bins of equal angles, row by row, float64 with shape `(rows x columns, 3)`.

    Row i and column j have azimuth :math:`-\pi + (i - 1/2) 2 \pi / \text{rows}` and elevation
    :math:`-\pi / 2 + (j - 1/2) \pi / \text{columns}`. The cells of a histogram on them are not
    these bins, but the directions nearest to each centre.

    Arguments:
        rows: number of azimuths.
        columns: number of elevations.

    Example:
        >>> bin_directions(1, 2)
        tensor([[ 0.7071,  0.0000, -0.7071],
                [ 0.7071,  0.0000,  0.7071]], dtype=torch.float64)
    """
    low = [-math.pi, -math.pi / 2]
    return from_angles(bin_centres([rows, columns], low, [-bound for bound in low]))
