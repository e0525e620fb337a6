r"""Von Mises-Fisher laws about any centre, cut to polygons of the sphere: exact masses and moments.

Around the centre :math:`c`, which may lie outside the polygon, its mass is a sum over *signed*
wedges between the centre and the edges. An edge lies on a great circle whose distance from c has
the sine :math:`a`, negative if c lies beyond, and the cosine :math:`b`. With the angle :math:`r`
from the foot of c, the spread is :math:`w = 1 - b \cos r`, and

.. math:: V = \frac{1}{2 \pi} \sum_e \int F(w) \frac{a}{w (2 - w)} dr \; (+ 1 \text{ if } -c
    \text{ lies in the polygon}), \qquad F(w) = \frac{1 - e^{-\kappa w}}{1 - e^{-2 \kappa}}

where :math:`F / w` is entire. If c lies outside, the angles cancel, and F can be replaced by
:math:`F - 1`, out of which :math:`e^{-\kappa w_0}` is taken, with the spread :math:`w_0` of the
nearest point: the mass has its digits however far away. Polygons outside over which the density
hardly varies are integrated in sectors about the atom, in which terms are positive. Moments across
the centre are flows through the edges. With :math:`Y_e = \int_e f y \, ds`,

.. math:: \kappa E[y] \times c = \frac{1}{V} \sum_e Y_e \times n_e, \qquad \kappa E[y_u (y \times
    c)] = \frac{1}{V} \sum_e \int_e f y_u (y \times n_e) ds - E[y] \times u,

since turns of the sphere keep areas, and along it :math:`E[w] = E_0[w] - \partial_\kappa \log V`
with the mean :math:`E_0` over the whole sphere.
"""

from __future__ import annotations

__all__ = ["Arcs", "Cut", "cut", "edge_flows", "moments"]

import math
from typing import NamedTuple

import torch
from torch import Tensor

from vwta.geometry.flat_cells import flat_integrals
from vwta.geometry.kernels import phi
from vwta.geometry.quadrature import nodes
from vwta.geometry.spaces import Sphere, unit
from vwta.geometry.sphere import Pieces, log_phi_slope, spread
from vwta.geometry.surfaces import Edges

REACH = 36.0  # exp(-REACH) is 2e-16: what quadrature leaves out
OUTSIDE = 1.125  # kappa w of the nearest point, from which on angles are left out: 1.5 bandwidths
FLAT = 0.5  # a log-density that varies by less is integrated about the atom
NUDGE = 1e-8  # angle: as far from the border as from the centre that was asked for
THIN = 1e-9  # part of its signed wedges below which a polygon's mass would be their rounding
QUARTER = math.pi / 2


class Arcs(NamedTuple):
    """Edges of `C` cells on the sphere, seen from the centres of their kernels.

    Attributes:
        edges: the edges, relative to the atoms.
        z: the atoms, `(C, 3)`.
        centre: the centres, `(C, 3)`.
        kappa: concentrations of the kernels, `(C,)`.
        a: sines of the distances of the lines from the centres; negative if these lie beyond them,
            `(E,)`.
        b: the cosines, `(E,)`.
        foot: points of the lines that are nearest to the centres, `(E, 3)`.
        tangent: directions of the lines there, `(E, 3)`.
        s1: where the edges start on their lines, from these feet, `(E,)`.
        s2: where they end.
    """

    edges: Edges
    z: Tensor
    centre: Tensor
    kappa: Tensor
    a: Tensor
    b: Tensor
    foot: Tensor
    tangent: Tensor
    s1: Tensor
    s2: Tensor

    @classmethod
    def seen(cls, edges: Edges, z: Tensor, centre: Tensor, kappa: Tensor) -> Arcs:
        """Edges of cells about atoms `z` `(C, 3)` as seen from other points.

        If the antipode of a centre lies on the border, rounding would decide whether it lies
        inside: such a centre is moved by :data:`NUDGE` towards the atom.
        """
        normal, cell = edges.normal, edges.cell
        a = edges.a + (normal * (z - centre)[cell]).sum(-1)
        most = kappa.new_full(kappa.shape, -1.0).scatter_reduce(0, cell, a, "amax")
        moved = unit(centre + NUDGE * z)
        centre = torch.where((most.abs() < NUDGE)[:, None], moved, centre)
        a = edges.a + (normal * (z - centre)[cell]).sum(-1)
        c = centre[cell]
        across = c + a[:, None] * normal
        across = across - (across * normal).sum(-1, keepdim=True) * normal
        b = torch.linalg.vector_norm(across, dim=-1)
        pole = b < 1e-12  # all points of the line are as near
        foot = torch.where(pole[:, None], Sphere().frame(normal)[0], unit(across))
        tangent = torch.linalg.cross(foot, normal)
        turn = torch.atan2((foot * edges.tangent).sum(-1), (foot * edges.foot).sum(-1))
        s1, s2 = edges.surface.unwind(edges.s1 - turn, edges.s2 - turn)
        return cls(edges, z, centre, kappa, a, b, foot, tangent, s1, s2)

    def total(self, values: Tensor) -> Tensor:
        """Sums over the edges of each cell, `(C, *)`, of values `(E, *)`."""
        zero = values.new_zeros(len(self.z), *values.shape[1:])
        return zero.index_add_(0, self.edges.cell, values)

    def extreme(self, values: Tensor, least: bool) -> Tensor:
        """Least or greatest of the values `(E,)` of each cell, `(C,)`; infinite without edges."""
        start = values.new_full((len(self.z),), math.inf if least else -math.inf)
        return start.scatter_reduce(0, self.edges.cell, values, "amin" if least else "amax")


