r"""Gaussians about any centre, cut to polygons of the plane: exact masses, moments and samples.

A Gaussian :math:`N(c, L L^T)` becomes the standard one by :math:`u = L^{-1} (y - c)`, and a polygon
becomes another polygon. Around the origin, which may lie outside the polygon, its mass is a sum
over *signed* sectors: the edge of a line at distance :math:`a`, negative if the origin lies beyond,
with ends :math:`s_1, s_2` along it has

.. math:: T = \frac{1}{2 \pi} \int_{s_1}^{s_2} (1 - e^{-(a^2 + s^2) / 2}) \frac{a}{a^2 + s^2} ds

Seen from outside, the angles cancel. For an origin at distance :math:`d` from the polygon the
factor :math:`e^{-d^2 / 2}` is taken out of what is left: the mass has its digits however far away.
Polygons over which the density hardly varies are integrated in sectors about the atom, in which all
terms are positive. Moments are flows through the edges,

.. math:: E[u] = -\frac{1}{V} \sum_e n M_0, \quad E[u u^T] = 1 - \frac{1}{V} \sum_e n (a n M_0 +
    \tau M_1)^T, \qquad M_i = \int_{s_1}^{s_2} s^i \varphi_2 ds,

and so are the gradients of :math:`\log V`.
"""

from __future__ import annotations

__all__ = ["Means", "Sides", "log_masses", "means", "whiten"]

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from torch import Tensor

from vwta.geometry.intervals import log_mass_parts
from vwta.geometry.quadrature import NODES, beyond, nodes, rule, within
from vwta.geometry.surfaces import Edges

REACH = 36.0  # exp(-REACH) is 2e-16: what quadrature leaves out
OUTSIDE = 1.5  # distance of the origin from which on angles are left out
FLAT = 0.5  # a log-density that varies by less is integrated about the atom
FEW = 7  # nodes with which its log-mass has an error below 1e-11
THIN = 1e-9  # part of its signed sectors below which a polygon's mass would be their rounding
WORK = 2**11  # edges worked on at once: their nodes fit into the cache


@dataclass
class Sides:
    """Edges of `C` cells in units of their kernels, where these are standard Gaussians around 0.

    Attributes:
        cell: number of the cell, ascending, `(E,)`.
        a: distance of the line from the atom, `(E,)`.
        s1: where the edge starts on its line, from the foot of the atom, `(E,)`.
        s2: where it ends.
        normal: unit normals away from the atom, `(E, 2)`.
        squeeze: lengths across the line in the plane by those here, `(E,)`.
        stretch: lengths along the line here by those in the plane, `(E,)`.
        skew: coordinate here of the foot that the atom has in the plane, `(E,)`.
        atom: where the atoms lie, `(C, 2)`.
    """

    cell: Tensor
    a: Tensor
    s1: Tensor
    s2: Tensor
    normal: Tensor
    squeeze: Tensor
    stretch: Tensor
    skew: Tensor
    atom: Tensor

    def __getitem__(self, index: Tensor | slice) -> Sides:
        """Some of the edges, of the same cells."""
        some = {field.name: getattr(self, field.name)[index] for field in fields(self)[:-1]}
        return Sides(**some, atom=self.atom)

    @property
    def tangent(self) -> Tensor:
        """Directions of the lines, a quarter turn left of their normals, `(E, 2)`."""
        return torch.stack([-self.normal[:, 1], self.normal[:, 0]], -1)

    def about_origin(self) -> tuple[Tensor, Tensor, Tensor]:
        """Distance of the lines from the origin, with its sign, and the ends along them."""
        atom = self.atom[self.cell]
        along = (self.tangent * atom).sum(-1)
        return self.a + (self.normal * atom).sum(-1), self.s1 + along, self.s2 + along

    def total(self, values: Tensor) -> Tensor:
        """Sums over the edges of each cell, `(C, *)`, of values `(E, *)`."""
        return values.new_zeros(len(self.atom), *values.shape[1:]).index_add_(0, self.cell, values)


