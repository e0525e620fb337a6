r"""First and second moments of kernels cut to cells in space, about the atom.

Moments are integrals over faces of :math:`y H_3` and :math:`y y^T H_4`, with the functions of
:mod:`vwta.geometry.decays` at half the squared distance of y. Across a face `y` is constant. In its
plane, with the step t from the foot, :math:`t H_{m+2}` is the gradient of :math:`-h^2 (H_m - k)`,
so that integrals over the face become integrals along its edges, as those of the mass are. The
constant k does not matter: it is the value at the foot where the face is small, so that nothing
cancels there, otherwise 0.
"""

from __future__ import annotations

__all__ = ["cone_moments"]

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from vwta.geometry.cones import (
    FEW,
    MANY,
    REACH,
    WHOLE,
    Sectors,
    cone_masses,
    small_faces,
    units,
    zones,
)
from vwta.geometry.decays import decay, differences, taylor
from vwta.geometry.facets import Facets
from vwta.geometry.kernels import Kernel
from vwta.geometry.quadrature import nodes

Piece = tuple[Tensor, Tensor, Tensor]


def cone_moments(facets: Facets, kernel: Kernel) -> tuple[Tensor, Tensor]:
    """Means over cells `(C, 3)` of `y - z` and of its squares, under the cut kernel.

    Arguments:
        facets: faces of the cells.
        kernel: its `h` is `(C,)`.
    """
    unit, e = units(kernel, facets.size)
    sectors = Sectors.of(facets, unit, e)
    mass = (cone_masses(facets, sectors) * WHOLE)[:, None]
    is_small = small_faces(facets, sectors)[facets.face]
    sums = sectors.d.new_zeros(6, len(sectors.d))
    for index, s, weight, found in _all_nodes(sectors):
        sums[:, index] += _integrals(sectors[index], s, weight, found, is_small[index])
    a1, b1, a2, b2, c2, rest = sums[..., None]
    n, p, d = facets.normal[facets.face], sectors.p[:, None], sectors.d[:, None]
    across, along = facets.outward, facets.tangent
    first = p * (p * n * a1 + across * b1)
    within = across * (2 * p * n * b2 + d * across * b2 + along * c2)
    second = p * ((p * n) ** 2 * a2 + within + (1 - n**2) * rest)
    cell = facets.cell[facets.face]
    first, second = (x.new_zeros(len(mass), 3).index_add_(0, cell, x) for x in (first, second))
    return first / mass * unit[:, None], second / mass * unit[:, None] ** 2


class _Values(NamedTuple):
    """Functions at nodes, `(N, n)`: differences of H_0, H_1 and H_2 by x, and H_1 and H_2.

    `bend` is how much the difference of H_0 falls short of H_2 at the foot, by x.
    """

    d0: Tensor
    d1: Tensor
    d2: Tensor
    h1: Tensor
    h2: Tensor
    bend: Tensor | None = None


def _integrals(
    part: Sectors, s: Tensor, weight: Tensor, found: _Values, is_small: Tensor
) -> Tensor:
    """Integrals along edges of which moments are made, `(6, N)`."""
    square = part.square(s)
    scale = -(part.e**-2)
    a1, a2, mass = ((x * weight).sum(1) * part.d / 2 for x in (found.d1, found.d2, found.d0))
    large = [(x * weight).sum(1) * scale for x in (found.h1, found.h2, found.h2 * s)]
    large.append(-mass * scale)
    if found.bend is not None:
        weight = weight * square
        small = [(x * weight).sum(1) / 2 for x in (found.d1, found.d2, found.d2 * s)]
        small.append(-(found.bend * weight).sum(1) * part.d / 4)
        large = [torch.where(is_small, x, y) for x, y in zip(small, large, strict=True)]
    b1, b2, c2, rest = large
    return torch.stack([a1, b1, a2, b2, c2, rest])


def _all_nodes(sectors: Sectors) -> Iterator[tuple[Tensor, Tensor, Tensor, _Values]]:
    """Sectors `(N,)`, nodes and weights on their edges `(N, n)`, and the functions there."""
    pieces = zones(sectors)
    for index, start, end in pieces.near:
        s, weight = nodes(start, end, FEW)
        yield index, s, weight, _near(sectors[index], s)
    for index, start, end in pieces.middle:
        s, weight = nodes(start, end, MANY)
        yield index, s, weight, _direct(sectors[index], s)
    for index, start, end in pieces.far:
        within = sectors.p[index] < REACH
        for some, s, weight in _far_nodes(sectors[index], start, end):
            part = sectors[index[some]]
            inside = within[some, None]
            direct, beyond = _direct(part, s), _beyond(part, s)
            both = zip(direct[:5], beyond[:5], strict=True)
            yield index[some], s, weight, _Values(*(torch.where(inside, *x) for x in both))


def _near(part: Sectors, s: Tensor) -> _Values:
    """Where x is at most `NEAR`, from Taylor's series."""
    x, v = part.x(s), part.v
    even, odd = taylor(0, v), taylor(1, v)
    d0, d1 = differences(even, x), differences(odd, x)
    bend = -differences(even[1:], x)
    d2 = differences(taylor(2, v), x)
    h2 = even[0][:, None] - x * d2
    return _Values(d0, d1, d2, decay(1, v[:, None] + x), h2, bend)


def _direct(part: Sectors, s: Tensor) -> _Values:
    """Where x is more, and the foot is within reach."""
    x, v = part.x(s), part.v.clamp_max(REACH**2 / 2)[:, None]
    at = [decay(m, v + x) for m in range(3)]
    foot = [decay(0, v), decay(1, v), taylor(0, v[:, 0])[0][:, None]]
    d0, d1, d2 = ((there - here) / x for there, here in zip(foot, at, strict=True))
    return _Values(d0, d1, d2, at[1], at[2])


def _beyond(part: Sectors, s: Tensor) -> _Values:
    """Where the foot is out of reach, too: the functions are powers."""
    v = part.v.clamp_min(1.0)[:, None]
    w = v + part.x(s)
    p, r = v.sqrt(), w.sqrt()
    root = math.sqrt(math.pi)
    d0 = root / 2 / (p * r * (p + r))
    d2 = root / 4 * (w + p * r + v) / (v * w * p * r * (p + r))
    return _Values(d0, 1 / (2 * v * w), d2, 1 / (2 * w), root / 4 / (w * r))


def _far_nodes(part: Sectors, start: Tensor, end: Tensor) -> Iterator[Piece]:
    """Pieces of edges `(P,)`, and nodes and weights on them: beyond the line's distance, by 1/s."""
    bend = torch.hypot(part.p, part.d)
    low, high = start.clamp(-bend, bend), end.clamp(-bend, bend)
    some = torch.nonzero(low < high)[:, 0]
    if len(some):
        yield some, *nodes(low[some], high[some])
    for low, high in ((start, torch.minimum(end, -bend)), (torch.maximum(start, bend), end)):
        some = torch.nonzero(low < high)[:, 0]
        if len(some):
            q, weight = nodes(1 / high[some], 1 / low[some])
            yield some, 1 / q, weight / q**2