class Cut(NamedTuple):
    """Masses `V = exp(log_rest - exponent)` of kernels cut to cells, `(C,)` each.

    Attributes:
        exponent: what was taken out.
        log_rest: the rest.
        slope: derivative of `log V` by the concentration; 0 if it was not asked for.
        varies: how much the log-density varies over the cell, at most.
    """

    exponent: Tensor
    log_rest: Tensor
    slope: Tensor
    varies: Tensor

    @property
    def log_mass(self) -> Tensor:
        return self.log_rest - self.exponent


def cut(arcs: Arcs, sloped: bool = False) -> Cut:
    """Masses of kernels in cells with edges, each in the form that keeps its digits.

    Arguments:
        arcs: edges of the cells.
        sloped: whether derivatives by the concentrations are wanted as well.
    """
    kappa, cell = arcs.kappa, arcs.edges.cell
    outside = arcs.extreme(arcs.a, least=True) < 0
    opposite = arcs.extreme(arcs.a, least=False) < 0  # the polygon has the centre's antipode
    nearest = arcs.extreme(_nearest_spread(arcs), least=True)
    varies = _variation(arcs)
    far = outside & (kappa * nearest > OUTSIDE)
    flat = outside & (varies < FLAT)
    exponent = torch.where(far & ~flat, kappa * nearest, 0.0)
    wedge, slope = torch.zeros_like(arcs.a), torch.zeros_like(arcs.a)
    pieces = Pieces.of(arcs.s1, arcs.s2)
    for form, chosen in ((_near_wedges, ~far & ~flat), (_far_wedges, far & ~flat)):
        index = torch.nonzero(chosen[cell[pieces.edge]])[:, 0]
        some = Pieces(*(x[index] for x in pieces))
        if len(some.edge):
            mass, by_kappa = form(arcs, some, nearest, sloped)
            wedge.index_add_(0, some.edge, mass)
            slope.index_add_(0, some.edge, by_kappa)
    rest = arcs.total(wedge) + (opposite & ~far & ~flat)
    flat = flat | (outside & (rest <= THIN * arcs.total(wedge.abs())))
    log_rest, slopes = rest.log(), arcs.total(slope) / rest
    if flat.any():
        mass, step, _ = flat_integrals(arcs.edges, arcs.z, arcs.centre, kappa, flat, 1)
        apart = ((arcs.centre - arcs.z) ** 2).sum(-1) / 2
        exponent = torch.where(flat, kappa * apart, exponent)
        log_scale = -math.log(4 * math.pi) - phi(2 * kappa).log()
        log_rest = torch.where(flat, mass.log() + log_scale, log_rest)
        mean = apart - (arcs.centre * step).sum(-1) / torch.where(flat, mass, 1.0)
        slopes = torch.where(flat, mean_spread(kappa) - mean, slopes)
    return Cut(exponent, log_rest, slopes, varies)


def mean_spread(kappa: Tensor) -> Tensor:
    r"""Mean of w over the whole sphere, :math:`1 / \kappa - 2 / (e^{2 \kappa} - 1)`."""
    return -2 * log_phi_slope(2 * kappa)


