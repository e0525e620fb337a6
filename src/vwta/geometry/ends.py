"""The line that ends each ray from an atom: the first that it meets, among all or the nearest."""

from __future__ import annotations

__all__ = ["first_lines"]

import torch
from torch import Tensor

from vwta.geometry.neighbours import Neighbours
from vwta.geometry.spaces import Space, Sphere

NEAREST = 512  # atoms among which a ray's end is looked for first
WORTH = 2  # times as many atoms from which on that pays
RATES = 2**17  # rates held at once: they fit into the cache
RAYS = 64  # of one cell that are followed at once, or more
MARGIN = 1 + 2.0**-40  # of rates: far above rounding


@torch.no_grad()
def first_lines(
    points: Tensor, row: Tensor, atom: Tensor, space: Space, ray: Tensor, slowest: float
) -> Tensor:
    """The line that ends each ray, `(C, S)`: an atom, `K + i` for side `i`, or -1 for none.

    The rate of a line is the inverse of how far the ray goes until it meets it; on the sphere the
    cotangent. An atom at the distance `a` has a rate of `2 / a` at most, so that a ray which the
    nearest atoms end earlier needs no others.

    Arguments:
        points: atoms in float64, `(B, K, e)`.
        row: which of the `B` tessellations each cell belongs to, `(C,)`.
        atom: which of the `K` atoms it surrounds, `(C,)`.
        space: where they lie.
        ray: unit vectors, `(1 or C, S, e)`.
        slowest: rate above which a line ends a ray.
    """
    ray = ray.expand(len(row), -1, -1)
    if not _is_local(points):
        rate, line = _fastest(points, row, atom, space, ray)
        return torch.where(rate > slowest, line, -1)
    near, square = Neighbours(points, row, atom).nearest(torch.arange(len(row)), NEAREST)
    rate, line = _fastest(points, row, atom, space, ray, near)
    is_open = rate <= 2 * MARGIN / square.sqrt()[:, None]
    for c in torch.nonzero(is_open.any(1))[:, 0].tolist():
        cell, some = slice(c, c + 1), is_open[c]
        found = _fastest(points, row[cell], atom[cell], space, ray[cell, some])
        rate[cell, some], line[cell, some] = found
    return torch.where(rate > slowest, line, -1)


def _is_local(points: Tensor) -> bool:
    """Whether to look among the nearest atoms first."""
    enough = points.shape[1] >= WORTH * NEAREST
    return enough and points.device.type == "cpu" and bool(points.isfinite().all())


def _fastest(
    points: Tensor,
    row: Tensor,
    atom: Tensor,
    space: Space,
    ray: Tensor,
    among: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Largest rate along each ray `(C, S, e)`, and its line, `(C, S)` each.

    Of the other atoms those `among` `(C, N)` count, in ascending order; all if None.
    """
    count = points.shape[1] if among is None else among.shape[1]
    step = max(1, RATES // (RAYS * count))
    found = []
    for start in range(0, max(len(row), 1), step):
        part = slice(start, start + step)
        near = None if among is None else among[part]
        pull, absent = _pulls(points, row[part], atom[part], space, near)
        rays = ray[part].split(max(RAYS, RATES // (len(pull) * count + 1)), 1)
        each = [_largest(some, pull, absent) for some in rays]
        rate, place = (torch.cat(x, 1) for x in zip(*each, strict=True))
        if near is not None:
            atoms = near.gather(1, place.clamp_max(count - 1))
            place = torch.where(place < count, atoms, place + points.shape[1] - count)
        found.append((rate, place))
    rate, line = (torch.cat(x) for x in zip(*found, strict=True))
    return rate, line


def _largest(ray: Tensor, pull: Tensor, absent: Tensor | None) -> tuple[Tensor, Tensor]:
    """Largest product of rays `(C, S, e)` with vectors `(C, M, e)`, and which, `(C, S)` each."""
    rate = torch.matmul(ray, pull.mT)
    if absent is not None:
        rate.masked_fill_(absent[:, None], -torch.inf)
    largest, place = rate.max(-1)
    return largest, place


def _pulls(
    points: Tensor, row: Tensor, atom: Tensor, space: Space, among: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Vectors `(C, M, e)` whose products with a ray are the rates of lines, and which are none.

    In a box that is not asked for: the rate of those is 0, which ends no ray.
    """
    z = points[row, atom]
    apart = (points[row] if among is None else points[row[:, None], among]) - z[:, None]
    square = (apart**2).sum(-1)
    bisectors = (2 * apart / square[..., None]).nan_to_num_(0.0, 0.0, 0.0)
    normals, to_side = space.sides(z)
    sides = normals / to_side.clamp_min(torch.finfo(z.dtype).tiny)[..., None]
    absent = ~(square > 0) if isinstance(space, Sphere) else None
    return torch.cat([bisectors, sides], 1), absent
