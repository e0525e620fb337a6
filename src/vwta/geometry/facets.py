r"""Faces of polyhedra and the sectors into which their edges divide them.

The *foot* of a face is the point of its plane that is nearest to the atom, at the distance `p`. An
edge lies on a line at the signed distance `d` from the foot, negative if the foot lies beyond it,
from `s1` to `s2` along the line. The sector of an edge is the triangle between it and the foot:
with their signs, the sectors of its edges make up a face, wherever its foot lies.
"""

from __future__ import annotations

__all__ = ["Facets", "facets_of"]

from dataclasses import dataclass

import torch
from torch import Tensor

from vwta.geometry.polyhedra import ROUNDING, SIDES, STEPS, Planes, Polyhedra
from vwta.geometry.surfaces import FAR


@dataclass
class Facets:
    """Faces `F` of many cells, and sectors `S` of these; those of one cell stand together.

    Attributes:
        size: distance of the farthest corner of each cell, `(C,)`.
        cell: number of the cell of each face, ascending, `(F,)`.
        line: what the face borders on: atom `0..K-1`, or `K + i` for the box's side `i`, `(F,)`.
        p: distance of its plane from the atom, `(F,)`.
        normal: its unit normal, away from the atom, `(F, 3)`.
        face: number of the face of each sector, ascending, `(S,)`.
        d: signed distance of the edge's line from the foot, `(S,)`.
        s1: where the edge starts on its line, seen from the point next to the foot, `(S,)`.
        s2: where it ends.
        tangent: direction of the line, counter-clockwise seen from outside, `(S, 3)`.
        outward: its normal within the plane of the face, `(S, 3)`.
    """

    size: Tensor
    cell: Tensor
    line: Tensor
    p: Tensor
    normal: Tensor
    face: Tensor
    d: Tensor
    s1: Tensor
    s2: Tensor
    tangent: Tensor
    outward: Tensor

    def take(self, cells: Tensor) -> Facets:
        """The faces of some cells, which are numbered by their place in `cells` `(T,)`."""
        cell, faces = _members(self.cell, cells, len(self.size))
        face, sectors = _members(self.face, faces, len(self.cell))
        line, p, normal = (x[faces] for x in (self.line, self.p, self.normal))
        d, s1, s2 = (x[sectors] for x in (self.d, self.s1, self.s2))
        tangent, outward = self.tangent[sectors], self.outward[sectors]
        size = self.size[cells]
        return Facets(size, cell, line, p, normal, face, d, s1, s2, tangent, outward)

    @staticmethod
    def cat(parts: list[Facets]) -> Facets:
        """All cells of some parts, one part after another."""
        cells = faces = 0
        numbers = []
        for part in parts:
            numbers.append((part.cell + cells, part.face + faces))
            cells, faces = cells + len(part.size), faces + len(part.cell)
        cell, face = (torch.cat(x) for x in zip(*numbers, strict=True))

        def all_of(name: str) -> Tensor:
            return torch.cat([getattr(part, name) for part in parts])

        line, p, normal = (all_of(name) for name in ("line", "p", "normal"))
        d, s1, s2 = (all_of(name) for name in ("d", "s1", "s2"))
        tangent, outward = all_of("tangent"), all_of("outward")
        return Facets(all_of("size"), cell, line, p, normal, face, d, s1, s2, tangent, outward)


def facets_of(solids: Polyhedra, planes: Planes) -> Facets:
    """Faces and sectors of polyhedra; edges no longer than rounding are left out."""
    ends = solids.places(solids.ends)
    step = ends[:, 1] - ends[:, 0]
    length = torch.linalg.vector_norm(step, dim=-1)
    reach = ends.abs().sum(-1)
    some = torch.nonzero(length > ROUNDING * reach.amax(1))[:, 0]
    cell, pair = solids.cell[solids.ends[some, 0]], solids.faces[some]
    tangent = step[some] / length[some, None]
    along = (ends[some] * tangent[:, None]).sum(-1)
    nearer = reach[some].argmin(1, keepdim=True)
    corner = solids.ends[some].gather(1, nearer)[:, 0]
    foot = _across(solids.corner[corner], tangent)
    if solids.lift is not None:
        lift = solids.lift[corner]
        rest = _across(lift, tangent)
        parallel = rest.abs().sum(1) <= planes.blur[cell] * lift.abs().sum(1)
        foot = foot + FAR * rest.masked_fill(parallel[:, None], 0.0)
    normals, offsets = planes.of(cell[:, None], pair)
    foot = _onto_both(foot, normals, offsets)

    size = planes.points.shape[1] + SIDES
    key = torch.cat([cell * size + pair[:, i] for i in (0, 1)])
    faces, face = torch.unique(key, return_inverse=True)
    face, order = torch.sort(face, stable=True)
    tangent = torch.cat([tangent, -tangent])[order]
    s1 = torch.cat([along[:, 0], -along[:, 1]])[order]
    s2 = torch.cat([along[:, 1], -along[:, 0]])[order]
    cell, line = faces // size, faces % size
    normal, p = planes.of(cell, line)
    outward = torch.linalg.cross(tangent, normal[face])
    d = (outward * foot.repeat(2, 1)[order]).sum(-1)
    radius = solids.radius(len(planes.z))
    return Facets(radius, cell, line, p, normal, face, d, s1, s2, tangent, outward)


def _across(x: Tensor, tangent: Tensor) -> Tensor:
    """The part of vectors `(E, 3)` across unit vectors."""
    return x - (x * tangent).sum(-1, keepdim=True) * tangent


def _onto_both(foot: Tensor, normals: Tensor, offsets: Tensor) -> Tensor:
    """Points `(E, 3)` on two planes each, where rounding of distant corners has moved them off.

    Arguments:
        foot: points of the lines where the planes meet.
        normals: normals of the planes, `(E, 2, 3)`.
        offsets: their distances, `(E, 2)`.
    """
    for _ in range(STEPS):
        off = torch.matmul(normals, foot[..., None])[..., 0] - offsets
        worst = off.abs().amax(1)
        bad = torch.nonzero(worst > 4 * ROUNDING * (foot.abs().sum(1) + offsets.amin(1)))[:, 0]
        if not len(bad):
            break
        a, b = normals[bad].unbind(1)
        cosine = (a * b).sum(-1)
        square = (torch.linalg.cross(a, b) ** 2).sum(-1)
        by_a = (off[bad, 0] - cosine * off[bad, 1]) / square
        by_b = (off[bad, 1] - cosine * off[bad, 0]) / square
        moved = foot[bad] - by_a[:, None] * a - by_b[:, None] * b
        rest = torch.matmul(normals[bad], moved[..., None])[..., 0] - offsets[bad]
        better = rest.abs().amax(1) < worst[bad]
        foot = foot.index_copy(0, bad[better], moved[better])
    return foot


def _members(owner: Tensor, chosen: Tensor, owners: int) -> tuple[Tensor, Tensor]:
    """Members of chosen owners: the place of the owner of each, and the members themselves.

    Arguments:
        owner: owner of each member, ascending.
        chosen: some of the owners, in any order.
        owners: their number.
    """
    number = torch.bincount(owner, minlength=owners)
    start, count = (number.cumsum(0) - number)[chosen], number[chosen]
    place = torch.repeat_interleave(torch.arange(len(chosen), device=owner.device), count)
    index = torch.arange(len(place), device=owner.device)
    return place, index + (start - (count.cumsum(0) - count))[place]
