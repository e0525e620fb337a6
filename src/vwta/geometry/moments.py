"""First and second moments of kernels cut to cells in the plane and on the sphere.

All are about the atom, of `y - z` and its squares: those about 0 would hide a narrow kernel behind
the rounding of its place.
"""

from __future__ import annotations

__all__ = ["sector_moments", "sphere_moments"]

import math

import torch
from torch import Tensor

from vwta.geometry.kernels import Kernel, Uniform, phi
from vwta.geometry.polygons import Edges, angle
from vwta.geometry.sectors import REACH, beyond, core, direction, nodes, spread, towards

RING = 30.0  # exp(-RING) is 1e-13: what moments have left beyond the outermost node along a ray


def sector_moments(edges: Edges, kernel: Kernel, curved: bool, z: Tensor) -> tuple[Tensor, Tensor]:
    """Integrals over every sector of `y - z` and of its squares, `(E, e)` each.

    As for the mass: nodes along the edge where the kernel is felt, then directions in which all of
    the kernel is within reach; on the sphere, less what lies behind edges more than a quarter turn
    away.
    """
    kappa = kernel.h.to(edges.a).expand_as(edges.a) ** -2
    limit = core(kappa, curved)
    s, weight = nodes(edges.s1.clamp(-limit, limit), edges.s2.clamp(-limit, limit))
    first, second = _along(edges, s, weight, kernel, curved, z, upper=False)
    if isinstance(kernel, Uniform) and not curved:  # felt all along the edge: nothing is beyond
        return first / (2 * math.pi), second / (2 * math.pi)
    for start, end in beyond(edges.s1, edges.s2, limit):
        some = torch.nonzero(end > start)[:, 0]
        part, here = edges[some], z[some]
        at = kernel.at(kernel.h.expand_as(edges.a)[some])
        pieces = [_whole_rays(part, start[some], end[some], at, curved, here)]
        if curved and bool((kappa[some] < REACH).any()):
            s, weight = nodes(start[some], end[some])
            pieces.append(_along(part, s, -weight, at, curved, here, upper=True))
        for f, g in pieces:
            first, second = first.index_add(0, some, f), second.index_add(0, some, g)
    return first / (2 * math.pi), second / (2 * math.pi)


def sphere_moments(kernel: Kernel, z: Tensor) -> tuple[Tensor, Tensor]:
    r"""Means over the whole sphere of `y - z` and its squares, for a kernel at `z` `(*, 3)`.

    They follow from those of the spread, :math:`E[w] = 1 / \kappa - 2 / (e^{2 \kappa} - 1)` and
    :math:`E[w^2] = 2 E[w] / \kappa - 4 / (e^{2 \kappa} - 1)`.
    """
    kappa = kernel.h.to(z)[..., None] ** -2  # 0 for Uniform
    wide = kappa < 1e-2
    large = torch.where(wide, torch.ones_like(kappa), kappa)
    tail = 2 / torch.expm1(2 * large)
    first = torch.where(wide, 1 - kappa / 3 + kappa**3 / 45, 1 / large - tail)
    series = 4 / 3 - 2 * kappa / 3 + 2 * kappa**2 / 45 + 2 * kappa**3 / 45 - 4 * kappa**4 / 945
    second = torch.where(wide, series, 2 * (1 / large - tail) / large - 2 * tail)
    return -first * z, second * z**2 + (2 * first - second) * (1 - z**2) / 2


def _whole_rays(
    edges: Edges, start: Tensor, end: Tensor, kernel: Kernel, curved: bool, z: Tensor
) -> tuple[Tensor, Tensor]:
    """Moments over all directions between two points of each edge, however far the space goes."""
    turn, weight = nodes(torch.zeros_like(start), angle(edges.a, start, end, curved))
    p, q = (x[:, None] for x in direction(edges.a, start, curved))
    p, q = p * turn.cos() - q * turn.sin(), q * turn.cos() + p * turn.sin()
    whole = torch.full_like(turn, math.pi if curved else math.inf)
    return _moments(edges, p, q, torch.zeros_like(turn), whole, weight, kernel, curved, z)


def _along(
    edges: Edges, s: Tensor, ds: Tensor, kernel: Kernel, curved: bool, z: Tensor, upper: bool
) -> tuple[Tensor, Tensor]:
    """Moments within (or, `upper`, behind) the points `s` `(E, n)` of each edge."""
    tiny = torch.finfo(s.dtype).tiny
    w = spread(edges, s, curved).clamp_min(tiny)
    p, q = (edges.a[:, None] * s.cos(), s.sin()) if curved else (edges.a[:, None], s)
    norm = torch.hypot(p, q).clamp_min(tiny)
    reach = torch.atan2(norm, 1 - w) if curved else norm
    weight = edges.a[:, None] * ds / (norm**2).clamp_min(tiny)
    inner, outer = (reach, torch.full_like(reach, math.pi)) if upper else (0 * reach, reach)
    return _moments(edges, p / norm, q / norm, inner, outer, weight, kernel, curved, z)


def _moments(
    edges: Edges,
    p: Tensor,
    q: Tensor,
    inner: Tensor,
    outer: Tensor,
    weight: Tensor,
    kernel: Kernel,
    curved: bool,
    z: Tensor,
) -> tuple[Tensor, Tensor]:
    """Moments over rays `(E, n)` with directions `(p, q)`, from distance `inner` to `outer`."""
    kernel = kernel.at(kernel.h.to(weight).expand(len(z))[:, None])
    across = towards(edges, z) if curved else edges.normal
    ray = p[..., None] * across[:, None] + q[..., None] * edges.tangent[:, None]  # (E, n, e)
    if not curved:
        first = (ray * (weight * kernel.radial_moment(outer, 2, 1))[..., None]).sum(1)
        return first, (ray**2 * (weight * kernel.radial_moment(outer, 2, 2))[..., None]).sum(1)
    w, sin, w2, both, sin2 = ((x * weight)[..., None] for x in _ring(kernel, inner, outer))
    z = z[:, None]
    first = (sin * ray - w * z).sum(1)
    return first, (w2 * z**2 - 2 * both * z * ray + sin2 * ray**2).sum(1)


def _ring(kernel: Kernel, inner: Tensor, outer: Tensor) -> tuple[Tensor, ...]:
    r"""Kernel-weighted integrals over angles of :math:`w, \sin, w^2, w \sin, \sin^2`."""
    kappa = kernel.h.expand(inner.shape) ** -2
    clip = 2 * torch.asin((RING / 2 / kappa).sqrt().clamp_max(1.0))
    t, weight = nodes(inner.flatten(), torch.minimum(outer, inner + clip).flatten())
    kappa = kappa.flatten()[:, None]
    w, sin = 2 * torch.sin(t / 2) ** 2, t.sin()
    scale = 2 * math.pi if isinstance(kernel, Uniform) else 1 / (2 * phi(2 * kappa))
    density = weight * torch.exp(-kappa * w) * sin * scale
    parts = (w, sin, w**2, w * sin, sin**2)
    return tuple((density * part).sum(-1).view(inner.shape) for part in parts)
