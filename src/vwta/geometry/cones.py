r"""Integrals of kernels over the cones between an atom and the faces of its cell in space.

With the radial distribution function :math:`F_h`, a kernel's mass in a cell is the mean of
:math:`F_h` over directions. Within the cone of a sector (see :mod:`vwta.geometry.facets`) the
integral over the polar angle about the normal of the face has a closed form, and there remains

.. math:: V = \frac{1}{4 \pi} \sum \int_{s_1}^{s_2}
    \Big[\operatorname{erf} a - c \operatorname{erf} \frac{a}{c}\Big] \frac{d \, ds}{d^2 + s^2},
    \qquad a = \frac{p}{\sqrt 2 h}, \quad c = \frac{p}{\sqrt{p^2 + d^2 + s^2}}.

The bracket is :math:`2 a / \sqrt \pi \, (H_0(a^2) - H_0(a^2 + x))` with :math:`x = (d^2 + s^2) /
2 h^2` and the entire function of :mod:`vwta.geometry.decays`, so that its quotient by `x` is smooth
all along the edge. Near the foot it comes from Taylor's series, further out from error functions,
and beyond `REACH` bandwidths the integral is a solid angle.
"""

from __future__ import annotations

__all__ = [
    "Sectors",
    "cone_masses",
    "face_integrals",
    "log_cone_mass",
    "small_faces",
    "units",
    "zones",
]

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vwta.geometry.decays import NEAR, decay, differences, taylor
from vwta.geometry.facets import Facets
from vwta.geometry.kernels import Kernel, Uniform
from vwta.geometry.quadrature import nodes

REACH = 8.0  # bandwidths within which all but 1e-15 of a Gaussian along a line lies
FEW, MANY = 12, 32  # nodes of quadrature near feet, and elsewhere
BATCH = 2**12  # pieces of edges worked on at once: they fit into the cache
WHOLE = (2 * math.pi) ** 1.5  # integral of a Gaussian of bandwidth 1


@dataclass
class Sectors:
    """Sectors of faces in units of the kernel's bandwidth, or of the cell's size if that is less.

    Attributes:
        e: the unit in bandwidths, at most 1; 0 if the kernel is uniform, `(S,)`.
        p: distance of the face's plane from the atom, `(S,)`.
        d: signed distance of the edge's line from the foot, `(S,)`.
        s1: where the edge starts on its line, `(S,)`.
        s2: where it ends.
    """

    e: Tensor
    p: Tensor
    d: Tensor
    s1: Tensor
    s2: Tensor

    @classmethod
    def of(cls, facets: Facets, unit: Tensor, e: Tensor) -> Sectors:
        """All sectors of some cells, whose units and these in bandwidths are `(C,)`."""
        cell = facets.cell[facets.face]
        lengths = facets.p[facets.face], facets.d, facets.s1, facets.s2
        return cls(e[cell], *(x / unit[cell] for x in lengths))

    def __getitem__(self, index: Tensor) -> Sectors:
        return Sectors(*(x[index] for x in (self.e, self.p, self.d, self.s1, self.s2)))

    @property
    def v(self) -> Tensor:
        """Half the squared distance of the foot, in bandwidths, `(S,)`."""
        return (self.e * self.p) ** 2 / 2

    def x(self, s: Tensor) -> Tensor:
        """The same from the foot to points `s` `(S, n)` of the edges."""
        return self.square(s).mul_((self.e**2 / 2)[:, None])

    def square(self, s: Tensor) -> Tensor:
        """Squared distance from the foot to points `s` `(S, n)` of the edges."""
        return torch.addcmul((self.d**2)[:, None], s, s)


def units(kernel: Kernel, size: Tensor) -> tuple[Tensor, Tensor]:
    """Unit of length of cells of some `size` `(C,)`, and the same in bandwidths, `(C,)` each."""
    if isinstance(kernel, Uniform):
        return size, torch.zeros_like(size)
    unit = torch.minimum(kernel.h, size)
    return unit, unit / kernel.h


@dataclass
class Zones:
    """Pieces of edges by the way in which integrals over their sectors are computed.

    Each is a list of the sectors `(N,)` that have one, and where it starts and ends, `(N,)` each.
    """

    near: list[tuple[Tensor, Tensor, Tensor]]
    middle: list[tuple[Tensor, Tensor, Tensor]]
    far: list[tuple[Tensor, Tensor, Tensor]]


