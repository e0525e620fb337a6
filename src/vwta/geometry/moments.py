"""First and second moments of kernels cut to cells in the plane and on the sphere.

All are about the atom, of `y - z` and its squares: those about 0 would hide a narrow kernel behind
the rounding of its place.
"""

from __future__ import annotations

__all__ = ["sector_moments"]

import math

import torch
from torch import Tensor

from vwta.geometry.kernels import Kernel
from vwta.geometry.quadrature import beyond, nodes, within
from vwta.geometry.sectors import direction
from vwta.geometry.surfaces import Edges


def sector_moments(edges: Edges, kernel: Kernel, z: Tensor) -> tuple[Tensor, Tensor]:
    """Integrals over every sector of `y - z` and of its squares, `(E, e)` each.

    As for the mass: nodes along the edge where the kernel is felt, then directions in which all of
    the kernel is within reach; on the sphere, less what lies behind edges more than a quarter turn
    away.

    Arguments:
        edges: edges of the sectors.
        kernel: its `h` is `(E,)` or a number.
        z: atoms of the sectors, `(E, e)`.
    """
    surface, h = edges.surface, kernel.h.to(edges.a).expand_as(edges.a)
    limit = surface.core(h**-2)
    s, weight = nodes(*within(edges.s1, edges.s2, limit))
    first, second = _along(edges, s, weight, kernel.at(h[:, None]), z, behind=False)
    for start, end in beyond(edges.s1, edges.s2, limit):
        some = torch.nonzero(end > start)[:, 0]
        if not len(some):
            continue
        part, here, at = edges[some], z[some], kernel.at(h[some, None])
        found = [_whole_rays(part, start[some], end[some], at, here)]
        if surface.felt_behind(at.h**-2):
            s, weight = nodes(start[some], end[some])
            found.append(_along(part, s, -weight, at, here, behind=True))
        for f, g in found:
            first, second = first.index_add(0, some, f), second.index_add(0, some, g)
    return first / (2 * math.pi), second / (2 * math.pi)


def _whole_rays(
    edges: Edges, start: Tensor, end: Tensor, kernel: Kernel, z: Tensor
) -> tuple[Tensor, Tensor]:
    """Moments over all directions between two points of each edge, however far the space goes."""
    surface = edges.surface
    turn, weight = nodes(torch.zeros_like(start), surface.angle(edges.a, start, end))
    p, q = (x[:, None] for x in direction(surface, edges.a, start))
    p, q = p * turn.cos() - q * turn.sin(), q * turn.cos() + p * turn.sin()
    nothing, whole = torch.zeros_like(turn), torch.full_like(turn, surface.diameter)
    return surface.ray_moments(_rays(edges, p, q, z), nothing, whole, weight, kernel, z)


def _along(
    edges: Edges, s: Tensor, ds: Tensor, kernel: Kernel, z: Tensor, behind: bool
) -> tuple[Tensor, Tensor]:
    """Moments between the atom and the points `s` `(E, n)` of each edge, or behind these points."""
    surface, a = edges.surface, edges.a[:, None]
    tiny = torch.finfo(s.dtype).tiny
    p, q = surface.bearing(a, s)
    norm = torch.hypot(p, q).clamp_min(tiny)
    reach = surface.distance(edges, s, norm)
    weight = a * ds / (norm**2).clamp_min(tiny)
    whole = torch.full_like(reach, surface.diameter)
    inner, outer = (reach, whole) if behind else (0 * reach, reach)
    ray = _rays(edges, p / norm, q / norm, z)
    return surface.ray_moments(ray, inner, outer, weight, kernel, z)


def _rays(edges: Edges, p: Tensor, q: Tensor, z: Tensor) -> Tensor:
    """Unit vectors `(E, n, e)` with components `p` across the edges' lines and `q` along them."""
    across = edges.surface.outward(edges, z)
    return p[..., None] * across[:, None] + q[..., None] * edges.tangent[:, None]