class _Mass(NamedTuple):
    """Masses `V = exp(log_rest - exponent)` of cells, and which are flat, `(C,)` each.

    `step` `(C, 2)` and `square` `(C, 2, 2)` are means of steps from the atom and of their products
    over the cells that are flat; None if there is none.
    """

    exponent: Tensor
    log_rest: Tensor
    flat: Tensor
    step: Tensor | None
    square: Tensor | None


class Means(NamedTuple):
    """Means over cells of `u` and `u u^T` for the gradients, and about the atom for moments.

    `origin` is `(C, 2)`, `origin_square` `(C, 2, 2)`, and likewise `atom` and `atom_square`.
    """

    origin: Tensor
    origin_square: Tensor
    atom: Tensor
    atom_square: Tensor


def whiten(edges: Edges, centre: Tensor, root: Tensor) -> Sides:
    r"""Edges of cells in units of kernels :math:`N(z + \delta, L L^T)`.

    Arguments:
        edges: edges of `C` cells in the plane, relative to their atoms.
        centre: centres :math:`\delta` relative to the atoms, `(C, 2)`.
        root: roots `L` of covariances, with positive determinants, `(C, 2, 2)`; or standard
            deviations `(C,)`.
    """
    cell = edges.cell
    if root.dim() == 1:
        h = root[cell]
        a, s1, s2 = edges.a / h, edges.s1 / h, edges.s2 / h
        atom = -centre / root[:, None]
        return Sides(cell, a, s1, s2, edges.normal, h, 1 / h, torch.zeros_like(a), atom)
    inverse = torch.linalg.inv(root)
    normal = torch.einsum("eij,ei->ej", root[cell], edges.normal)
    squeeze = torch.linalg.vector_norm(normal, dim=-1)
    normal = normal / squeeze[:, None]
    along = torch.stack([-normal[:, 1], normal[:, 0]], -1)
    stretch = torch.einsum("ei,eij,ej->e", along, inverse[cell], edges.tangent)
    skew = torch.einsum("ei,eij,ej->e", along, inverse[cell], edges.foot)
    s1, s2 = skew + edges.s1 * stretch, skew + edges.s2 * stretch
    atom = -torch.einsum("cij,cj->ci", inverse, centre)
    return Sides(cell, edges.a / squeeze, s1, s2, normal, squeeze, stretch, skew, atom)


def log_masses(sides: Sides) -> Tensor:
    """Log of the mass of the standard Gaussian in every cell, `(C,)`; -inf without edges."""
    mass = _mass(sides)
    return mass.log_rest - mass.exponent


def means(sides: Sides) -> tuple[Tensor, Means, Tensor, Tensor]:
    """Log-masses, means over the cells, and flows through edges by the mass of their cells.

    The flows are `M_0 / V` and `M_1 / V`, `(E,)` each, with coordinates from the atom's foot.
    """
    mass = _mass(sides)
    a, s1, s2 = sides.about_origin()
    m0, m1 = _flows(a, s1, s2, mass.exponent[sides.cell], mass.log_rest[sides.cell])
    first = -sides.total(sides.normal * m0[:, None])
    point = (a * m0)[:, None] * sides.normal + m1[:, None] * sides.tangent
    one = torch.eye(2, dtype=a.dtype, device=a.device)
    second = one - sides.total(sides.normal[:, :, None] * point[:, None])
    second = (second + second.mT) / 2
    o = sides.atom
    step = first - o
    square = second - _outer(o, step) - _outer(step, o) - _outer(o, o)
    if mass.step is not None and mass.square is not None:
        some, some2 = mass.flat[:, None], mass.flat[:, None, None]
        step, square = torch.where(some, mass.step, step), torch.where(some2, mass.square, square)
        both = square + _outer(o, step) + _outer(step, o) + _outer(o, o)
        first, second = torch.where(some, step + o, first), torch.where(some2, both, second)
    along = (sides.tangent * o[sides.cell]).sum(-1)
    log_mass = mass.log_rest - mass.exponent
    return log_mass, Means(first, second, step, square), m0, m1 - along * m0


