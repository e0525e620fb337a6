r"""Voronoi cells in space as convex polyhedra, cut from the domain by one plane at a time.

A polyhedron is a set of edges, each between two corners and with a face on its left and one on its
right, as seen from outside. A plane drops the corners beyond it, ends the edges that it meets in
new corners, and joins these, face by face. Around every face the edges stay a closed chain,
whatever the rounding, which is all that integrals over the cell need.

Planes come in the order of their distance, and only those that some corner lies beyond. No atom
cuts a cell from more than twice the distance of its farthest corner.

Where the domain has no end, or one far away, a corner there is given by two vectors, as `corner +
FAR * lift`. Its height over a plane then has two terms, each with its own rounding, and where the
second is 0 but for rounding, it does not hide the first. So the long edges of a prism keep their
places among the atoms.
"""

from __future__ import annotations

__all__ = ["Planes", "Polyhedra", "polyhedra"]

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vwta.geometry.memory import slices
from vwta.geometry.nearby import Nearby
from vwta.geometry.spaces import Box
from vwta.geometry.surfaces import FAR, finite

CELLS = 2048  # cells cut at once: they fit into the cache
FIRST = 48  # nearest atoms that are tried first
BLIND = 8  # nearest planes that are cut with before any is compared with all corners
ROUND = 4  # planes cut with before the others are compared with what is left
ROUNDING = 2.0**-50  # part of its distance by which a corner may lie beyond a plane
BLUR = 2.0**-43  # part of its length by which a lift may rise over a plane that it is parallel to
TILT = 2.0**-43  # the same for atoms at distance 1 from each other and from the origin
LIFTED = 1e5  # times the distance of the nearest atom: from here on sides are lifted
STEPS = 3  # of Newton's method at most
SIDES = 6
CORNERS = 64  # of a cell: more than most have


class Planes:
    """Planes that may border on cells: bisectors with atoms `0..K-1`, then sides of the box.

    Attributes:
        z: atoms of the cells, `(C, 3)`; all else is relative to them.
        blur: `BLUR`, or more where rounding of close atoms tilts their bisectors by more, `(C,)`.
        to_side: distances of the box's sides, `(C, 6)`; infinite ones are put very far away.
    """

    def __init__(
        self, points: Tensor, row: Tensor, atom: Tensor, space: Box, nearest: Tensor
    ) -> None:
        self.points, self.row, self.z = points, row, points[row, atom]
        self._atom, self._space, self._nearest = atom, space, nearest
        tilt = TILT * self.z.abs().sum(-1) / nearest.clamp_min(1e-300)
        self.blur = tilt.clamp(BLUR, 1.0)
        self._normals, to_side = space.sides(self.z)
        self.to_side = finite(to_side)

    def take(self, cells: Tensor) -> Planes:
        """The planes of some cells `(T,)`, which are numbered by their place."""
        owner = self.row[cells], self._atom[cells]
        return Planes(self.points, *owner, self._space, self._nearest[cells])

    def of(self, cell: Tensor, line: Tensor) -> tuple[Tensor, Tensor]:
        """Unit normals `(*, 3)` away from the atoms, and distances `(*)`, of planes `line`."""
        count = self.points.shape[1]
        apart = self.points[self.row[cell], line.clamp_max(count - 1)] - self.z[cell]
        distance = torch.linalg.vector_norm(apart, dim=-1)
        normal = apart / distance.clamp_min(1e-300)[..., None]
        is_side, side = line >= count, (line - count).clamp_min(0)
        normal = torch.where(is_side[..., None], self._normals[side], normal)
        return normal, torch.where(is_side, self.to_side[cell, side], distance / 2)