def zones(sectors: Sectors) -> Zones:
    """Where `x` is at most `NEAR`, where it is more, and where the kernel is not felt any more."""
    p, d, s1, s2 = sectors.p, sectors.d, sectors.s1, sectors.s2
    core = (REACH / sectors.e) ** 2 - p**2 - d**2
    near = torch.minimum(2 * NEAR / sectors.e**2 - d**2, core).clamp_min(0).sqrt()
    core = core.clamp_min(0).sqrt()
    return Zones(
        _pieces(s1, s2, -near, near),
        _pieces(s1, s2, -core, -near) + _pieces(s1, s2, near, core),
        _pieces(s1, s2, torch.full_like(s1, -math.inf), -core)
        + _pieces(s1, s2, core, torch.full_like(s1, math.inf)),
    )


def _pieces(
    s1: Tensor, s2: Tensor, low: Tensor, high: Tensor
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Pieces of edges between two points of their lines, `BATCH` at once."""
    start, end = s1.clamp(low, high), s2.clamp(low, high)
    index = torch.nonzero(start < end)[:, 0]
    return [(some, start[some], end[some]) for some in index.split(BATCH) if len(some)]


def log_cone_mass(facets: Facets, kernel: Kernel) -> Tensor:
    """Log of the kernel's mass in cells, `(C,)`; log-volume if it is uniform. `h` is `(C,)`."""
    unit, e = units(kernel, facets.size)
    share = cone_masses(facets, Sectors.of(facets, unit, e))
    if isinstance(kernel, Uniform):
        return share.log() + 3 * unit.log() + math.log(WHOLE)
    return share.log() + 3 * e.log()


def cone_masses(facets: Facets, sectors: Sectors) -> Tensor:
    r"""Kernel masses of cells by :math:`e^3`, `(C,)`; volumes by `WHOLE` if e is 0."""
    value = torch.zeros_like(sectors.d)
    pieces = zones(sectors)
    for index, start, end in pieces.near:
        part = sectors[index]
        s, weight = nodes(start, end, FEW)
        ratio = differences(taylor(0, part.v), part.x(s))
        value[index] += (ratio * weight).sum(1) * part.p * part.d / (2 * WHOLE)
    for index, start, end in pieces.middle:
        part = sectors[index]
        s, weight = nodes(start, end, MANY)
        x = part.x(s)
        ratio = (decay(0, part.v)[:, None] - decay(0, x + part.v[:, None])) / x
        value[index] += (ratio * weight).sum(1) * part.p * part.d / (2 * WHOLE)
    for index, start, end in pieces.far:
        value[index] += solid_angle(sectors[index], start, end) / (4 * math.pi)
    by_face = torch.zeros_like(facets.p).index_add_(0, facets.face, value)
    return torch.zeros_like(facets.size).index_add_(0, facets.cell, by_face)


def solid_angle(sectors: Sectors, start: Tensor, end: Tensor) -> Tensor:
    r"""Integral of :math:`\operatorname{erf} a - c` over pieces of edges, in bandwidths, `(S,)`.

    It is the solid angle of the triangle between a piece and the foot if the plane is out of reach,
    and less if the kernel is cut off within. Pieces do not reach over the point next to the foot.
    """
    p, d, a = sectors.p, sectors.d, sectors.p / math.sqrt(2)
    farthest = torch.maximum(start.abs(), end.abs())
    scale = torch.hypot(torch.hypot(p, d), farthest)
    p, d, start, end = p / scale, d / scale, start / scale, end / scale
    square = p**2 + d**2
    first, last = (square + start**2).sqrt(), (square + end**2).sqrt()
    long = d * (end - start)
    around = torch.atan2(long, d**2 + start * end)
    seen = 2 * torch.atan2(long, first * last + p * (first + last) + square + start * end)
    apart = square * (end - start) * (end + start) / (end * first + start * last)
    hidden = torch.atan2(p * d * apart, d**2 * first * last + p**2 * start * end)
    beneath = torch.where(a * math.sqrt(2) < REACH, torch.erfc(a), 0.0)
    return torch.where(a < 0.5, torch.erf(a) * around - hidden, seen - beneath * around)


def face_integrals(facets: Facets, sectors: Sectors) -> tuple[Tensor, Tensor]:
    r"""Integrals over faces of the kernel, and of it times the step from the foot.

    The kernel is 1 at the atom, and lengths are in units. In the plane of a face, the kernel is a
    Gaussian about the foot, times :math:`e^{-v}`. The first integral is that of the plane, in
    sectors. The second is one along the edges, as :math:`y e^{-x}` is the gradient of :math:`-
    e^{-x}`, or of :math:`1 - e^{-x}`, which is small where the face is.

    Returns:
        Integrals of shape `(F,)` and `(F, 3)`.
    """
    e, d, s1, s2 = sectors.e, sectors.d, sectors.s1, sectors.s2
    area, along = torch.zeros_like(d), torch.zeros_like(d)
    is_small = small_faces(facets, sectors)[facets.face]
    core = ((REACH / e) ** 2 - d**2).clamp_min(0).sqrt()
    nothing, endless = torch.zeros_like(d), torch.full_like(d, math.inf)
    for low, high in ((-core, nothing), (nothing, core)):
        for index, start, end in _pieces(s1, s2, low, high):
            part = sectors[index]
            s, weight = nodes(start, end, MANY)
            x = part.x(s)
            rate = decay(1, x) * weight  # half of (1 - exp(-x)) / x
            area[index] += rate.sum(1) * part.d
            along[index] += torch.where(is_small[index], (rate * part.square(s)).sum(1), 0.0)
    for low, high in ((-endless, -core), (core, endless)):
        for index, start, end in _pieces(s1, s2, low, high):
            part = sectors[index]
            angle = torch.atan2(part.d * (end - start), part.d**2 + start * end)
            area[index] += angle / part.e**2
    root, unit = math.sqrt(2), torch.where(is_small, 1.0, e)
    ends = torch.erf(unit * s2 / root) - torch.erf(unit * s1 / root)
    whole = torch.exp(-((unit * d) ** 2) / 2) * ends * (math.sqrt(math.pi / 2) / unit**3)
    along = torch.where(is_small, along, -whole)
    fall = torch.exp(-sectors.v)
    count = len(facets.p)
    total = area.new_zeros(count).index_add_(0, facets.face, area * fall)
    lever = (along * fall)[:, None] * facets.outward
    return total, lever.new_zeros(count, 3).index_add_(0, facets.face, lever)


def small_faces(facets: Facets, sectors: Sectors) -> Tensor:
    """Which faces lie within `NEAR` of their feet, `(F,)`."""
    farthest = torch.maximum(sectors.s1.abs(), sectors.s2.abs())
    x = sectors.x(farthest[:, None])[:, 0]
    most = x.new_zeros(len(facets.p)).scatter_reduce_(0, facets.face, x, "amax")
    return most <= NEAR


def cone_slopes(facets: Facets, kernel: Kernel, count: int) -> tuple[Tensor, Tensor, Tensor]:
    r"""Gradients of the log-masses of cells, in parts that belong to their faces.

    An atom takes its kernel with it. A face between atoms moves with both: at y by :math:`(y - z) /
    2p` with the one whose cell it is, by :math:`(z_j - y) / 2p` with the other. Edges and corners
    do not matter to first order.

    Arguments:
        facets: faces of the cells.
        kernel: its `h` is `(C,)`.
        count: number `K` of atoms.

    Returns:
        By the cell's own atom and by the one beyond each face, `(F, 3)` each, and by `h`, `(F,)`.
    """
    unit, e = units(kernel, facets.size)
    sectors = Sectors.of(facets, unit, e)
    mass = (cone_masses(facets, sectors) * WHOLE)[facets.cell]
    area, lever = (x / mass.view(-1, *(x.dim() - 1) * [1]) for x in face_integrals(facets, sectors))
    p = facets.p / unit[facets.cell]
    shared = (facets.line < count)[:, None]  # the other faces lie on the domain's sides
    push = facets.normal * area[:, None]
    other = push / 2 - lever / (2 * p).clamp_min(1e-300)[:, None]
    own = torch.where(shared, -other, -push)
    other = torch.where(shared, other, 0.0)
    scale = unit[facets.cell, None]
    return own / scale, other / scale, -p * area / kernel.h[facets.cell]