def edge_flows(arcs: Arcs, log_mass: Tensor) -> tuple[Tensor, Tensor]:
    r"""Integrals along edges of `f y` and `f y y^T`, by the mass of their cells.

    They are `(E, 3)` and `(E, 3, 3)`.
    """
    pieces = Pieces.of(arcs.s1, arcs.s2)
    edge, b = pieces.edge, arcs.b[pieces.edge]
    kappa = arcs.kappa[arcs.edges.cell[edge]]
    square = torch.sin(pieces.low / 2) ** 2 + REACH / (2 * kappa * b.clamp_min(1e-300))
    r, weight = nodes(pieces.low, pieces.high.minimum(_angle_of(square)))
    scale = log_mass[arcs.edges.cell[edge]] + math.log(4 * math.pi) + phi(2 * kappa).log()
    density = torch.exp(-kappa[:, None] * spread(arcs.a[edge], b, r) - scale[:, None]) * weight
    cos, sin = r.cos(), pieces.side[:, None] * r.sin()
    parts = [cos, sin, cos**2, cos * sin, sin**2]
    sums = torch.stack([(density * part).sum(-1) for part in parts], -1)
    c, s, cc, cs, ss = sums.new_zeros(len(arcs.a), 5).index_add_(0, edge, sums).unbind(-1)
    f, t = arcs.foot, arcs.tangent
    first = f * c[:, None] + t * s[:, None]
    mixed = _outer(f, t) + _outer(t, f)
    second = _outer(f, f) * cc[:, None, None] + _outer(t, t) * ss[:, None, None]
    return first, second + mixed * cs[:, None, None]


def moments(arcs: Arcs) -> tuple[Tensor, Tensor]:
    """Means over cells of `y - z` and of its squares, `(C, 3)` each, under the cut kernels."""
    found = cut(arcs, sloped=True)
    c, z, kappa = arcs.centre, arcs.z, arcs.kappa[:, None]
    across, second = (_turned(arcs, flow) for flow in edge_flows(arcs, found.log_mass))
    across = torch.linalg.cross(c, across) / kappa
    mean = across + (1 - mean_spread(arcs.kappa) + found.slope)[:, None] * c
    eye = torch.eye(3, dtype=c.dtype, device=c.device).expand(len(c), 3, 3)
    second = second - torch.linalg.cross(mean[:, None].expand(-1, 3, -1), eye, dim=-1)
    mixed = torch.linalg.cross(c[:, None].expand(-1, 3, -1), second, dim=-1) / kappa[..., None]
    along = (c[:, :, None] * mixed).sum(1)  # E[t y] across c, with t = c y
    plane = mixed - _outer(c, along)  # E[y y^T] across c
    rest = 1 - plane.diagonal(dim1=-2, dim2=-1).sum(-1)  # E[t^2]
    whole = plane + _outer(c, along) + _outer(along, c) + _outer(c, c) * rest[:, None, None]
    first = mean - z
    square = whole.diagonal(dim1=-2, dim2=-1) - 2 * z * mean + z**2
    flat = found.varies < FLAT
    if flat.any():
        mass, step, squares = flat_integrals(arcs.edges, z, c, arcs.kappa, flat, 2)
        mass = torch.where(flat, mass, 1.0)[:, None]
        first = torch.where(flat[:, None], step / mass, first)
        square = torch.where(flat[:, None], squares / mass, square)
    return first, square


def _turned(arcs: Arcs, flow: Tensor) -> Tensor:
    """Sums over edges of `y x n`, from integrals of `y` `(E, 3)` or `y y^T` `(E, 3, 3)`."""
    normal = arcs.edges.normal if flow.dim() == 2 else arcs.edges.normal[:, None].expand_as(flow)
    return arcs.total(torch.linalg.cross(flow, normal, dim=-1))


def _near_wedges(arcs: Arcs, of: Pieces, nearest: Tensor, sloped: bool) -> tuple[Tensor, Tensor]:
    """Signed masses of wedges `(P,)` for centres in the polygon or near it, and their slopes."""
    a, b, kappa = arcs.a[of.edge], arcs.b[of.edge], arcs.kappa[arcs.edges.cell[of.edge]]
    square = (REACH / kappa - a**2 / (1 + b)) / (2 * b.clamp_min(1e-300))
    core = _angle_of(square).clamp_max(QUARTER)
    k, whole = kappa[:, None], 2 * phi(2 * kappa)
    start, middle = of.low.minimum(core), of.high.minimum(core)
    r, weight = nodes(start, middle)
    w = spread(a, b, r)
    term = phi(k * w) / (2 - w) * weight
    mass, slope = term.sum(-1) * a / whole, torch.zeros_like(a)
    if sloped:
        rate = w * log_phi_slope(k * w) - 2 * log_phi_slope(2 * k)
        slope = (term * rate).sum(-1) * a / whole
    first, last = of.low.maximum(core), of.high.maximum(core)
    mass = mass + _angle(a, first, last)
    felt = torch.nonzero((kappa <= REACH) & (last > first))[:, 0]
    if len(felt):
        zero = torch.zeros_like(a[felt])
        behind = _behind(a[felt], b[felt], kappa[felt], first[felt], last[felt], zero, sloped)
        mass, slope = mass.index_add(0, felt, behind[0]), slope.index_add(0, felt, behind[1])
    return mass / (2 * math.pi), slope / (2 * math.pi)