@dataclass
class Polyhedra:
    """Corners and edges of many polyhedra, flat and in no order.

    Attributes:
        corner: positions relative to the atoms, but for their lift, `(V, 3)`.
        lift: what they have besides in units of `FAR`, `(V, 3)`; None if it is 0 everywhere.
        cell: number of the cell of each corner, `(V,)`.
        ends: corners at which edges begin and end, `(E, 2)`.
        faces: planes on the left and on the right of edges, `(E, 2)`, see :class:`Planes`.
    """

    corner: Tensor
    lift: Tensor | None
    cell: Tensor
    ends: Tensor
    faces: Tensor

    @classmethod
    def boxes(cls, to_side: Tensor, least: Tensor, first: int) -> Polyhedra:
        """The domain around each atom.

        Arguments:
            to_side: distances of its sides, `(C, 6)`.
            least: distances of the nearest atoms, `(C,)`.
            first: number of the plane of the first side.
        """
        count, corner = len(to_side), []
        for i in range(8):
            upper = [i >> axis & 1 for axis in range(3)]
            x = [to_side[:, a] if up else -to_side[:, a + 3] for a, up in enumerate(upper)]
            corner.append(torch.stack(x, -1))
        ends, faces = [], []
        for axis in range(3):
            i, j = (axis + 1) % 3, (axis + 2) % 3
            for up, over in ((0, 0), (0, 1), (1, 0), (1, 1)):
                start = up << i | over << j
                pair = [first + i + 3 * (1 - up), first + j + 3 * (1 - over)]
                ends.append([start, start | 1 << axis])
                faces.append(pair if up == over else pair[::-1])
        cell = torch.arange(count, device=to_side.device)
        edges = torch.tensor(ends, device=to_side.device) + 8 * cell[:, None, None]
        pairs = torch.tensor(faces, device=to_side.device).repeat(count, 1)
        place = torch.stack(corner, 1)
        is_far = (place.abs() >= LIFTED * least[:, None, None]) | (place.abs() >= FAR)
        lift = (torch.where(is_far, place, 0.0) / FAR).flatten(0, 1) if is_far.any() else None
        place = torch.where(is_far, 0.0, place).flatten(0, 1)
        return cls(place, lift, cell.repeat_interleave(8), edges.flatten(0, 1), pairs)

    @staticmethod
    def cat(parts: list[tuple[Tensor, Polyhedra]]) -> Polyhedra:
        """All polyhedra of some parts, with the numbers `(T,)` that those of each part get."""
        solids = [part for _, part in parts]
        sizes = torch.tensor([len(part.corner) for part in solids])
        ends = zip(solids, (sizes.cumsum(0) - sizes).tolist(), strict=True)
        lifts = [part.lift for part in solids if part.lift is not None]
        return Polyhedra(
            torch.cat([part.corner for part in solids]),
            torch.cat(lifts) if lifts else None,
            torch.cat([numbers[part.cell] for numbers, part in parts]),
            torch.cat([part.ends + first for part, first in ends]),
            torch.cat([part.faces for part in solids]),
        )

    def take(self, chosen: Tensor) -> Polyhedra:
        """Those that are chosen, by a mask `(C,)`, numbered by their place."""
        stays = chosen[self.cell]
        number, kept = stays.cumsum(0) - 1, stays[self.ends[:, 0]]
        return Polyhedra(
            self.corner[stays],
            None if self.lift is None else self.lift[stays],
            (chosen.cumsum(0) - 1)[self.cell[stays]],
            number[self.ends[kept]],
            self.faces[kept],
        )

    def places(self, index: Tensor | slice) -> Tensor:
        """Positions of corners `(*)` relative to the atoms, `(*, 3)`."""
        corner = self.corner[index]
        return corner if self.lift is None else corner + FAR * self.lift[index]

    def radius(self, cells: int) -> Tensor:
        """Distance of the farthest corner of each of the cells, `(C,)`."""
        length = torch.linalg.vector_norm(self.places(slice(None)), dim=-1)
        farthest: Tensor = length.new_zeros(cells).scatter_reduce_(0, self.cell, length, "amax")
        return farthest

    def beyond(self, cells: Tensor, normal: Tensor, offset: Tensor, blur: Tensor) -> Tensor:
        """Beyond which of the planes `(T, m)` of cells `(T,)` there is a corner."""
        place, order = self._places_in(cells)
        number = torch.bincount(place, minlength=len(cells))
        rank = torch.arange(len(place), device=place.device) - (number.cumsum(0) - number)[place]
        shape = len(cells), int(number.max()), 3

        def products(x: Tensor) -> tuple[Tensor, Tensor]:
            padded = x.new_zeros(shape).index_put_((place, rank), x[order])  # 0 is the atom
            return torch.matmul(normal, padded.mT), padded.abs().sum(-1)[:, None]

        height, size = products(self.corner)
        height -= offset[..., None]
        if self.lift is not None:
            rise, length = products(self.lift)
            height += FAR * rise.masked_fill_(rise.abs() <= blur[:, None, None] * length, 0.0)
        return (height > ROUNDING * size).any(-1)

    def _places_in(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Corners of some cells `(T,)`: the place of the cell of each, ascending, and they."""
        last = torch.cat([self.cell, cells]).max()  # a cell may have no corners left
        slot = torch.full((int(last) + 1,), -1, device=cells.device)
        slot[cells] = torch.arange(len(cells), device=cells.device)
        place, order = torch.sort(slot[self.cell], stable=True)
        return place[place >= 0], order[place >= 0]

    def cut(self, planes: Planes, normal: Tensor, offset: Tensor, line: Tensor) -> Polyhedra:
        """What is left of the polyhedra on the near side of one plane each.

        Arguments:
            planes: all planes of the cells.
            normal: normals, `(C, 3)`.
            offset: distances, `(C,)`; infinite where there is nothing to cut.
            line: their numbers, `(C,)`.
        """
        level = (self.corner * normal[self.cell]).sum(-1) - offset[self.cell]
        rise = None if self.lift is None else self._rise(normal, planes.blur)
        height = level if rise is None else level + FAR * rise
        out = height > ROUNDING * self.corner.abs().sum(-1)
        if not out.any():
            return self
        is_out = out[self.ends]
        met = torch.nonzero(is_out[:, 0] != is_out[:, 1])[:, 0]
        ends, faces, starts_in = self.ends[met], self.faces[met], ~is_out[met, 0]
        inner, outer = torch.where(starts_in[:, None], ends, ends.flip(1)).unbind(1)
        cell = self.cell[inner]
        x, lift = self._meet(inner, outer, level, rise)
        x = _onto(x, lift, [planes.of(cell, f) for f in (*faces.unbind(1), line[cell])])

        stays = torch.nonzero(~out)[:, 0]
        number = (~out).cumsum(0) - 1
        new = len(stays) + torch.arange(len(met), device=met.device)
        renumbered = number[self.ends]
        renumbered[met, starts_in.long()] = new
        kept = ~is_out.all(1)
        # Each face is left where its chain goes out, and entered again where it comes back.
        left, right = torch.where(starts_in[:, None], faces, faces.flip(1)).unbind(1)
        size = planes.points.shape[1] + SIDES
        leaves, enters = (torch.argsort(cell * size + f, stable=True) for f in (left, right))
        return Polyhedra(
            torch.cat([self.corner[stays], x]),
            None if self.lift is None or lift is None else torch.cat([self.lift[stays], lift]),
            torch.cat([self.cell[stays], cell]),
            torch.cat([renumbered[kept], torch.stack([new[leaves], new[enters]], 1)]),
            torch.cat([self.faces[kept], torch.stack([left[leaves], line[cell[leaves]]], 1)]),
        )

    def _rise(self, normal: Tensor, blur: Tensor) -> Tensor:
        """How far the lifts of corners lead over planes, `(V,)`; 0 if that is rounding."""
        assert self.lift is not None
        rise = (self.lift * normal[self.cell]).sum(-1)
        return rise.masked_fill(rise.abs() <= blur[self.cell] * self.lift.abs().sum(-1), 0.0)

    def _meet(
        self, inner: Tensor, outer: Tensor, level: Tensor, rise: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        r"""Where edges meet a plane: at the share t of the way from inner to outer ends.

        Heights of the ends are :math:`a + L r`. If the lifts alone determine a share :math:`t_0`,
        from 0 to 1, the rest :math:`L (t - t_0)` is finite, and neither hides the other.
        """
        x, step = self.corner[inner], self.corner[outer] - self.corner[inner]
        a, fall = level[inner], level[inner] - level[outer]
        if self.lift is None or rise is None:
            return x + (a / fall).clamp(0, 1)[:, None] * step, None
        r, drop = rise[inner], rise[inner] - rise[outer]
        alike = drop == 0
        drop = torch.where(alike, 1.0, drop)
        alone = torch.where(alike, 0.0, r / drop)
        first = alone.clamp(0, 1)
        short = torch.where(first == alone, 0.0, FAR * (r - first * drop))
        more = (short + a - first * fall) / (drop + fall / FAR)
        share = (a + FAR * r) / torch.where(alike & (fall != 0), fall, 1.0)
        first = torch.where(alike, share.clamp(0, 1), first)
        more = torch.where(alike, 0.0, more)
        lift, climb = self.lift[inner], self.lift[outer] - self.lift[inner]
        x = x + (first + more / FAR)[:, None] * step + more[:, None] * climb
        length = (self.lift[inner].abs() + self.lift[outer].abs()).sum(-1, keepdim=True)
        lift = lift + first[:, None] * climb
        is_near = lift.abs().sum(-1, keepdim=True) <= BLUR * length
        return x, lift.masked_fill(is_near, 0.0)


@torch.no_grad()
def polyhedra(
    points: Tensor, row: Tensor, atom: Tensor, space: Box, neighbours: Nearby
) -> tuple[Polyhedra, Planes]:
    """Chosen Voronoi cells of a box in three dimensions.

    Arguments:
        points: atoms in float64, `(B, K, 3)`.
        row: which of the `B` tessellations each cell belongs to, `(C,)`.
        atom: which of the `K` atoms it surrounds, `(C,)`; none whose twin comes first.
        space: the domain.
        neighbours: finds the nearest atoms.
    """
    _, nearest = neighbours.nearest(row, atom, 0, 1)
    planes, count = Planes(points, row, atom, space, nearest[:, 0]), points.shape[1]
    solids, done = Polyhedra.boxes(planes.to_side, nearest[:, 0], count), []
    todo = torch.arange(len(row), device=row.device)
    start, stop = 0, min(FIRST, count)
    while len(todo) and start < stop:
        line, distance = neighbours.nearest(row[todo], atom[todo], start, stop)
        solids = _cut_all(solids, planes.take(todo), line, distance / 2, 0 if start else BLIND)
        is_open = solids.radius(len(todo)) > distance[:, -1] / 2
        done.append((todo[~is_open], solids.take(~is_open)))
        todo, solids = todo[is_open], solids.take(is_open)
        start, stop = stop, min(2 * stop, count)
    return Polyhedra.cat([*done, (todo, solids)]), planes


def _cut_all(
    solids: Polyhedra, planes: Planes, line: Tensor, offset: Tensor, blind: int
) -> Polyhedra:
    """Cut cells by bisectors with atoms `line` `(C, m)` at distances `offset`, ascending.

    The first `blind` ones are not compared with corners before. Cells that are ready are set aside.
    """
    done, cells = [], torch.arange(len(planes.z), device=line.device)
    here, width = planes, blind
    while len(cells):
        for i in range(min(width, line.shape[1])):
            normal, _ = here.of(torch.arange(len(cells), device=cells.device), line[:, i])
            solids = solids.cut(here, normal, offset[:, i], line[:, i])
        again, line, offset = _cutting(solids, here, line[:, width:], offset[:, width:])
        done.append((cells[~again], solids.take(~again)))
        cells, solids = cells[again], solids.take(again)
        here, width = planes.take(cells), ROUND
    return Polyhedra.cat(done)


def _cutting(
    solids: Polyhedra, planes: Planes, line: Tensor, offset: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Which cells `(C,)` have a corner beyond a plane, and these planes of each, in their order."""
    cells, width = torch.arange(len(line), device=line.device), line.shape[1]
    if not width:
        return cells < 0, line[:0], offset[:0]
    found = []
    for part in slices(len(cells), width * CORNERS * 32):
        normal, _ = planes.of(cells[part, None], line[part])
        found.append(solids.beyond(cells[part], normal, offset[part], planes.blur[part]))
    cuts = torch.cat(found)
    number = cuts.sum(1)
    again = number > 0
    order = torch.argsort(~cuts[again], dim=1, stable=True)[:, : int(number.max())]
    is_cut = cuts[again].gather(1, order)
    offset = offset[again].gather(1, order).masked_fill(~is_cut, math.inf)
    return again, line[again].gather(1, order), offset


def _onto(x: Tensor, lift: Tensor | None, planes: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Corners `(N, 3)` on three planes each, where rounding of distant ones has moved them off.

    A step of Newton's method counts if it comes nearer to all three planes.
    """
    normal = torch.stack([n for n, _ in planes], 1)
    offset = torch.stack([p for _, p in planes], 1)
    lifted = torch.zeros_like(x[:, 0], dtype=torch.bool) if lift is None else (lift != 0).any(1)
    for _ in range(STEPS):
        off = torch.matmul(normal, x[..., None])[..., 0] - offset
        worst = off.abs().amax(1).masked_fill(lifted, 0.0)
        bad = torch.nonzero(worst > 2 * ROUNDING * x.abs().sum(1))[:, 0]
        if not len(bad):
            break
        a, b, c = normal[bad].unbind(1)
        cross = [torch.linalg.cross(*pair) for pair in ((b, c), (c, a), (a, b))]
        det = (a * cross[0]).sum(-1, keepdim=True)
        step = sum(off[bad, i : i + 1] * cross[i] for i in range(3)) / det
        moved = x[bad] - step
        rest = torch.matmul(normal[bad], moved[..., None])[..., 0] - offset[bad]
        better = rest.abs().amax(1) < worst[bad]  # not where the planes have no common point
        x = x.index_copy(0, bad[better], moved[better])
    return x
