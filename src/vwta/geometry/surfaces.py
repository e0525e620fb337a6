r"""The interface that the plane and the unit sphere share: lines, edges of cells, and kernels.

A *line* is a straight line or a great circle. It has a distance `a` from the atom (its sine on the
sphere), a *foot*, the point of it that is nearest to the atom, and a coordinate `s` from there: a
length in the plane, an angle on the sphere. An *edge* of a cell is an interval `[s1, s2]` of a
line, and the *sector* of an edge is the triangle between it and the atom. Everything is relative to
the atom and in float64, so that cells of any size come out right.
"""

from __future__ import annotations

__all__ = ["FAR", "PARALLEL", "Edges", "Lines", "Surface", "finite"]

import math
from dataclasses import dataclass, fields
from typing import Protocol

import torch
from torch import Tensor

from vwta.geometry.kernels import Kernel
from vwta.geometry.spaces import Space

PARALLEL = 1e-14  # rates (and slacks, on the sphere) below this are rounding
FAR = 1e15  # distance of an infinite side from every atom: beyond all mass for h up to 1e14


class Surface(Protocol):
    """A surface on which cells are polygons: :class:`Plane` or :class:`UnitSphere`.

    Attributes:
        diameter: largest distance between two points.
        blurred: how many times farther away than the nearest neighbour lines can be mistaken.
    """

    diameter: float
    blurred: float

    def bisectors(self, normals: list[Tensor], others: Tensor, z: Tensor) -> list[Tensor]:
        """Normals, by component, of the bisectors between `z` and other atoms `(C, M, e)`.

        The given ones are unit vectors from `z` to these atoms, `(C, M)` each.
        """

    def bisector(self, normal: Tensor, apart: Tensor, z: Tensor) -> Tensor:
        """The same for one bisector each, `(E, e)`; `apart` leads from `z` to the neighbour."""

    def foot(self, z: Tensor, normal: Tensor, a: Tensor) -> Tensor:
        """Feet `(C, e)` of the perpendiculars from atoms `z` to lines."""

    def cosine(self, foot: Tensor, z: Tensor) -> Tensor:
        """Cosine `b` `(E,)` of the distance between feet and atoms; 1 in the plane."""

    def heading(self, position: Tensor, normal: Tensor) -> Tensor:
        """Directions `(C, e)` of lines at some positions: a quarter turn left of their normals."""

    def along(self, lines: Lines, position: Tensor, line: Tensor) -> Tensor:
        """Coordinates `s` `(C,)` of positions on lines."""

    def ahead(self, here: Tensor, there: Tensor) -> Tensor:
        """The coordinate `there`, less than a turn ahead of `here` on a closed line."""

    def unwind(self, s1: Tensor, s2: Tensor) -> tuple[Tensor, Tensor]:
        """Ends of edges whose middle is at most half a turn from the foot."""

    def next_corner(
        self, lines: Lines, position: Tensor, line: Tensor, s1: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Follow `line` `(C,)` from its coordinate `s1` to the first other line.

        Returns:
            That line, the coordinate and the position of the corner, and whether there is one: a
            line that meets no other, on the sphere, is followed for half a turn.
        """

    def tell_apart(self, lines: Lines) -> Lines:
        """The lines without those that rounding could mistake, far away, for a nearer one."""

    def influence(self, edges: Edges) -> Tensor:
        """Square of the distance in space from which on no atom can cut an edge off, `(E,)`."""

    def depends_on_all(self, lines: Lines, within: Tensor) -> Tensor:
        """Whether :meth:`tell_apart` might treat near lines otherwise among all lines, `(C,)`.

        Arguments:
            lines: those of the nearest atoms of each cell, and the sides.
            within: distance up to which lines may border the cell, `(C,)`.
        """

    def angle(self, a: Tensor, s1: Tensor, s2: Tensor) -> Tensor:
        """Angle at the atom between two points of a line, at most half a turn apart."""

    def bearing(self, a: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """Direction from the atom to the point `s` of a line: across it and along it, unscaled."""

    def outward(self, edges: Edges, z: Tensor) -> Tensor:
        """Unit vectors `(E, e)` at the atoms towards the feet of the edges' lines."""

    def distance(self, edges: Edges, s: Tensor, norm: Tensor) -> Tensor:
        """Distances of the points `s` `(E, n)` from the atoms; `norm` is that of their bearing."""

    def move(self, z: Tensor, ray: Tensor, w: Tensor) -> Tensor:
        """Points `(N, e)` at spread `w` `(N, 1)` from `z` along unit vectors `ray`."""

    def core(self, kappa: Tensor) -> Tensor:
        """How far from its foot a line can feel a kernel of concentration `kappa = 1 / h^2`."""

    def felt_behind(self, kappa: Tensor) -> bool:
        """Whether kernels still have mass behind the points of lines that lie outside `core`."""

    def sector_mass(self, edges: Edges, kernel: Kernel) -> Tensor:
        """Kernel mass in each sector, `(E,)`, or area if uniform; `h` is `(E,)` or a number."""

    def mass_by_atoms(
        self, edges: Edges, kernel: Kernel, z: Tensor, shared: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Derivatives of a cell's mass by its own atom and by the atom beyond each edge.

        They are `(E, e)` each. The edges that are not `shared` lie on the domain's sides.
        """

    def mass_by_bandwidth(self, edges: Edges, kernel: Kernel) -> Tensor:
        """Derivative by `h` of the mass in each sector, up to terms that cancel around a cell."""

    def envelope(self, kappa: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        r"""Bound :math:`\min(1, F'(0) w)` of the kernel's mass :math:`F` within spread `w`.

        Returns:
            The coordinate at which it becomes 1, and its integral over the angle, per unit of `s`,
            before.
        """

    def acceptance(
        self, kappa: Tensor, a: Tensor, b: Tensor, s: Tensor, p: Tensor, inner: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Spread of points of lines, and which share of the bound the kernel's mass is there.

        Points that are `inner` have the coordinate `s`; the others lie in the direction whose
        component across the line is `p`.
        """

    def ray_moments(
        self, ray: Tensor, inner: Tensor, outer: Tensor, weight: Tensor, kernel: Kernel, z: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Integrals of `y - z` and its squares, `(E, e)` each, over rays from the atoms.

        Arguments:
            ray: directions, `(E, n, e)`.
            inner: distance at which each ray begins, `(E, n)`.
            outer: distance at which it ends, `(E, n)`.
            weight: angle that it stands for, `(E, n)`.
            kernel: its `h` is `(E, 1)`.
            z: atoms, `(E, e)`.
        """


@dataclass
class Edges:
    """Edges of many cells, flat; those of one cell stand together.

    Attributes:
        surface: where they lie.
        cell: number of the cell, ascending, `(E,)`.
        line: what the edge borders on: atom `0..K-1`, or `K + i` for the domain's side `i`, `(E,)`.
        a: distance of the line from the atom (its sine on the sphere), `(E,)`.
        b: the cosine that goes with that sine; 1 in the plane, `(E,)`.
        s1: where the edge starts on its line, `(E,)`.
        s2: where it ends, `(E,)`.
        normal: unit normal of the line, away from the atom, `(E, e)`.
        foot: foot of the perpendicular: relative to the atom in the plane, a unit vector on the
            sphere, `(E, e)`.
        tangent: direction of the line at its foot, counter-clockwise around the atom, `(E, e)`.
    """

    surface: Surface
    cell: Tensor
    line: Tensor
    a: Tensor
    b: Tensor
    s1: Tensor
    s2: Tensor
    normal: Tensor
    foot: Tensor
    tangent: Tensor

    def __getitem__(self, index: Tensor | slice) -> Edges:
        return Edges(self.surface, *(x[index] for x in self._tensors()))

    @staticmethod
    def none(surface: Surface, points: Tensor) -> Edges:
        """No edges yet, of cells of atoms `(*, e)`."""
        number = torch.empty(0, dtype=torch.long, device=points.device)
        x, vector = points.new_empty(0), points.new_empty(0, points.shape[-1])
        return Edges(surface, number, number, x, x, x, x, vector, vector, vector)

    @staticmethod
    def cat(parts: list[Edges]) -> Edges:
        """All edges of some parts, one part after another."""
        columns = zip(*(part._tensors() for part in parts), strict=True)
        return Edges(parts[0].surface, *(torch.cat(column) for column in columns))

    def _tensors(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)[1:]]


@dataclass
class Lines:
    """The `M` lines that may border each of `C` cells: bisectors, then sides of the domain.

    Attributes:
        surface: where they lie.
        normals: unit normals away from the atom, by component, `(C, M)` each; 0 for no line.
        near: distances from the atom (their sines on the sphere), `(C, M)`.
        atom: the atoms, `(C, e)`.
        least: distance of the nearest bisector, `(C,)`; infinite if there is none.
    """

    surface: Surface
    normals: list[Tensor]
    near: Tensor
    atom: Tensor
    least: Tensor

    @classmethod
    def around(
        cls,
        surface: Surface,
        points: Tensor,
        row: Tensor,
        atom: Tensor,
        space: Space,
        among: Tensor | None = None,
    ) -> tuple[Lines, Tensor, Tensor]:
        """The lines, and which atoms have twins and which of these come second.

        Of the other atoms those `among` `(C, N)` count, in ascending order; all if None.
        """
        z = points[row, atom]
        others = points[row] if among is None else points[row[:, None], among]
        side_normals, to_side = space.sides(z)
        count = others.shape[1]
        shape = (len(row), count + len(side_normals))
        apart = [others[..., i] - z[:, i : i + 1] for i in range(points.shape[-1])]
        distance = apart[0] ** 2
        for x in apart[1:]:
            distance.addcmul_(x, x)
        distance.sqrt_()
        same = distance == 0
        distance.masked_fill_(same, math.inf)
        normals = [points.new_empty(shape) for _ in apart]
        for i, (n, x) in enumerate(zip(normals, apart, strict=True)):
            torch.div(x, distance, out=n[:, :count])
            n[:, count:] = side_normals[:, i]
        normals = surface.bisectors(normals, others, z)
        distance /= 2
        near = torch.cat([distance, finite(to_side)], 1)
        first = same.to(torch.uint8).argmax(1)
        if among is not None:
            first = among.gather(1, first[:, None])[:, 0]
        return cls(surface, normals, near, z, distance.amin(1)), same.sum(1) > 1, first != atom

    def keep(self, index: Tensor) -> Lines:
        """The lines of some of the cells, given by their numbers."""
        normals = [n.index_select(0, index) for n in self.normals]
        near = self.near.index_select(0, index)
        return Lines(self.surface, normals, near, self.atom[index], self.least[index])

    def approach(self, position: Tensor, heading: Tensor) -> tuple[Tensor, Tensor]:
        """Products of all normals with a heading and with minus a position, `(C, M)` each."""
        rate = self.normals[0] * heading[:, :1]
        slack = self.normals[0] * -position[:, :1]
        for n, to, at in zip(self.normals[1:], heading.T[1:], position.T[1:], strict=True):
            rate.addcmul_(n, to[:, None])
            slack.addcmul_(n, at[:, None], value=-1)
        return rate, slack

    def foot(self, line: Tensor) -> Tensor:
        """Feet `(C, e)` of the perpendiculars from the atoms to one line `(C,)` each."""
        return self.surface.foot(self.atom, self.normal(line), self.distance(line))

    def distance(self, line: Tensor) -> Tensor:
        """Distances `(C,)` of lines `(C,)` from the atoms (their sines on the sphere)."""
        return self.near.gather(1, line[:, None])[:, 0]

    def normal(self, line: Tensor) -> Tensor:
        """Unit normals `(C, e)` of lines `(C,)`."""
        return torch.stack([n.gather(1, line[:, None])[:, 0] for n in self.normals], -1)


def finite(to_side: Tensor) -> Tensor:
    """Distances of atoms to the domain's sides, with infinite ones put far away."""
    return to_side.masked_fill(to_side.isinf(), FAR)
