"""Voronoi cells in the plane and on the sphere, as lists of edges.

The border of a cell is found among all lines, or among those of the nearest atoms if this is shown
to make no difference: an atom more than twice as far as the farthest corner cannot cut the cell.
"""

from __future__ import annotations

__all__ = ["corners", "walk", "walk_all", "walk_near"]

import torch
from torch import Tensor

from vwta.geometry.borders import Borders, borders
from vwta.geometry.neighbours import Neighbours
from vwta.geometry.spaces import Box, Space
from vwta.geometry.surfaces import Edges, Lines, finite

LINES = 2**18  # lines in memory at once, for as many cells as they surround
CELLS = 2048  # cells walked at once: their lines fit into the cache
NEAREST = 20  # atoms among which a cell is looked for first
SHARE = 4  # where more than this part of the atoms would be needed, a fourth, all are taken
MARGIN = 1 + 2.0**-9  # of squared distances: far above rounding
WORTH = 2**18  # lines of all atoms around some cells from which on it pays to find the nearest
REST = 2**16  # such lines around the cells that are left, up to which all are taken


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
    by_nearest = _is_local(points, row)
    return (walk_near if by_nearest else walk_all)(points, row, atom, space)


def walk_all(
    points: Tensor, row: Tensor, atom: Tensor, space: Space
) -> tuple[Edges, Tensor, Tensor]:
    """:func:`walk` among all lines, in a time that grows as K for each cell."""
    found = []
    step = max(1, min(CELLS, LINES // points.shape[1]))
    for start in range(0, max(len(row), 1), step):
        some = slice(start, start + step)
        part = borders(points, row[some], atom[some], space)
        part.edges.cell += start
        found.append((part.edges, part.twin, part.empty))
    edges, twin, empty = zip(*found, strict=True)
    return Edges.cat(list(edges)), torch.cat(twin), torch.cat(empty)


def walk_near(
    points: Tensor, row: Tensor, atom: Tensor, space: Space
) -> tuple[Edges, Tensor, Tensor]:
    """:func:`walk` among the lines of the nearest atoms, and of twice as many where need be.

    In the plane the edges have the same bits as those found among all lines: the lines left out lie
    behind all corners by far more than rounding. On the sphere corners carry the rounding of the
    corners before, and parts of another size are rounded otherwise, by 1e-16.
    """
    neighbours, extent = Neighbours(points, row, atom), _extent(points, row, atom, space)
    twin, empty = (torch.zeros_like(row, dtype=torch.bool) for _ in range(2))
    parts: list[Edges] = []
    todo, count, rest = torch.arange(len(row)), NEAREST, [row[:0]]
    while len(todo) * points.shape[1] > REST and count * SHARE <= points.shape[1]:
        again = [row[:0]]
        for cell in todo.split(max(1, min(CELLS, LINES // count))):
            among, square = neighbours.nearest(cell, count)
            here = points, row[cell], atom[cell], space, among
            found = borders(*here)
            reach = _reach(found.edges, len(cell))
            closed = square > reach
            sure = closed & ~_depends_on_all(found, here, closed, reach, extent)
            again.append(cell[~closed])
            rest.append(cell[closed & ~sure])
            kept = found.edges[sure[found.edges.cell]]
            kept.cell = cell[kept.cell]
            parts.append(kept)
            twin[cell], empty[cell] = found.twin, found.empty
        todo, count = torch.cat(again), 2 * count
    cell = torch.cat([todo, *rest])
    edges, twin[cell], empty[cell] = walk_all(points, row[cell], atom[cell], space)
    edges.cell = cell[edges.cell]
    edges = Edges.cat([*parts, edges])
    return edges[torch.sort(edges.cell, stable=True).indices], twin, empty


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


def _is_local(points: Tensor, row: Tensor) -> bool:
    """Whether cells of rows `(C,)` are found faster among the nearest atoms."""
    count = points.shape[1]
    worth = count >= SHARE * NEAREST and count * len(row) >= WORTH
    return worth and points.device.type == "cpu" and bool(points.isfinite().all())


def _extent(points: Tensor, row: Tensor, atom: Tensor, space: Space) -> Tensor:
    """At least the distance of every line from its atom."""
    extent = torch.linalg.vector_norm(points.amax((0, 1)) - points.amin((0, 1)))
    _, to_side = space.sides(points[row, atom])
    return torch.cat([extent[None], finite(to_side).flatten()]).amax()


def _reach(edges: Edges, cells: int) -> Tensor:
    """Square of the distance beyond which no atom can cut any of the cells, `(C,)`."""
    reach = edges.a.new_zeros(cells)
    reach.scatter_reduce_(0, edges.cell, edges.surface.influence(edges), "amax")
    return reach * MARGIN


def _depends_on_all(
    found: Borders,
    here: tuple[Tensor, Tensor, Tensor, Space, Tensor],
    closed: Tensor,
    reach: Tensor,
    extent: Tensor,
) -> Tensor:
    """Which of the cells `(C,)` need all lines to tell which are hidden, although `closed`."""
    surface = found.edges.surface
    far = torch.nonzero(closed & (found.least * surface.blurred <= extent))[:, 0]
    depends = torch.zeros_like(closed)
    if len(far):
        points, row, atom, space, among = here
        lines, _, _ = Lines.around(surface, points, row[far], atom[far], space, among[far])
        depends[far] = surface.depends_on_all(lines, reach[far].sqrt() / 2)
    return depends