def _mass(sides: Sides) -> _Mass:
    """Masses of cells, each in the form that keeps its digits."""
    a, s1, s2 = sides.about_origin()
    count, cell, o = len(sides.atom), sides.cell, sides.atom
    none = a.new_full((count,), math.inf)
    square = a**2 + torch.minimum(torch.maximum(s1, torch.zeros_like(a)), s2) ** 2
    nearest = none.scatter_reduce(0, cell, square, "amin")
    outside = none.scatter_reduce(0, cell, a, "amin") < 0
    ends = torch.maximum(sides.s1.abs(), sides.s2.abs())
    radius = (-none).scatter_reduce(0, cell, torch.hypot(sides.a, ends), "amax")
    flat = radius * (torch.linalg.vector_norm(o, dim=-1) + radius / 2) < FLAT
    far = outside & (nearest > OUTSIDE**2)
    exponent = torch.where(far, nearest / 2, 0.0)
    sector = torch.zeros_like(a)
    for form, chosen in ((_near_sector, ~far & ~flat), (_far_sector, far & ~flat)):
        i = torch.nonzero(chosen[cell])[:, 0]
        sector[i] = form(a[i], s1[i], s2[i], exponent[cell[i]])
    rest = sides.total(sector)
    thin = ~flat & outside & (rest <= THIN * sides.total(sector.abs()))
    either = flat | thin
    if not either.any():
        return _Mass(exponent, rest.log(), either, None, None)
    exponent = torch.where(flat, (o**2).sum(-1) / 2, torch.where(thin, nearest / 2, exponent))
    parts = [_about_atoms(sides, flat, exponent, FEW), _about_atoms(sides, thin, exponent, NODES)]
    total, step, square = (one + other for one, other in zip(*parts, strict=True))
    rest = torch.where(either, total, rest)
    total = torch.where(either, total, 1.0)
    step, square = step / total[:, None], square / total[:, None, None]
    return _Mass(exponent, rest.log(), either, step, square)


def _near_sector(a: Tensor, s1: Tensor, s2: Tensor, exponent: Tensor) -> Tensor:
    """Signed masses of sectors, `(E,)`, for an origin in the polygon or near it."""
    limit = torch.full_like(a, math.sqrt(2 * REACH))
    total = torch.stack([_angle(a, *part) for part in beyond(s1, s2, limit)]).sum(0)
    for edge, half, x, weight in _halves(a, s1, s2, limit):
        x.add_(torch.finfo(a.dtype).tiny)
        ratio = torch.neg(x).expm1_().div_(x)
        total.index_add_(0, edge, torch.mv(ratio, weight) * half * (-a[edge] / 2))
    return total / (2 * math.pi)


def _far_sector(a: Tensor, s1: Tensor, s2: Tensor, exponent: Tensor) -> Tensor:
    """The same without angles, by `exp(-exponent)`, for an origin outside the polygon."""
    limit = (2 * (exponent + REACH) - a**2).clamp_min(0).sqrt()
    total = torch.zeros_like(a)
    for edge, half, x, weight in _halves(a, s1, s2, limit):
        density = torch.sub(exponent[edge, None], x).clamp_max_(0).exp_().div_(x)
        total.index_add_(0, edge, torch.mv(density, weight) * half * (-a[edge] / 2))
    return total / (2 * math.pi)


