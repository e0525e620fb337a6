"""Atoms in their order: what ends each cell of the line, and which atoms share a place."""

from __future__ import annotations

__all__ = ["FEW", "Twins", "ends_of_cells", "twins"]

from typing import NamedTuple

import torch
from torch import Tensor

from vwta.geometry.spaces import Space

FEW = 4  # cells for each tessellation, below which comparing all atoms is faster than sorting them


class Twins(NamedTuple):
    """Atoms that share a place.

    Attributes:
        first: the first atom at the place of each one, `(B, K)`.
        shared: whether there are others, `(B, K)`.
    """

    first: Tensor
    shared: Tensor


def twins(points: Tensor) -> Twins:
    """Which of the atoms `(B, K, e)` share a place.

    Example:
        >>> twins(torch.tensor([[[0.5], [0.2], [0.5]]])).first
        tensor([[0, 1, 0]])
    """
    count = points.shape[1]
    order = torch.arange(count, device=points.device).expand(points.shape[:2])
    for x in reversed(points.unbind(-1)):  # by the last coordinate, ..., by the first
        order = order.gather(1, x.gather(1, order).sort(dim=1, stable=True).indices)
    placed = points.gather(1, order[..., None].expand_as(points))
    start, after = _runs((placed[:, 1:] != placed[:, :-1]).any(-1))
    first, shared = order.gather(1, start), after - start > 1
    return Twins(*(torch.empty_like(part).scatter_(1, order, part) for part in (first, shared)))


def ends_of_cells(x: Tensor, row: Tensor, atom: Tensor, space: Space) -> Tensor:
    """What ends cells above and below: an atom, `K` or `K + 1` for a side, or -1, `(C, 2)`.

    It is the next atom at another place, the first one of those that share it, else the side of the
    box above or below, and -1 if that is infinite.

    Arguments:
        x: atoms, `(B, K)`.
        row: which of the `B` tessellations each cell belongs to, `(C,)`.
        atom: which of the `K` atoms it surrounds, `(C,)`.
        space: a box of the line.
    """
    z, count = x[row, atom], x.shape[1]
    ends = _compared(x, row, z) if len(row) < FEW * len(x) else _sorted(x)[row, atom]
    _, to_side = space.sides(z[:, None])
    sides = torch.where(to_side.isinf(), -1, torch.arange(2, device=x.device) + count)
    return torch.where(ends < 0, sides, ends)


def _compared(x: Tensor, row: Tensor, z: Tensor) -> Tensor:
    """The next atoms above and below places `(C,)`, or -1, `(C, 2)`."""
    apart, ends = x[row] - z[:, None], []
    for step in (apart, -apart):
        nearest, line = step.masked_fill(step <= 0, torch.inf).min(1)
        ends.append(torch.where(nearest.isinf(), -1, line))
    return torch.stack(ends, 1)


def _sorted(x: Tensor) -> Tensor:
    """The next atoms above and below all atoms, or -1, `(B, K, 2)`."""
    placed, order = x.sort(dim=1, stable=True)
    start, after = _runs(placed[:, 1:] > placed[:, :-1])
    before = start.gather(1, (start - 1).clamp_min(0)).masked_fill_(start == 0, -1)
    after = after.masked_fill(after == x.shape[1], -1)
    found = []
    for ends in (after, before):
        line = torch.where(ends < 0, -1, order.gather(1, ends.clamp_min(0)))
        found.append(torch.empty_like(line).scatter_(1, order, line))
    return torch.stack(found, -1)


def _runs(differs: Tensor) -> tuple[Tensor, Tensor]:
    """Start and end of the run of equals around each of sorted atoms, `(B, K)` each.

    Arguments:
        differs: whether each atom but the first differs from the one before, `(B, K - 1)`.
    """
    fresh = torch.cat([differs.new_ones(len(differs), 1), differs], 1)
    count = fresh.shape[1]
    place = torch.arange(count, device=fresh.device).expand(fresh.shape)
    start = place.masked_fill(~fresh, 0).cummax(1).values
    after = place.masked_fill(~fresh, count).flip(1).cummin(1).values.flip(1)
    end = torch.full_like(after, count)
    end[:, :-1] = after[:, 1:]
    return start, end