def _far_wedges(arcs: Arcs, of: Pieces, nearest: Tensor, sloped: bool) -> tuple[Tensor, Tensor]:
    """The same without angles, by `exp(-kappa w_0)`, for centres outside the polygon."""
    cell = arcs.edges.cell[of.edge]
    a, b, kappa, w0 = arcs.a[of.edge], arcs.b[of.edge], arcs.kappa[cell], nearest[cell]
    square = (w0 + REACH / kappa - a**2 / (1 + b)) / (2 * b.clamp_min(1e-300))
    limit = _angle_of(square)
    start, end = of.low.minimum(limit), of.high.minimum(limit)
    mass, slope = _behind(a, b, kappa, start, end, w0, sloped)
    return mass / (2 * math.pi), slope / (2 * math.pi)


def _behind(
    a: Tensor, b: Tensor, kappa: Tensor, start: Tensor, end: Tensor, w0: Tensor, sloped: bool
) -> tuple[Tensor, Tensor]:
    """Minus the mass behind edges, by `exp(-kappa w_0)`, and its derivative by `kappa`."""
    k, whole = kappa[:, None], 2 * phi(2 * kappa)
    r, weight = nodes(start, end)
    w = spread(a, b, r)
    term = torch.exp(-k * (w - w0[:, None]).clamp_min(0)) * phi(k * (2 - w)) / w * weight
    scale = -a / whole
    mass = term.sum(-1) * scale
    if not sloped:
        return mass, torch.zeros_like(mass)
    rate = (2 - w) * log_phi_slope(k * (2 - w)) - w - 2 * log_phi_slope(2 * k)
    return mass, (term * rate).sum(-1) * scale


def _angle(a: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Signed angle at the centre between points at a quarter turn and more from the foot."""
    sin1, sin2 = (math.pi - low).sin(), (math.pi - high).sin()  # 0 at half a turn
    return torch.atan2(a * (high - low).sin(), a**2 * low.cos() * high.cos() + sin1 * sin2)


def _angle_of(square: Tensor) -> Tensor:
    """Angle of which half has a sine with this square."""
    return 2 * torch.asin(square.clamp(0, 1).sqrt())


def _nearest_spread(arcs: Arcs) -> Tensor:
    """Spread of the point of each edge that is nearest to the centre, `(E,)`."""
    wrapped = [torch.remainder(s + math.pi, 2 * math.pi) - math.pi for s in (arcs.s1, arcs.s2)]
    ends = torch.minimum(wrapped[0].abs(), wrapped[1].abs())
    r = torch.where((arcs.s1 <= 0) & (arcs.s2 >= 0), 0.0, ends)
    return spread(arcs.a, arcs.b, r[:, None])[:, 0]


def _variation(arcs: Arcs) -> Tensor:
    """Bound of what the log-density of each cell varies from its value at the atom, `(C,)`."""
    edges, pi = arcs.edges, math.pi
    over = (edges.s2 >= pi) | (edges.s1 <= -pi)
    r = torch.where(over, pi, torch.maximum(edges.s1.abs(), edges.s2.abs()).clamp_max(pi))
    w = arcs.extreme(spread(edges.a, edges.b, r[:, None])[:, 0], least=False).clamp(0, 2)
    sin = torch.where(w > 1, 1.0, (w * (2 - w)).sqrt())
    along = (arcs.centre * arcs.z).sum(-1).abs()
    across: Tensor = torch.linalg.vector_norm(torch.linalg.cross(arcs.centre, arcs.z), dim=-1)
    return arcs.kappa * (w * along + sin * across)


def _outer(x: Tensor, y: Tensor) -> Tensor:
    return x[:, :, None] * y[:, None]