def _halves(
    a: Tensor, s1: Tensor, s2: Tensor, limit: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Quadrature on edges on either side of the foot, as far as the kernel is felt, in parts.

    Each part has `H` such halves, and is small enough for the cache.

    Returns:
        The edge of each half and half its length, `(H,)`; half the squared distance of its nodes
        from the origin, `(H, n)`, which may be changed; and the weights `(n,)` of nodes.
    """
    low, high = within(s1, s2, limit)
    start = torch.cat([low.clamp_max(0), low.clamp_min(0)])
    end = torch.cat([high.clamp_max(0), high.clamp_min(0)])
    node, weight = rule(a.dtype, a.device)
    some = torch.nonzero(end > start)[:, 0]
    for i in some.split(WORK):
        edge, half = i % len(a), (end[i] - start[i]) / 2
        x = torch.addcmul((start[i] + half)[:, None], half[:, None], node)
        yield edge, half, x.square_().add_(a[edge, None] ** 2).div_(2), weight


def _angle(a: Tensor, s1: Tensor, s2: Tensor) -> Tensor:
    """Angle at the origin between two points of a line on the same side of the foot, signed."""
    return torch.atan2(a * (s2 - s1), a**2 + s1 * s2)


def _flows(
    a: Tensor, s1: Tensor, s2: Tensor, exponent: Tensor, log_rest: Tensor
) -> tuple[Tensor, Tensor]:
    """Integrals of the density and of `s` times it along edges, by the mass of their cells."""
    near, rest = log_mass_parts(s1, s2, s2 - s1)
    scale = exponent - a**2 / 2 - log_rest
    m0 = torch.exp(scale - near.clamp_min(0) ** 2 / 2 + rest - math.log(2 * math.pi) / 2)
    ends = (s2 - s1) * (s2 + s1) / 2
    nearer = torch.minimum(s1**2, s2**2)
    m1 = -torch.exp(scale - nearer / 2) * torch.expm1(-ends.abs()) * ends.sign()
    return m0, m1 / (2 * math.pi)


def _about_atoms(sides: Sides, some: Tensor, exponent: Tensor, count: int) -> list[Tensor]:
    r"""Integrals over some cells of the density, of steps from the atom and of their products.

    They are `(C,)`, `(C, 2)` and `(C, 2, 2)`, all divided by `exp(-exponent)`; 0 for other cells.
    The step :math:`\rho (a n + s \tau)` has the area :math:`a \rho \, d\rho \, ds`.

    Arguments:
        sides: edges of the cells.
        some: which cells are meant, `(C,)`.
        exponent: `(C,)`.
        count: number of nodes along each edge and from the atom to it.
    """
    index = torch.nonzero(some[sides.cell])[:, 0]
    x, weight = rule(sides.a.dtype, sides.a.device, count)
    rho = (x + 1) / 2
    powers = torch.stack([weight / 2 * rho**i for i in (1, 2, 3)], -1)
    base = exponent - (sides.atom**2).sum(-1) / 2
    cells = len(sides.atom)
    sums = [base.new_zeros(cells, *shape) for shape in ((), (2,), (2, 2))]
    for i in index.split(WORK):
        part = sides[i]
        a, n, tau, o = part.a, part.normal, part.tangent, part.atom[part.cell]
        s, ds = nodes(part.s1, part.s2, count)
        slope = torch.addcmul((a * (n * o).sum(-1))[:, None], s, (tau * o).sum(-1)[:, None])
        fall = ((a**2)[:, None] + s**2)[..., None] * (rho / 2)
        fall.add_(slope[..., None]).mul_(rho)
        density = torch.sub(base[part.cell][:, None, None], fall).exp_()
        ds = ds * (a / (2 * math.pi))[:, None]
        along = torch.stack([ds, ds * s, ds * s**2], 1)
        found = torch.bmm(along, torch.matmul(density, powers))  # of s^i rho^(j+1): (E, i, j)
        step = (a * found[:, 0, 1])[:, None] * n + found[:, 1, 1, None] * tau
        mixed = (a * found[:, 1, 2])[:, None, None] * _outer(n, tau)
        square = (a**2 * found[:, 0, 2])[:, None, None] * _outer(n, n) + mixed + mixed.mT
        square += found[:, 2, 2, None, None] * _outer(tau, tau)
        for total, value in zip(sums, (found[:, 0, 0], step, square), strict=True):
            total.index_add_(0, part.cell, value)
    return sums


def _outer(x: Tensor, y: Tensor) -> Tensor:
    return x[:, :, None] * y[:, None]
