r"""Formulae of the plane: straight lines, and Gaussian or uniform kernels between them and atoms.

With :math:`M_i = \int s^i K_h ds` on an edge towards atom :math:`j`, the mass :math:`V` of a cell
has :math:`\partial V / \partial z_j = n M_0 / 2 - \tau M_1 / 2a`, the cell's own atom gets the
opposite, and :math:`\partial V / \partial h = -\sum_e a M_0 / h`.
"""

from __future__ import annotations

__all__ = ["Plane"]

import math
from dataclasses import replace

import torch
from torch import Tensor

from vwta.geometry.kernels import Kernel, Uniform, phi
from vwta.geometry.quadrature import REACH, beyond, rule, within
from vwta.geometry.surfaces import FAR, PARALLEL, Edges, Lines

BLURRED = 1e5  # times the distance of the nearest neighbour: from here on rounding can matter
LOST = 1e9  # times a line's own distance: from here on others cannot be told from it
NEARLY = 1e-6  # angle between nearly parallel lines


class Plane:
    """The plane as a :class:`Surface`; positions are relative to the atom."""

    diameter, blurred = math.inf, BLURRED

    def bisectors(self, normals: list[Tensor], others: Tensor, z: Tensor) -> list[Tensor]:
        return normals

    def bisector(self, normal: Tensor, apart: Tensor, z: Tensor) -> Tensor:
        return normal

    def foot(self, z: Tensor, normal: Tensor, a: Tensor) -> Tensor:
        return a[:, None] * normal

    def cosine(self, foot: Tensor, z: Tensor) -> Tensor:
        return torch.ones_like(foot[:, 0])

    def heading(self, position: Tensor, normal: Tensor) -> Tensor:
        return torch.stack([-normal[:, 1], normal[:, 0]], -1)

    def along(self, lines: Lines, position: Tensor, line: Tensor) -> Tensor:
        return (position * self.heading(position, lines.normal(line))).sum(-1)

    def ahead(self, here: Tensor, there: Tensor) -> Tensor:
        return there

    def unwind(self, s1: Tensor, s2: Tensor) -> tuple[Tensor, Tensor]:
        return s1, s2

    def next_corner(
        self, lines: Lines, position: Tensor, line: Tensor, s1: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See :meth:`Surface.next_corner`.

        Seen from the foot on `line`, of the lines that come nearer the next one has the least
        `slack / rate`. It depends on no corner before, so that rounding in corners far away is not
        carried on.
        """
        normal, distance = lines.normal(line), lines.distance(line)
        heading, foot = self.heading(position, normal), self.foot(lines.atom, normal, distance)
        rate, slack = lines.approach(foot, heading)
        ahead = slack.add_(lines.near).div_(rate).masked_fill_(rate <= PARALLEL, math.inf)
        s2, hit = ahead.min(1)
        far = torch.nonzero(distance >= (BLURRED * lines.least).clamp_max_(FAR))[:, 0]
        if len(far):
            hit[far] = self._nearest_parallel(lines.keep(far), hit[far], ahead[far])
            s2 = ahead.gather(1, hit[:, None])[:, 0]
        s2 = torch.maximum(s2, s1)  # whatever the rounding
        return hit, s2, torch.addcmul(foot, s2[:, None], heading), torch.ones_like(hit).bool()

    def tell_apart(self, lines: Lines) -> Lines:
        """See :meth:`Surface.tell_apart`.

        Of lines that face the same way the nearest one is kept, with those that meet it before
        rounding has blurred both.
        """
        sides = lines.near.masked_fill(lines.near.isinf(), 0.0).amax(1)
        far = torch.nonzero(sides >= BLURRED * lines.least)[:, 0]
        if not len(far):
            return lines
        part = lines.keep(far)
        hidden = _hidden(part.normals[0], part.normals[1], part.near)
        if not hidden.any():
            return lines
        near, normals = lines.near.clone(), [n.clone() for n in lines.normals]
        near[far] = part.near.masked_fill(hidden, math.inf)
        for n in normals:
            n[far] = n[far].masked_fill_(hidden, 0.0)
        return replace(lines, near=near, normals=normals)

    def influence(self, edges: Edges) -> Tensor:
        return 4 * (edges.a**2 + torch.maximum(edges.s1**2, edges.s2**2))

    def depends_on_all(self, lines: Lines, within: Tensor) -> Tensor:
        """See :meth:`Surface.depends_on_all`.

        Only lines that face nearly the same way are ever hidden by one another. Where no two of
        those within reach do, all of them are kept, whatever lines are further away.
        """
        turn = torch.atan2(lines.normals[1], lines.normals[0])
        turn, _ = turn.masked_fill_(lines.near > within[:, None], math.nan).sort(1)  # nan: last
        around = turn[:, 0] + 2 * math.pi - turn.nan_to_num(-math.inf).amax(1)
        return (turn.diff() <= 2 * NEARLY).any(1) | (around <= 2 * NEARLY)

    def _nearest_parallel(self, lines: Lines, line: Tensor, ahead: Tensor) -> Tensor:
        """The nearest to the atom of the lines that are parallel to `line` and lie ahead too.

        Seen from very far away, rounding hides which of them comes first. It is `line` itself if
        the nearest one lies behind a line of another direction.
        """
        normal = lines.normal(line)
        across, against = lines.approach(normal, self.heading(normal, normal))
        other = (across.abs_() > PARALLEL) | (against >= 0) | ahead.isinf()
        nearest = lines.near.masked_fill(other, math.inf).argmin(1)
        crossed = ahead.masked_fill(~other, math.inf).amin(1)
        return torch.where(ahead.gather(1, nearest[:, None])[:, 0] <= crossed, nearest, line)

    def angle(self, a: Tensor, s1: Tensor, s2: Tensor) -> Tensor:
        return torch.atan2(a * (s2 - s1), a**2 + s1 * s2)

    def bearing(self, a: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return a, s

    def outward(self, edges: Edges, z: Tensor) -> Tensor:
        return edges.normal

    def distance(self, edges: Edges, s: Tensor, norm: Tensor) -> Tensor:
        return norm

    def move(self, z: Tensor, ray: Tensor, w: Tensor) -> Tensor:
        return z + (2 * w).sqrt() * ray

    def core(self, kappa: Tensor) -> Tensor:
        return (2 * REACH / kappa).sqrt()

    def felt_behind(self, kappa: Tensor) -> bool:
        return False

    def sector_mass(self, edges: Edges, kernel: Kernel) -> Tensor:
        a, s1, s2 = edges.a, edges.s1, edges.s2
        if isinstance(kernel, Uniform):
            return a * (s2 - s1) / 2
        kappa = kernel.h.to(a) ** -2
        limit = self.core(kappa)
        outside = sum(self.angle(a, *part) for part in beyond(s1, s2, limit))
        return (_mass_near(a, *within(s1, s2, limit), kappa) + outside) / (2 * math.pi)

    def mass_by_atoms(
        self, edges: Edges, kernel: Kernel, z: Tensor, shared: Tensor
    ) -> tuple[Tensor, Tensor]:
        m0, m1 = _line_moments(edges, kernel)
        side = -edges.normal * m0[:, None]
        other = -side / 2 - edges.tangent * (m1 / (2 * edges.a).clamp_min(1e-300))[:, None]
        return torch.where(shared[:, None], -other, side), other

    def mass_by_bandwidth(self, edges: Edges, kernel: Kernel) -> Tensor:
        return -edges.a * _line_moments(edges, kernel)[0] / kernel.h

    def envelope(self, kappa: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        bend = (2 / kappa - a**2).clamp_min(0).sqrt().clamp_max(torch.finfo(a.dtype).max / 4)
        return bend, a * kappa / 2

    def acceptance(
        self, kappa: Tensor, a: Tensor, b: Tensor, s: Tensor, p: Tensor, inner: Tensor
    ) -> tuple[Tensor, Tensor]:
        w = torch.where(inner, (a**2 + s**2) / 2, (a / p) ** 2 / 2)
        return w, torch.where(inner, phi(kappa * w), -torch.expm1(-kappa * w))

    def ray_moments(
        self, ray: Tensor, inner: Tensor, outer: Tensor, weight: Tensor, kernel: Kernel, z: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See :meth:`Surface.ray_moments`; all rays begin at the atom."""
        first = (ray * (weight * kernel.radial_moment(outer, 2, 1))[..., None]).sum(1)
        return first, (ray**2 * (weight * kernel.radial_moment(outer, 2, 2))[..., None]).sum(1)


def _hidden(x: Tensor, y: Tensor, near: Tensor) -> Tensor:
    """Which lines `(C, M)` lie behind a nearer one that is parallel as far as anyone can tell.

    They meet it at `LOST` times its own distance or beyond.

    Arguments:
        x: first components of the lines' normals, `(C, M)`.
        y: second components.
        near: distances of the lines.
    """
    turn, order = torch.sort(torch.atan2(y, x), dim=1, stable=True)
    family = torch.zeros_like(order)
    family[:, 1:] = (turn.diff() > NEARLY).cumsum(1)
    around = turn[:, :1] + 2 * math.pi - turn[:, -1:] <= NEARLY  # the last are the first
    family = torch.where(around & (family == family[:, -1:]), 0, family)
    x, y, near = (part.gather(1, order) for part in (x, y, near))
    first = torch.full_like(near, math.inf).scatter_reduce_(1, family, near, "amin")
    first = first.gather(1, family)
    gap = near - first
    place = torch.arange(near.shape[1], device=near.device).expand_as(order)
    leader = torch.full_like(order, near.shape[1] - 1)
    leader.scatter_reduce_(1, family, torch.where(gap > 0, leader, place), "amin")
    lead = leader.gather(1, family)
    across = (x * y.gather(1, lead) - y * x.gather(1, lead)).abs_()
    parallel = (across <= PARALLEL) | (across * (LOST * first) <= gap)
    hidden = (gap > 0) & (across <= NEARLY) & parallel
    return torch.empty_like(hidden).scatter_(1, order, hidden)


def _mass_near(a: Tensor, start: Tensor, end: Tensor, kappa: Tensor) -> Tensor:
    """Angle-weighted mass of a Gaussian between the atom and `[start, end]` on lines, `(E,)`.

    In place, since this is where the time goes.
    """
    x, weight = rule(a.dtype, a.device)
    half = (end - start) / 2
    x = torch.addcmul(((end + start) / 2)[:, None], half[:, None], x)
    x.mul_(x).add_((a**2 + torch.finfo(a.dtype).tiny)[:, None]).mul_((kappa / 2)[..., None])
    ratio = torch.neg(x).expm1_().div_(x)
    return torch.mv(ratio, weight) * half * a * (-kappa / 2)


def _line_moments(edges: Edges, kernel: Kernel) -> tuple[Tensor, Tensor]:
    r"""Moments :math:`M_i = \int s^i K_h ds`, i = 0 and 1, of the kernel along edges, `(E,)`."""
    a, s1, s2 = edges.a, edges.s1, edges.s2
    if isinstance(kernel, Uniform):
        return s2 - s1, (s2 - s1) * (s2 + s1) / 2
    h = kernel.h
    twice = torch.erf(s2 / h / math.sqrt(2)) - torch.erf(s1 / h / math.sqrt(2))
    m0 = torch.exp(-(a**2) / (2 * h**2)) * twice / (h * math.sqrt(8 * math.pi))
    ends = (s2 - s1) * (s2 + s1) / (2 * h**2)
    nearer = torch.minimum(s1**2, s2**2)  # where the kernel is larger: nothing overflows
    m1 = -torch.exp(-(a**2 + nearer) / (2 * h**2)) * torch.expm1(-ends.abs()) * ends.sign()
    return m0, m1 / (2 * math.pi)
