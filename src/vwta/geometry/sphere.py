r"""Formulae of the unit sphere: great circles, and kernels between them and atoms.

A point at coordinate `s` of a line has the spread :math:`w = 1 - b \cos s`. Kernels enter by
:math:`\phi(x) = (1 - e^{-x}) / x`: the mass within `w` is
:math:`F = w \phi(\kappa w) / 2 \phi(2 \kappa)`, where the uniform law has :math:`\kappa = 0`.
"""

from __future__ import annotations

__all__ = ["Pieces", "UnitSphere", "log_phi_slope", "spread"]

import math
from typing import NamedTuple

import torch
from torch import Tensor

from vwta.geometry.kernels import Kernel, Uniform, phi
from vwta.geometry.quadrature import REACH, beyond, nodes, within
from vwta.geometry.spaces import Sphere, unit
from vwta.geometry.surfaces import PARALLEL, Edges, Lines

HALF_PI = math.pi / 2
BLURRED = 2.0**-36  # distance of atoms below which rounding, 1e-16, is no small part of it
RING = 30.0  # exp(-RING) is 1e-13: what moments have left beyond the outermost node along a ray


class UnitSphere:
    """The unit sphere as a :class:`Surface`; positions are unit vectors."""

    diameter, blurred = math.pi, math.inf

    def bisectors(self, normals: list[Tensor], others: Tensor, z: Tensor) -> list[Tensor]:
        middle = others + z[:, None]
        return list(_through(torch.stack(normals, -1), middle).unbind(-1))

    def bisector(self, normal: Tensor, apart: Tensor, z: Tensor) -> Tensor:
        return _through(normal, apart + 2 * z)

    def foot(self, z: Tensor, normal: Tensor, a: Tensor) -> Tensor:
        foot = z
        for _ in range(2):  # the second time mends the rounding of the first
            foot = foot - (foot * normal).sum(-1, keepdim=True) * normal
        norm = torch.linalg.vector_norm(foot, dim=-1, keepdim=True)
        any_foot = Sphere().frame(normal)[0]  # the atom is the line's pole: all points are as near
        return torch.where(norm > 1e-12, foot / norm.clamp_min(1e-300), any_foot)

    def cosine(self, foot: Tensor, z: Tensor) -> Tensor:
        return (foot * z).sum(-1).clamp_min(0)

    def heading(self, position: Tensor, normal: Tensor) -> Tensor:
        return unit(torch.linalg.cross(position, normal))

    def along(self, lines: Lines, position: Tensor, line: Tensor) -> Tensor:
        foot = lines.foot(line)
        tangent = self.heading(foot, lines.normal(line))
        return torch.atan2((position * tangent).sum(-1), (position * foot).sum(-1))

    def ahead(self, here: Tensor, there: Tensor) -> Tensor:
        return here + torch.remainder(there - here + 1e-9, 2 * math.pi) - 1e-9  # up to rounding

    def unwind(self, s1: Tensor, s2: Tensor) -> tuple[Tensor, Tensor]:
        shift = 2 * math.pi * torch.round((s1 + s2) / (4 * math.pi))
        return s1 - shift, s2 - shift

    def next_corner(
        self, lines: Lines, position: Tensor, line: Tensor, s1: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See :meth:`Surface.next_corner`; the next line has the largest `rate / slack`."""
        heading = self.heading(position, lines.normal(line))
        rate, slack = lines.approach(position, heading)
        slack.clamp_min_(0)
        # A rate of 0 means a quarter turn, unless the lines coincide.
        coincide = (rate.abs() <= PARALLEL) & (slack <= PARALLEL)
        key = (rate / slack.clamp_min(1e-300)).masked_fill_(coincide, -math.inf)
        key.scatter_(1, line[:, None], -math.inf)
        best, hit = key.max(1)
        found = best > -math.inf
        rate, slack = (x.gather(1, hit[:, None])[:, 0] for x in (rate, slack))
        t = torch.atan2(slack.abs(), rate)  # abs: no -0
        t = torch.where(found, t, torch.full_like(t, math.pi))
        position = unit(t.cos()[:, None] * position + t.sin()[:, None] * heading)
        return hit, s1 + t, position, found

    def tell_apart(self, lines: Lines) -> Lines:
        """All lines: nothing is far away."""
        return lines

    def influence(self, edges: Edges) -> Tensor:
        """See :meth:`Surface.influence`.

        A cell within an angle r < pi/2 of its atom is not cut by atoms at angles above 2 r, that
        is, at distances above 2 sin(r). Edges that go further are at the mercy of every atom.
        """
        s = torch.maximum(edges.s1.abs(), edges.s2.abs())
        w = _edge_spread(edges, s[:, None])[:, 0]
        square = (4 * w * (2 - w)).clamp_min(BLURRED**2)
        return square.masked_fill((w >= 1) | (s >= HALF_PI), math.inf)

    def depends_on_all(self, lines: Lines, within: Tensor) -> Tensor:
        return torch.zeros_like(within, dtype=torch.bool)

    def angle(self, a: Tensor, s1: Tensor, s2: Tensor) -> Tensor:
        cos = a**2 * s1.cos() * s2.cos() + s1.sin() * s2.sin()
        return torch.atan2((a * (s2 - s1).sin()).clamp_min(0), cos)

    def bearing(self, a: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return a * s.cos(), s.sin()

    def outward(self, edges: Edges, z: Tensor) -> Tensor:
        near = edges.normal + edges.a[:, None] * z
        far = edges.foot - edges.b[:, None] * z
        return unit(torch.where((edges.a < 0.7)[:, None], near, far))

    def distance(self, edges: Edges, s: Tensor, norm: Tensor) -> Tensor:
        return torch.atan2(norm, 1 - _edge_spread(edges, s))

    def move(self, z: Tensor, ray: Tensor, w: Tensor) -> Tensor:
        return Sphere().move(z, ray, w)

    def core(self, kappa: Tensor) -> Tensor:
        """See :meth:`Surface.core`; at most a quarter turn."""
        return (2 * torch.asin((REACH / 2 / kappa).sqrt().clamp_max(1.0))).clamp_max(HALF_PI)

    def felt_behind(self, kappa: Tensor) -> bool:
        return bool((kappa < REACH).any())  # beyond a quarter turn F is not 1 yet

    def sector_mass(self, edges: Edges, kernel: Kernel) -> Tensor:
        if isinstance(kernel, Uniform):
            return _sector_area(edges)
        a, s1, s2 = edges.a, edges.s1, edges.s2
        kappa = kernel.h.to(a) ** -2
        kappa_ = kappa[..., None]
        limit = self.core(kappa)
        outside = sum(self.angle(a, *part) for part in beyond(s1, s2, limit))
        s, weight = nodes(*within(s1, s2, limit))
        w = _edge_spread(edges, s)
        near = (phi(kappa_ * w) / (2 - w) * weight).sum(-1)
        if self.felt_behind(kappa):
            for part in beyond(s1, s2, limit):
                s, weight = nodes(*part)
                w = _edge_spread(edges, s)
                near -= (torch.exp(-kappa_ * w) * phi(kappa_ * (2 - w)) / w * weight).sum(-1)
        return (near * a / (2 * phi(2 * kappa)) + outside) / (2 * math.pi)

    def mass_by_atoms(
        self, edges: Edges, kernel: Kernel, z: Tensor, shared: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See :meth:`Surface.mass_by_atoms`; all edges are shared, the vectors are tangent."""
        kappa = torch.zeros_like(edges.a) if isinstance(kernel, Uniform) else kernel.h**-2
        limit = self.core(kappa)
        whole = 4 * HALF_PI  # a wide kernel matters all along the edge
        s, weight = nodes(*within(edges.s1, edges.s2, torch.where(limit < HALF_PI, limit, whole)))
        log_density = kernel.at(kernel.h[..., None]).log_density(_edge_spread(edges, s), 2)
        density = log_density.exp() * weight
        cos, sin = (density * s.cos()).sum(-1), (density * s.sin()).sum(-1)
        moment = edges.foot * cos[:, None] + edges.tangent * sin[:, None]
        other = -moment / (2 * edges.a).clamp_min(1e-300)[:, None]
        height = (z * moment).sum(-1, keepdim=True)
        own = -other - edges.normal * height - moment * edges.a[:, None]
        return own - (own * z).sum(-1, keepdim=True) * z, other

    def mass_by_bandwidth(self, edges: Edges, kernel: Kernel) -> Tensor:
        kappa = kernel.h**-2
        kappa_ = kappa[:, None]
        limit = self.core(kappa)
        slope = torch.zeros_like(kappa)
        parts = within(edges.s1, edges.s2, limit), *beyond(edges.s1, edges.s2, limit)
        for start, end in parts:
            s, weight = nodes(start, end)
            w = _edge_spread(edges, s)
            rate = w * log_phi_slope(kappa_ * w) - 2 * log_phi_slope(2 * kappa_)
            slope = slope + (rate * phi(kappa_ * w) / (2 - w) * weight).sum(-1)
        slope = slope * edges.a / (2 * phi(2 * kappa)) / (2 * math.pi)
        return slope * -2 * kernel.h**-3

    def envelope(self, kappa: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        w = (2 * phi(2 * kappa)).clamp_max(1.0)  # the spread at which the bound becomes 1
        bend = torch.acos(((1 - w) / b.clamp_min(1e-300)).clamp_max(1.0))
        return bend, a / (2 * phi(2 * kappa))

    def acceptance(
        self, kappa: Tensor, a: Tensor, b: Tensor, s: Tensor, p: Tensor, inner: Tensor
    ) -> tuple[Tensor, Tensor]:
        w = 2 * torch.sin(torch.atan2(a, b * p) / 2) ** 2
        share = phi(kappa * w)
        return w, torch.where(inner, share / (2 - w), w * share / (2 * phi(2 * kappa)))

    def ray_moments(
        self, ray: Tensor, inner: Tensor, outer: Tensor, weight: Tensor, kernel: Kernel, z: Tensor
    ) -> tuple[Tensor, Tensor]:
        w, sin, w2, both, sin2 = ((x * weight)[..., None] for x in _ring(kernel, inner, outer))
        z = z[:, None]
        first = (sin * ray - w * z).sum(1)
        return first, (w2 * z**2 - 2 * both * z * ray + sin2 * ray**2).sum(1)


class Pieces(NamedTuple):
    """Parts of edges, all within half a turn of the foot, on one side of it.

    Attributes:
        edge: which edge, `(P,)`.
        low: smallest angle from the foot, from 0 to pi, `(P,)`.
        high: largest angle.
        side: 1 if the coordinate of the edge grows with the angle, else -1: the sign of its sine.
    """

    edge: Tensor
    low: Tensor
    high: Tensor
    side: Tensor

    @classmethod
    def of(cls, s1: Tensor, s2: Tensor) -> Pieces:
        """Pieces of edges from `s1` to `s2` `(E,)`, at most 3/2 pi away from their feet."""
        pi = torch.full_like(s1, math.pi)
        zero, turn = torch.zeros_like(s1), 2 * pi
        low = [s1.clamp_min(0), -s2.clamp_max(0), turn - s2, turn + s1]
        high = [s2.minimum(pi), -s1.maximum(-pi), turn - s1.maximum(pi), turn + s2.minimum(-pi)]
        side = [zero + 1, zero - 1, zero - 1, zero + 1]
        starts, ends, sides = (torch.stack(part, 1) for part in (low, high, side))
        edge, which = torch.nonzero(ends > starts, as_tuple=True)
        return cls(edge, starts[edge, which], ends[edge, which], sides[edge, which])


def _through(normal: Tensor, middle: Tensor) -> Tensor:
    """Make a great circle pass exactly between its two atoms, whatever their norms' rounding."""
    size = (middle**2).sum(-1, keepdim=True).clamp_min(1.0)  # antipodes need no help
    return normal - (normal * middle).sum(-1, keepdim=True) / size * middle


def _edge_spread(edges: Edges, s: Tensor) -> Tensor:
    """Spread `w` of the points `s` `(E, n)` of the edges' lines, without cancellation."""
    a, b = edges.a[:, None], edges.b[:, None]
    return a**2 / (1 + b) + 2 * b * torch.sin(s / 2) ** 2


def _sector_area(edges: Edges) -> Tensor:
    r"""Areas `(E,)` of sectors, :math:`\int a / (1 + b \cos s) ds`, of edges up to a whole turn.

    The integral from the foot is :math:`2 \arctan(t \tan(s / 2))` with :math:`t = a / (1 + b)`. A
    difference of two of these is one angle, so that nothing cancels.
    """
    t = edges.a / (1 + edges.b)
    (sin1, cos1), (sin2, cos2) = (((s / 2).sin(), (s / 2).cos()) for s in (edges.s1, edges.s2))
    across = t * ((edges.s2 - edges.s1) / 2).sin().clamp_min(0)
    return 2 * torch.atan2(across, cos1 * cos2 + t**2 * sin1 * sin2)


def spread(a: Tensor, b: Tensor, r: Tensor) -> Tensor:
    """Spread `(P, n)` of points at angles `r` from the feet, without cancellation."""
    a, b = a[:, None], b[:, None]
    return (a**2 / (1 + b) + 2 * b * torch.sin(r / 2) ** 2).clamp_min(torch.finfo(a.dtype).tiny)


def log_phi_slope(x: Tensor) -> Tensor:
    """Derivative of `log(phi(x))`: `1 / (e^x - 1) - 1 / x`."""
    small = x < 1e-2
    safe = torch.where(small, torch.ones_like(x), x)
    return torch.where(small, -0.5 + x / 12 - x**3 / 720, 1 / torch.expm1(safe) - 1 / safe)


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
