"""Voronoi cells in the plane and on the sphere, as lists of edges.

A cell is found by a walk around its border: from the foot on the nearest line, follow each line to
the first other line that it meets. With `slack` the distance to a line (its sine on the sphere)
and `rate` the speed of approach, that line has the largest `rate / slack` on the sphere. In the
plane it has, seen from the foot on the line that is followed, the least `slack / rate` of those
that come nearer: which line that is depends on no corner before, so that rounding in those far away
is not carried back. Everything is relative to the atom and in float64, so that cells of any size
come out right.

Each edge is written as its line's distance `a` from the atom and the interval `[s1, s2]` that it
covers on the line, from the foot of the perpendicular: lengths in the plane, angles on the sphere.
"""

from __future__ import annotations

__all__ = ["Edges", "angle", "corners", "walk"]

import math
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from vwta.geometry.spaces import Box, Space, Sphere, unit

PARALLEL = 1e-14  # rates (and slacks, on the sphere) below this are rounding
FAR = 1e15  # distance of an infinite side from every atom: beyond all mass for h up to 1e14
ROWS = 2048  # cells walked at once: their lines fit into the cache


@dataclass
class Edges:
    """Edges of many cells, flat; those of one cell stand together.

    Attributes:
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
        return Edges(*(getattr(self, f.name)[index] for f in fields(self)))

    @staticmethod
    def cat(parts: list[Edges]) -> Edges:
        return Edges(*(torch.cat([getattr(p, f.name) for p in parts]) for f in fields(Edges)))


@torch.no_grad()
def walk(points: Tensor, row: Tensor, atom: Tensor, space: Space) -> tuple[Edges, Tensor, Tensor]:
    """Edges of chosen Voronoi cells, and which of these cells have twins or are empty.

    Arguments:
        points: atoms in float64, `(B, K, e)`; `e` is 2 in a box, 3 on the sphere.
        row: which of the `B` tessellations each cell belongs to, `(C,)`.
        atom: which of the `K` atoms it surrounds, `(C,)`.

    Returns:
        The edges; a mask `(C,)` of the cells whose atom coincides with another atom; and a mask of
        those among them whose twin comes first: it has the cell, they are empty, without edges.
        A lone atom on the sphere has no edges either.
    """
    parts, twins, empties = [], [], []
    for start in range(0, max(len(row), 1), ROWS):
        chunk = slice(start, start + ROWS)
        edges, twin, empty = _walk_chunk(points, row[chunk], atom[chunk], space)
        edges.cell += start
        parts.append(edges)
        twins.append(twin)
        empties.append(empty)
    return Edges.cat(parts), torch.cat(twins), torch.cat(empties)


def corners(points: Tensor, box: Box) -> list[Tensor]:
    """Corners of the Voronoi cells of some atoms in a box of the plane.

    Arguments:
        points: atoms, `(K, 2)`.
        box: the domain; an infinite side is put very far away.

    Returns:
        For each atom the corners of its cell, counter-clockwise, `(C, 2)` in float64; none if it
        coincides with an earlier atom, which has the cell.

    Example:
        >>> left, right = corners(torch.tensor([[0.5, 0.5], [1.5, 0.5]]), Box(0.0, [2.0, 1.0]))
        >>> sorted(right.tolist())
        [[1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [2.0, 1.0]]
    """
    precise = points.detach().double()
    atom = torch.arange(len(points), device=points.device)
    edges, _, _ = walk(precise[None], torch.zeros_like(atom), atom, box)
    starts = precise[edges.cell] + edges.foot + edges.s1[:, None] * edges.tangent
    return list(starts.split(torch.bincount(edges.cell, minlength=len(points)).tolist()))


def _walk_chunk(
    points: Tensor, row: Tensor, atom: Tensor, space: Space
) -> tuple[Edges, Tensor, Tensor]:
    lines, twin, empty = _Lines.around(points, row, atom, space)
    cell = torch.nonzero(~empty)[:, 0]
    lines = lines.keep(cell)
    found = lines.near.amin(1) < math.inf  # a lone atom on the sphere has no border
    cell, lines = cell[found], lines.keep(found)

    line = first = lines.near.argmin(1)  # the nearest line: its foot lies on the border
    position = begin = lines.foot(line)
    corner = torch.full(row.shape, math.nan, dtype=points.dtype, device=row.device)
    turned = torch.zeros_like(position[:, 0])
    steps: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []  # cell, line, start, end
    while len(cell):
        s1 = lines.along(position, line)
        hit, s2, position, found = lines.next_corner(position, line, s1)
        turned = turned + angle(lines.distance(line), s1, s2, space.curved)
        closed = found & (hit == first)
        corner[cell[closed]] = lines.along(position, hit)[closed]
        over = found & ~closed & (turned > 2 * math.pi - 1e-9)  # on a twin of the first line
        if over.any():
            s2 = torch.where(over, _ahead(s1, lines.along(begin, line), space.curved), s2)
        steps.append((cell, line, s1, s2))
        if not found.all():
            lone = s1[~found] + math.pi
            steps.append((cell[~found], line[~found], lone, lone + math.pi))
        alive = found & ~closed & ~over
        cell, line, first, turned = cell[alive], hit[alive], first[alive], turned[alive]
        position, begin, lines = position[alive], begin[alive], lines.keep(alive)
        if len(cell) and len(steps) > lines.near.shape[1] + 4:
            raise RuntimeError(f"the cell of {points[row, atom][cell[0]].tolist()} did not close")
    if steps:
        steps[0] = _from_corner(steps[0], corner, space.curved)
    return _gather(steps, points, row, atom, space), twin, empty


def _from_corner(
    step: tuple[Tensor, Tensor, Tensor, Tensor], corner: Tensor, curved: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Let first edges, begun somewhere along their line, start where the walk came back to it."""
    cell, line, start, end = step
    corner = -_ahead(-start, -corner[cell], curved)
    return cell, line, torch.where(corner.isnan(), start, corner), end


def _ahead(here: Tensor, there: Tensor, curved: bool) -> Tensor:
    """A coordinate further on along a line; angles less than a turn further, up to rounding."""
    if not curved:
        return there
    return here + torch.remainder(there - here + 1e-9, 2 * math.pi) - 1e-9


@dataclass
class _Lines:
    """The lines that may border each of `C` cells: `M` bisectors and sides."""

    normal: list[Tensor]  # e components, each (C, M); 0 for what is no line
    near: Tensor  # (C, M): distance from the atom, its sine on the sphere
    atom: Tensor  # (C, e)
    curved: bool

    @classmethod
    def around(
        cls, points: Tensor, row: Tensor, atom: Tensor, space: Space
    ) -> tuple[_Lines, Tensor, Tensor]:
        """The lines, and which atoms have twins and which of these come second."""
        z, count = points[row, atom], points.shape[1]
        normals, to_side = space.sides(z)
        shape = (len(row), count + len(normals))
        apart = [points[row, :, i] - z[:, i : i + 1] for i in range(points.shape[-1])]
        distance = apart[0] ** 2
        for x in apart[1:]:
            distance.addcmul_(x, x)
        distance.sqrt_()
        same = distance == 0
        distance.masked_fill_(same, math.inf)
        normal = [points.new_empty(shape) for _ in apart]
        for i, (n, x) in enumerate(zip(normal, apart, strict=True)):
            torch.div(x, distance, out=n[:, :count])
            n[:, count:] = normals[:, i]
        if space.curved:
            middle = points[row] + z[:, None]
            normal = list(_through(torch.stack(normal, -1), middle).unbind(-1))
        near = torch.cat([distance / 2, _finite(to_side)], 1)
        empty = same.to(torch.uint8).argmax(1) != atom
        return cls(normal, near, z, space.curved), same.sum(1) > 1, empty

    def keep(self, index: Tensor) -> _Lines:
        if index.dtype == torch.bool and index.all():
            return self
        if index.dtype == torch.bool:
            index = torch.nonzero(index)[:, 0]
        normal = [n.index_select(0, index) for n in self.normal]
        return _Lines(normal, self.near.index_select(0, index), self.atom[index], self.curved)

    def next_corner(
        self, position: Tensor, line: Tensor, s1: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Which line a walk along `line` meets first, at what coordinate and position, if any.

        The walk has come to the coordinate `s1` of the line. A line that meets no other, on the
        sphere, is followed for half a turn.
        """
        normal = self._normal(line)
        heading = _turn(position, normal, self.curved)
        if not self.curved:
            foot = _foot(self.atom, normal, self.distance(line), self.curved)
            hit, s2 = self._first_hit_plane(foot, heading, line)
            s2 = torch.maximum(s2, s1)  # whatever the rounding
            return hit, s2, torch.addcmul(foot, s2[:, None], heading), torch.ones_like(hit).bool()
        hit, t, found = self._first_hit_sphere(position, heading, line)
        t = torch.where(found, t, torch.full_like(t, math.pi))
        position = unit(t.cos()[:, None] * position + t.sin()[:, None] * heading)
        return hit, s1 + t, position, found

    def _first_hit_plane(
        self, foot: Tensor, heading: Tensor, current: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Which line ends the edge on the line `current`, and the edge's coordinate there."""
        rate, slack = self._approach(foot, heading)
        ahead = slack.add_(self.near).div_(rate).masked_fill_(rate <= PARALLEL, math.inf)
        s2, hit = ahead.min(1)
        far = torch.nonzero(self.distance(current) >= FAR)[:, 0]
        if len(far):
            hit[far] = self.keep(far)._nearest_parallel(hit[far], ahead[far])
            s2 = ahead.gather(1, hit[:, None])[:, 0]
        return hit, s2

    def _first_hit_sphere(
        self, position: Tensor, heading: Tensor, current: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Which line a walk meets first, after what angle, and whether it meets any."""
        rate, slack = self._approach(position, heading)
        slack.clamp_min_(0)
        # A rate of 0 means a quarter turn, unless the lines coincide.
        coincide = (rate.abs() <= PARALLEL) & (slack <= PARALLEL)
        key = (rate / slack.clamp_min(1e-300)).masked_fill_(coincide, -math.inf)
        key.scatter_(1, current[:, None], -math.inf)
        best, line = key.max(1)
        rate, slack = (x.gather(1, line[:, None])[:, 0] for x in (rate, slack))
        return line, torch.atan2(slack.abs(), rate), best > -math.inf  # abs: no -0

    def _approach(self, position: Tensor, heading: Tensor) -> tuple[Tensor, Tensor]:
        """Products of all normals with a heading and with minus a position, `(C, M)` each."""
        rate = self.normal[0] * heading[:, :1]
        slack = self.normal[0] * -position[:, :1]
        for n, to, at in zip(self.normal[1:], heading.T[1:], position.T[1:], strict=True):
            rate.addcmul_(n, to[:, None])
            slack.addcmul_(n, at[:, None], value=-1)
        return rate, slack

    def _nearest_parallel(self, line: Tensor, ahead: Tensor) -> Tensor:
        """The nearest to the atom of the lines that are parallel to `line` and lie ahead too.

        Seen from very far away, rounding hides which of them comes first.
        """
        normal = self._normal(line)
        across, against = self._approach(normal, _turn(normal, normal, False))
        other = (across.abs_() > PARALLEL) | (against >= 0) | ahead.isinf()
        return self.near.masked_fill(other, math.inf).argmin(1)

    def along(self, position: Tensor, line: Tensor) -> Tensor:
        """Coordinate of a position on a line, from the foot of the perpendicular."""
        if not self.curved:
            return (position * _turn(position, self._normal(line), False)).sum(-1)
        foot = self.foot(line)
        tangent = _turn(foot, self._normal(line), True)
        return torch.atan2((position * tangent).sum(-1), (position * foot).sum(-1))

    def foot(self, line: Tensor) -> Tensor:
        """Foot of the perpendicular from the atom to a line."""
        return _foot(self.atom, self._normal(line), self.distance(line), self.curved)

    def distance(self, line: Tensor) -> Tensor:
        """Distance of a line from the atom (its sine on the sphere)."""
        return self.near.gather(1, line[:, None])[:, 0]

    def _normal(self, line: Tensor) -> Tensor:
        return torch.stack([n.gather(1, line[:, None])[:, 0] for n in self.normal], -1)


def angle(a: Tensor, s1: Tensor, s2: Tensor, curved: bool) -> Tensor:
    """Angle at the atom between two points of a line, at most half a turn apart."""
    if curved:
        cos = a**2 * s1.cos() * s2.cos() + s1.sin() * s2.sin()
        return torch.atan2((a * (s2 - s1).sin()).clamp_min(0), cos)
    return torch.atan2(a * (s2 - s1), a**2 + s1 * s2)


def _gather(
    steps: list[tuple[Tensor, Tensor, Tensor, Tensor]],
    points: Tensor,
    row: Tensor,
    atom: Tensor,
    space: Space,
) -> Edges:
    """Edges in the order of their cells, with the geometry of their lines."""
    empty = (row[:0], row[:0], points.new_zeros(0), points.new_zeros(0))
    cell, line, s1, s2 = (torch.cat(x) for x in zip(empty, *steps, strict=True))
    cell, order = torch.sort(cell, stable=True)
    line, s1, s2 = line[order], s1[order], s2[order]
    z, count = points[row, atom][cell], points.shape[1]
    normals, to_side = space.sides(z)
    is_side = line >= count
    apart = points[row[cell], line.clamp_max(count - 1)] - z
    distance = torch.linalg.vector_norm(apart, dim=-1)
    normal = apart / distance.clamp_min(1e-300)[:, None]
    if space.curved:
        normal = _through(normal, apart + 2 * z)
    a = distance / 2
    if len(normals):
        side = (line - count).clamp_min(0)
        normal = torch.where(is_side[:, None], normals[side], normal)
        a = torch.where(is_side, _finite(to_side).gather(1, side[:, None])[:, 0], a)
    foot = _foot(z, normal, a, space.curved)
    if space.curved:  # keep the middle of the arc within half a turn of the foot
        shift = 2 * math.pi * torch.round((s1 + s2) / (4 * math.pi))
        s1, s2 = s1 - shift, s2 - shift
    b = (foot * z).sum(-1).clamp_min(0) if space.curved else torch.ones_like(a)
    return Edges(cell, line, a, b, s1, s2, normal, foot, _turn(foot, normal, space.curved))


def _through(normal: Tensor, middle: Tensor) -> Tensor:
    """Make a great circle pass exactly between its two atoms, whatever their norms' rounding."""
    size = (middle**2).sum(-1, keepdim=True).clamp_min(1.0)  # antipodes need no help
    return normal - (normal * middle).sum(-1, keepdim=True) / size * middle


def _finite(to_side: Tensor) -> Tensor:
    """Distances to sides, with infinite ones put far away."""
    return to_side.masked_fill(to_side.isinf(), FAR)


def _foot(z: Tensor, normal: Tensor, a: Tensor, curved: bool) -> Tensor:
    """Foot of the perpendicular from the atom to a line."""
    if not curved:
        return a[:, None] * normal
    foot = z
    for _ in range(2):  # the second time mends the rounding of the first
        foot = foot - (foot * normal).sum(-1, keepdim=True) * normal
    norm = torch.linalg.vector_norm(foot, dim=-1, keepdim=True)
    any_foot = Sphere().frame(normal)[0]  # the atom is the line's pole: all its points are as near
    return torch.where(norm > 1e-12, foot / norm.clamp_min(1e-300), any_foot)


def _turn(position: Tensor, normal: Tensor, curved: bool) -> Tensor:
    """A quarter turn to the left of an outward normal."""
    if curved:
        return unit(torch.linalg.cross(position, normal))
    return torch.stack([-normal[:, 1], normal[:, 0]], -1)
