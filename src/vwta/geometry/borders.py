"""The walk around the borders of Voronoi cells in the plane and on the sphere.

From the foot on the nearest line, it follows each line to the first other line that it meets. Which
one that is follows from two numbers: `slack` is the distance to a line (its sine on the sphere) and
`rate` the speed of approach.
"""

from __future__ import annotations

__all__ = ["Borders", "borders", "surface_of"]

import math
from typing import NamedTuple

import torch
from torch import Tensor

from vwta.geometry.plane import Plane
from vwta.geometry.spaces import Space, Sphere
from vwta.geometry.sphere import UnitSphere
from vwta.geometry.surfaces import Edges, Lines, Surface, finite

PLANE, SPHERE = Plane(), UnitSphere()

Step = tuple[Tensor, Tensor, Tensor, Tensor]  # cell, line, start and end of edges, (C,) each


class Borders(NamedTuple):
    """Borders of some Voronoi cells.

    Attributes:
        edges: their edges.
        twin: which of the cells' atoms coincide with another atom, `(C,)`.
        empty: which of them with an earlier one, `(C,)`.
        least: distance of the nearest bisector, `(C,)`.
    """

    edges: Edges
    twin: Tensor
    empty: Tensor
    least: Tensor


def borders(
    points: Tensor, row: Tensor, atom: Tensor, space: Space, among: Tensor | None = None
) -> Borders:
    """Borders of Voronoi cells `(C,)`, see :func:`~vwta.geometry.polygons.walk`, all at once.

    Of the other atoms those `among` `(C, N)` count, in ascending order; all if None.
    """
    surface = surface_of(space)
    lines, twin, empty = Lines.around(surface, points, row, atom, space, among)
    least, most = lines.least, points.shape[1] + 2 * points.shape[2] + 4
    cell = torch.nonzero(~empty)[:, 0]
    lines = surface.tell_apart(lines.keep(cell))
    bordered = lines.near.amin(1) < math.inf
    if not bordered.all():  # a lone atom on the sphere has no border
        some = torch.nonzero(bordered)[:, 0]
        cell, lines = cell[some], lines.keep(some)

    line = first = lines.near.argmin(1)  # the nearest line: its foot lies on the border
    position = begin = lines.foot(line)
    corner = torch.full(row.shape, math.nan, dtype=points.dtype, device=row.device)
    turned = torch.zeros_like(position[:, 0])
    steps: list[Step] = []
    while len(cell):
        s1 = surface.along(lines, position, line)
        hit, s2, position, found = surface.next_corner(lines, position, line, s1)
        turned = turned + surface.angle(lines.distance(line), s1, s2)
        closed = found & (hit == first)
        corner[cell] = torch.where(closed, surface.along(lines, position, hit), corner[cell])
        over = found & ~closed & (turned > 2 * math.pi - 1e-9)  # on a twin of the first line
        some_over, all_found = torch.stack([over.any(), found.all()]).tolist()  # one wait for both
        if some_over:
            s2 = torch.where(over, surface.ahead(s1, surface.along(lines, begin, line)), s2)
        steps.append((cell, line, s1, s2))
        if not all_found:
            lone = s1[~found] + math.pi
            steps.append((cell[~found], line[~found], lone, lone + math.pi))
        line, alive = hit, torch.nonzero(found & ~closed & ~over)[:, 0]
        if len(alive) < len(cell):
            cell, line, first, turned = cell[alive], line[alive], first[alive], turned[alive]
            position, begin, lines = position[alive], begin[alive], lines.keep(alive)
        if len(cell) and len(steps) > most:
            raise RuntimeError(
                f"the border of the cell of the point {points[row, atom][cell[0]].tolist()} did "
                f"not close after {len(steps)} edges: its atoms are too close to tell them apart"
            )
    if steps:
        steps[0] = _from_corner(steps[0], corner, surface)
    edges = _gather(steps, points, row, atom, space, surface, among)
    return Borders(edges, twin, empty, least)


def surface_of(space: Space) -> Surface:
    """The plane or the sphere, as cells of a space see it."""
    return SPHERE if isinstance(space, Sphere) else PLANE


def _from_corner(step: Step, corner: Tensor, surface: Surface) -> Step:
    """Let first edges, begun somewhere along their line, start where the walk came back to it."""
    cell, line, start, end = step
    corner = -surface.ahead(-start, -corner[cell])
    return cell, line, torch.where(corner.isnan(), start, corner), end


def _gather(
    steps: list[Step],
    points: Tensor,
    row: Tensor,
    atom: Tensor,
    space: Space,
    surface: Surface,
    among: Tensor | None,
) -> Edges:
    """Edges in the order of their cells, with the geometry of their lines."""
    empty = (row[:0], row[:0], points.new_zeros(0), points.new_zeros(0))
    cell, line, s1, s2 = (torch.cat(x) for x in zip(empty, *steps, strict=True))
    cell, order = torch.sort(cell, stable=True)
    line, s1, s2 = line[order], s1[order], s2[order]
    z, count = points[row, atom][cell], points.shape[1]
    if among is not None:  # lines are numbered by the atoms that count, then by the sides
        few = among.shape[1]
        line = torch.where(line < few, among[cell, line.clamp_max(few - 1)], line - few + count)
    apart = points[row[cell], line.clamp_max(count - 1)] - z
    distance = torch.linalg.vector_norm(apart, dim=-1)
    normal = surface.bisector(apart / distance.clamp_min(1e-300)[:, None], apart, z)
    a = distance / 2
    side_normals, to_side = space.sides(z)
    if len(side_normals):
        is_side, side = line >= count, (line - count).clamp_min(0)
        normal = torch.where(is_side[:, None], side_normals[side], normal)
        a = torch.where(is_side, finite(to_side).gather(1, side[:, None])[:, 0], a)
    foot = surface.foot(z, normal, a)
    b, tangent = surface.cosine(foot, z), surface.heading(foot, normal)
    return Edges(surface, cell, line, a, b, *surface.unwind(s1, s2), normal, foot, tangent)
