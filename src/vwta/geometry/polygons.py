"""Voronoi cells in the plane and on the sphere, as lists of edges.

A cell is found by a walk around its border: from the foot on the nearest line, follow each line to
the first other line that it meets. Which one that is follows from two numbers: `slack` is the
distance to a line (its sine on the sphere) and `rate` the speed of approach.
"""

from __future__ import annotations

__all__ = ["corners", "walk"]

import math

import torch
from torch import Tensor

from vwta.geometry.plane import Plane
from vwta.geometry.spaces import Box, Space, Sphere
from vwta.geometry.sphere import UnitSphere
from vwta.geometry.surfaces import Edges, Lines, Surface, finite

CELLS = 2048  # cells walked at once: their lines fit into the cache
PLANE, SPHERE = Plane(), UnitSphere()

Step = tuple[Tensor, Tensor, Tensor, Tensor]  # cell, line, start and end of edges, (C,) each


@torch.no_grad()
def walk(points: Tensor, row: Tensor, atom: Tensor, space: Space) -> tuple[Edges, Tensor, Tensor]:
    """Edges of chosen Voronoi cells, and which of these cells have twins or are empty.

    Arguments:
        points: atoms in float64, `(B, K, e)`; `e` is 2 in a box, 3 on the sphere.
        row: which of the `B` tessellations each cell belongs to, `(C,)`.
        atom: which of the `K` atoms it surrounds, `(C,)`.
        space: a box of the plane, or the sphere.

    Returns:
        The edges; a mask `(C,)` of the cells whose atom coincides with another atom; and a mask of
        those among them whose twin comes first: it has the cell, they are empty, without edges.
        A lone atom on the sphere has no edges either.
    """
    parts, twins, empties = [], [], []
    for start in range(0, max(len(row), 1), CELLS):
        some = slice(start, start + CELLS)
        edges, twin, empty = _walk_some(points, row[some], atom[some], space)
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


def _walk_some(
    points: Tensor, row: Tensor, atom: Tensor, space: Space
) -> tuple[Edges, Tensor, Tensor]:
    """:func:`walk` for as many cells as fit into the cache."""
    surface: Surface = SPHERE if isinstance(space, Sphere) else PLANE
    lines, twin, empty = Lines.around(surface, points, row, atom, space)
    cell = torch.nonzero(~empty)[:, 0]
    lines = surface.tell_apart(lines.keep(cell))
    found = lines.near.amin(1) < math.inf  # a lone atom on the sphere has no border
    cell, lines = cell[found], lines.keep(found)

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
        corner[cell[closed]] = surface.along(lines, position, hit)[closed]
        over = found & ~closed & (turned > 2 * math.pi - 1e-9)  # on a twin of the first line
        if over.any():
            s2 = torch.where(over, surface.ahead(s1, surface.along(lines, begin, line)), s2)
        steps.append((cell, line, s1, s2))
        if not found.all():
            lone = s1[~found] + math.pi
            steps.append((cell[~found], line[~found], lone, lone + math.pi))
        line, alive = hit, torch.nonzero(found & ~closed & ~over)[:, 0]
        if len(alive) < len(cell):
            cell, line, first, turned = cell[alive], line[alive], first[alive], turned[alive]
            position, begin, lines = position[alive], begin[alive], lines.keep(alive)
        if len(cell) and len(steps) > lines.near.shape[1] + 4:
            raise RuntimeError(
                f"the border of the cell of the point {points[row, atom][cell[0]].tolist()} did "
                f"not close after {len(steps)} edges: its atoms are too close to tell them apart"
            )
    if steps:
        steps[0] = _from_corner(steps[0], corner, surface)
    return _gather(steps, points, row, atom, space, surface), twin, empty


def _from_corner(step: Step, corner: Tensor, surface: Surface) -> Step:
    """Let first edges, begun somewhere along their line, start where the walk came back to it."""
    cell, line, start, end = step
    corner = -surface.ahead(-start, -corner[cell])
    return cell, line, torch.where(corner.isnan(), start, corner), end


def _gather(
    steps: list[Step], points: Tensor, row: Tensor, atom: Tensor, space: Space, surface: Surface
) -> Edges:
    """Edges in the order of their cells, with the geometry of their lines."""
    empty = (row[:0], row[:0], points.new_zeros(0), points.new_zeros(0))
    cell, line, s1, s2 = (torch.cat(x) for x in zip(empty, *steps, strict=True))
    cell, order = torch.sort(cell, stable=True)
    line, s1, s2 = line[order], s1[order], s2[order]
    z, count = points[row, atom][cell], points.shape[1]
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
