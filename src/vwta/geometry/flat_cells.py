r"""Integrals over cells of the sphere on which a kernel hardly varies, in sectors about the atom.

A point at spread :math:`w` from the atom :math:`z` in the direction :math:`u` is :math:`y = (1 - w)
z + \sqrt{w (2 - w)} u`, with the area :math:`dw \, d\varphi`. Up to a quarter turn from the foot of
an edge, sectors are filled from the atom on; further away they are whole rays, less what lies
behind the edge: all three are smooth.
"""

from __future__ import annotations

__all__ = ["flat_integrals"]

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from vwta.geometry.quadrature import nodes
from vwta.geometry.sphere import Pieces, spread
from vwta.geometry.surfaces import Edges

RADIAL = 12  # nodes along a ray
WORK = 2**8  # edges worked on at once: their nodes fit into the cache
QUARTER = math.pi / 2


class _Nodes(NamedTuple):
    """Nodes in sectors: weight and spread `(P, n, m)`, and direction in two parts `(P, n)`."""

    weight: Tensor
    w: Tensor
    p: Tensor
    q: Tensor


def flat_integrals(
    edges: Edges, z: Tensor, centre: Tensor, kappa: Tensor, flat: Tensor, powers: int
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Integrals of :math:`e^{\kappa c (y - z)}`, and of it times `y - z` and its squares.

    Arguments:
        edges: edges of `C` cells.
        z: their atoms, `(C, 3)`.
        centre: centres c of the kernels, `(C, 3)`.
        kappa: their concentrations, `(C,)`.
        flat: which cells to integrate over, `(C,)`; the others get 0.
        powers: 0 for the first integral, 1 for two of them, 2 for all; the others are 0.

    Returns:
        Integrals of shape `(C,)`, `(C, 3)` and `(C, 3)`.
    """
    sums = torch.zeros_like(kappa), torch.zeros_like(z), torch.zeros_like(z)
    index = torch.nonzero(flat[edges.cell])[:, 0]
    for start in range(0, len(index), WORK):
        part = edges[index[start : start + WORK]]
        here, c = z[part.cell], centre[part.cell] * kappa[part.cell, None]
        out = part.surface.outward(part, here)
        for edge, some in _sectors(part):
            ray = some.p[..., None] * out[edge, None] + some.q[..., None] * part.tangent[edge, None]
            sin = (some.w * (2 - some.w)).clamp_min(0).sqrt()
            step = sin[..., None] * ray[:, :, None] - some.w[..., None] * here[edge, None, None]
            value = torch.exp((step * c[edge, None, None]).sum(-1)) * some.weight
            cell = part.cell[edge]
            sums[0].index_add_(0, cell, value.sum((1, 2)))
            for power in range(1, powers + 1):
                found = torch.einsum("enm,enmi->ei", value, step**power)
                sums[power].index_add_(0, cell, found)
    return sums


def _sectors(edges: Edges) -> Iterator[tuple[Tensor, _Nodes]]:
    """Edges `(P,)` and nodes in their sectors."""
    pieces = Pieces.of(edges.s1, edges.s2)
    for fill, low, high in (
        (_before, pieces.low, pieces.high.clamp_max(QUARTER)),
        (_whole_rays, pieces.low.clamp_min(QUARTER), pieces.high),
        (_after, pieces.low.clamp_min(QUARTER), pieces.high),
    ):
        some = torch.nonzero(high > low)[:, 0]
        if len(some):
            edge = pieces.edge[some]
            found = fill(edges.a[edge], edges.b[edge], low[some], high[some])
            yield edge, found._replace(q=found.q * pieces.side[some, None])


def _before(a: Tensor, b: Tensor, low: Tensor, high: Tensor) -> _Nodes:
    """Sectors from the atom to the edge; the spread is that of the edge times a square."""
    r, weight = nodes(low, high)
    rho, step = radial(a.dtype, a.device)
    w = spread(a, b, r)
    weight = (weight * a[:, None] / (2 - w))[..., None] * (2 * rho * step)
    return _Nodes(weight, w[..., None] * rho**2, *_bearing(a, r))


def _after(a: Tensor, b: Tensor, low: Tensor, high: Tensor) -> _Nodes:
    """Minus what lies behind the edge."""
    r, weight = nodes(low, high)
    rho, step = radial(a.dtype, a.device)
    w = spread(a, b, r)
    weight = -(weight * a[:, None] / w)[..., None] * (2 * rho * step)
    return _Nodes(weight, 2 - (2 - w)[..., None] * rho**2, *_bearing(a, r))


def _whole_rays(a: Tensor, b: Tensor, low: Tensor, high: Tensor) -> _Nodes:
    """All rays from the atom through the edge, to its antipode."""
    (p1, q1), (p2, q2) = (_bearing(a, r[:, None]) for r in (low, high.clamp_max(math.pi)))
    angle = torch.atan2((p1 * q2 - q1 * p2).clamp_min(0), p1 * p2 + q1 * q2)[:, 0]
    turn, weight = nodes(torch.zeros_like(angle), angle)
    p, q = p1 * turn.cos() - q1 * turn.sin(), q1 * turn.cos() + p1 * turn.sin()
    t, step = nodes(a.new_zeros(1), a.new_full((1,), math.pi))
    weight = weight[..., None] * (step * t.sin())[0]
    return _Nodes(weight, (2 * torch.sin(t / 2) ** 2)[0].expand_as(weight), p, q)


def _bearing(a: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    """Unit direction from the atom to the point `r` `(P, n)` of a line, across it and along it."""
    p, q = a[:, None] * r.cos(), torch.where(r > QUARTER, (math.pi - r).sin(), r.sin())
    norm = torch.hypot(p, q).clamp_min(1e-300)
    return p / norm, q / norm


@cache
def radial(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Nodes and weights on `[0, 1]`, `(m,)` each."""
    x, weight = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(RADIAL))
    return (x.to(device, dtype) + 1) / 2, weight.to(device, dtype) / 2
