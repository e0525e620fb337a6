"""The Voronoi cells of a batch of atoms, computed when asked for and kept for every bandwidth."""

from __future__ import annotations

__all__ = ["Tessellation"]

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from vwta.geometry.borders import surface_of
from vwta.geometry.directions import Directions, Rays, SphereRays
from vwta.geometry.kernels import Kernel, Uniform, sample_sphere, sphere_moments
from vwta.geometry.memory import slices
from vwta.geometry.moments import sector_moments
from vwta.geometry.ordered import FEW, Twins, twins
from vwta.geometry.polygons import walk
from vwta.geometry.polytopes import sample_polytopes
from vwta.geometry.sectors import cell_mass, sample_sectors, sector_masses
from vwta.geometry.solid_cells import SolidCells
from vwta.geometry.solids import SolidRays
from vwta.geometry.spaces import Box, Space, Sphere
from vwta.geometry.surfaces import Edges
from vwta.geometry.winners import PlaceTree, nearest_of_rows, nearest_of_shared, place_tree

KEPT = 2**22  # numbers: targets longer than this are not kept with their nearest atoms
DRAWS = 2**16  # samples drawn at once: they fit into the cache
SEARCHED = 64  # atoms (but on the line) and points from which on a search is faster
SECTORS = 2**11  # sectors whose moments are computed at once


class Tessellation:
    """Voronoi cells of atoms, exact in one, two and three dimensions and on the sphere.

    A cell is named by its number `row * K + atom`. Nothing here depends on a bandwidth, so that one
    tessellation serves a whole sweep. It serves many threads at once, too: what has been found is
    never changed, only replaced as a whole.

    Arguments:
        points: atoms in float64, `(B, K, e)`; gradients flow to them.
        space: where they lie.
        directions: estimate volumes along these directions instead; None where they are exact.
    """

    def __init__(self, points: Tensor, space: Space, directions: Directions | None) -> None:
        self.dim = space.dim(points.shape[-1])
        planar, solid = self.dim == 2, self.dim == 3 and directions is None
        self.points, self.space = space.snap(points), space
        self.directions = directions or (None if planar or solid else Directions())
        self._fixed = self.points.detach()
        self._polygons = _Polygons(self._fixed, space) if planar else None
        self._solids = SolidCells(self._fixed, space) if solid and isinstance(space, Box) else None
        self._rays: tuple[Tensor, Rays | SolidRays] | None = None
        self._tree: PlaceTree | None = None
        self._twins: Twins | None = None
        self._winners: _Winners | None = None

    def split(self, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Row and atom, `(C,)` each, of cells `(C,)` given by number."""
        return cell // self.points.shape[1], cell % self.points.shape[1]

    def nearest(self, y: Tensor, row: Tensor) -> Tensor:
        """Atom nearest to each `y` `(N, e)` in its row `(N,)`; the first of equals.

        A point is given to the other side of a border only if it is closer to that border than
        about d + 1 times 2.2e-16, the rounding of float64, of its distance to the atom.

        The atoms found last are kept, since a sweep over bandwidths asks for them again; but not on
        a GPU, which would have to wait until they are compared.
        """
        if y.device.type != "cpu":
            return self._find_nearest(y, row)
        last = self._winners  # read once: another thread may replace it
        if last is not None and torch.equal(last.y, y) and torch.equal(last.row, row):
            return last.atom.clone()
        atom = self._find_nearest(y, row)
        if y.numel() <= KEPT:
            self._winners = _Winners(y.clone(), row.clone(), atom.clone())
        return atom

    def _find_nearest(self, y: Tensor, row: Tensor) -> Tensor:
        """:meth:`nearest`, whatever was found before."""
        if not self._is_searched(row):
            return nearest_of_rows(self._fixed, y, row)
        tree = self._tree  # read once: another thread may replace it
        if tree is None:
            self._tree = tree = place_tree(self._fixed[0])
        return nearest_of_shared(tree, self._fixed[0], y)

    def _is_searched(self, row: Tensor) -> bool:
        """Whether a search finds nearest atoms faster than a comparison with all of them."""
        rows, count, size = self._fixed.shape
        enough = len(row) if size == 1 else min(count, len(row))
        return rows == 1 and row.device.type == "cpu" and enough >= SEARCHED

    def log_mass(self, cell: Tensor, kernel: Kernel) -> Tensor:
        """Log of the kernel's mass in cells `(C,)`; -inf where a twin has the cell."""
        if self._solids is not None:
            mass = self._solids.log_mass(self.points, cell, kernel)
        elif self.directions is None:
            return self._polygon_mass(cell, kernel)
        else:
            mass = self.rays_of(cell).log_mass(self.points, kernel)
        return torch.where(self.is_empty(cell), torch.full_like(mass, -math.inf), mass)

    def log_mass_error(self, cell: Tensor, kernel: Kernel) -> Tensor:
        """Standard error of :meth:`log_mass`, `(C,)`; 0 where it is exact."""
        if self.directions is None:
            return torch.zeros(len(cell), dtype=self.points.dtype, device=cell.device)
        return self.rays_of(cell).error(self._fixed, kernel)

    def twins(self) -> Twins:
        """Which atoms coincide, `(B, K)`; found by sorting, and kept."""
        found = self._twins  # read once: another thread may replace it
        if found is None:
            self._twins = found = twins(self._fixed)
        return found

    def has_twin(self, cell: Tensor) -> Tensor:
        """Which cells' atoms `(C,)` coincide with another one."""
        if self._polygons is not None:
            return self._polygons.select(cell).twin
        if self._is_sorted(cell):
            return self.twins().shared[self.split(cell)]
        return torch.cat([same.sum(1) for same in self._coincide(cell)]) > 1

    def is_empty(self, cell: Tensor) -> Tensor:
        """Which cells `(C,)` belong to an earlier atom that coincides with theirs."""
        if self._polygons is not None:
            return self._polygons.select(cell).empty
        row, atom = self.split(cell)
        if self._is_sorted(cell):
            return self.twins().first[row, atom] != atom
        first = [same.to(torch.uint8).argmax(1) for same in self._coincide(cell)]
        return torch.cat(first) != atom

    def _is_sorted(self, cell: Tensor) -> bool:
        """Whether twins are looked for among sorted atoms: not for few cells."""
        return self._twins is not None or len(cell) >= FEW * len(self._fixed)

    def _coincide(self, cell: Tensor) -> Iterator[Tensor]:
        """Which of the `K` atoms coincide with each cell's own: masks `(N, K)`, part by part."""
        size = self.points.shape[1] * (self.points.shape[2] * 9 + 9)
        for part in slices(len(cell), size):
            row, atom = self.split(cell[part])
            yield (self._fixed[row] == self._fixed[row, atom][:, None]).all(-1)

    def moments(self, cell: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means over cells `(C, e)` of `y - z` and of its squares, under the cut kernel.

        In the plane and on the sphere they are exact, whether volumes are or not.
        """
        row, atom = self.split(cell)
        z = self._fixed[row, atom]
        if self._solids is not None:
            return self._solids.moments(cell, kernel)
        if self._polygons is None:
            return self.rays_of(cell).means(self._fixed, kernel)
        mass = self._polygon_mass(cell, kernel).detach().exp()[:, None]
        edges, empty, _ = self._polygons.select(cell)
        first, second = torch.zeros_like(z), torch.zeros_like(z)
        for start in range(0, len(edges.cell), SECTORS):
            part = edges[slice(start, start + SECTORS)]
            at = kernel.at(kernel.h[part.cell])
            both = sector_moments(part, at, z[part.cell])
            for total, x in zip((first, second), both, strict=True):
                total.index_add_(0, part.cell, x)
        first, second = first / mass, second / mass
        alone = (torch.bincount(edges.cell, minlength=len(cell)) == 0) & ~empty
        if alone.any():  # on the sphere: no border, so the cell is the sphere
            first[alone], second[alone] = sphere_moments(kernel.at(kernel.h[alone]), z[alone])
        return first, second

    def moment_replicates(self, cell: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """:meth:`moments` as parts of the directions have them, and last as all have them.

        They are `(R + 1, C, e)` each; their scatter is the error.
        """
        if self._polygons is None and self._solids is None:
            return self.rays_of(cell).replicates(self._fixed, kernel)
        first, second = self.moments(cell, kernel)
        return first.expand(2, -1, -1), second.expand(2, -1, -1)

    def sample(
        self,
        cell: Tensor,
        kernel: Kernel,
        which: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """A point `(N, e)` for each of the draws `which` `(N,)` among the cells `(C,)`."""
        row, atom = (x[which] for x in self.split(cell))
        if self._polygons is not None:
            edges = self._polygons.select(cell).edges
            z = self._fixed[row, atom]
            y = _sample_polygons(edges, kernel, which, z, generator)
        elif self.dim == 1:
            rays = self.rays_of(cell)
            assert isinstance(rays, Rays)
            y = rays.sample_line(self._fixed, kernel, which, generator)
        else:
            assert isinstance(self.space, Box)
            each = kernel.at(kernel.h[which])
            y = sample_polytopes(self._fixed, row, atom, each, self.space, generator)
        return self.space.project(y)

    def _polygon_mass(self, cell: Tensor, kernel: Kernel) -> Tensor:
        """:meth:`log_mass` from the edges, which is exact."""
        assert self._polygons is not None
        edges, empty, _ = self._polygons.select(cell)
        whole = math.log(4 * math.pi) if isinstance(kernel, Uniform) else 0.0
        without_edges = self.points.new_full(cell.shape, whole).masked_fill_(empty, -math.inf)
        return cell_mass(self.points, kernel, edges, *self.split(cell), without_edges)

    def edges_of(self, cell: Tensor) -> Edges:
        """Edges of cells `(C,)` in the plane or on the sphere, numbered by their place."""
        assert self._polygons is not None
        return self._polygons.select(cell).edges

    def rays_of(self, cell: Tensor) -> Rays | SolidRays:
        """Rays of cells `(C,)`, cast now if they were not the last ones asked for."""
        last = self._rays  # read once: another thread may replace it
        if last is None or not torch.equal(last[0], cell):
            assert self.directions is not None
            last = cell, self._cast(*self.split(cell), self.directions)
            self._rays = last
        return last[1]

    def _cast(self, row: Tensor, atom: Tensor, how: Directions) -> Rays | SolidRays:
        """Rays of cells: as the paper draws them, or those that suit the space."""
        if isinstance(self.space, Sphere):
            return SphereRays(self._fixed, row, atom, self.space, how)
        if self.dim > 2 and not how.random:
            assert isinstance(self.space, Box)
            return SolidRays(self._fixed, row, atom, self.space, how)
        return Rays(self._fixed, row, atom, self.space, how)


class _Winners(NamedTuple):
    """The nearest atoms `(N,)` of points `y` `(N, e)` in their rows `(N,)`."""

    y: Tensor
    row: Tensor
    atom: Tensor


class _Selection(NamedTuple):
    """Edges of some cells `(C,)`, numbered by their place; which are empty and which have twins."""

    edges: Edges
    empty: Tensor
    twin: Tensor


class _Found(NamedTuple):
    """Cells walked so far: `slot` `(B * K,)` says which of these a cell is, or -1.

    The edges of a slot are `number` ones from `start` on; `empty` and `twin` are by slot, too.
    """

    slot: Tensor
    start: Tensor
    number: Tensor
    edges: Edges
    empty: Tensor
    twin: Tensor


class _Polygons:
    """Edges of the cells asked for so far.

    No tensor is changed once it can be seen from here: threads that add cells at the same time
    publish their own results, and at worst one of them is found again.
    """

    def __init__(self, points: Tensor, space: Space) -> None:
        self.points, self.space = points, space
        count = points.shape[0] * points.shape[1]
        slot = torch.full((count,), -1, dtype=torch.long, device=points.device)
        nothing, no_mask = slot[:0], slot[:0] < 0
        edges = Edges.none(surface_of(space), points)
        self._found = _Found(slot, nothing, nothing, edges, no_mask, no_mask)
        self._last: tuple[Tensor, _Selection] | None = None

    def select(self, cell: Tensor) -> _Selection:
        """What is known of cells `(C,)`; found now if need be."""
        last = self._last  # read once: another thread may replace it
        if last is None or not torch.equal(last[0], cell):
            found = self._find(cell)
            slot = found.slot[cell]
            start, count = found.start[slot], found.number[slot]
            place = torch.repeat_interleave(torch.arange(len(cell), device=cell.device), count)
            index = torch.arange(len(place), device=cell.device)
            edges = found.edges[index + (start - (count.cumsum(0) - count))[place]]
            edges.cell = place
            last = cell, _Selection(edges, found.empty[slot], found.twin[slot])
            self._last = last
        return last[1]

    def _find(self, cell: Tensor) -> _Found:
        """All that was found so far, with cells `(C,)` among it."""
        old = self._found
        new = torch.unique(cell[old.slot[cell] < 0])
        if not len(new):
            return old
        row, atom = new // self.points.shape[1], new % self.points.shape[1]
        edges, twin, empty = walk(self.points, row, atom, self.space)
        count = torch.bincount(edges.cell, minlength=len(new))
        slot = old.slot.clone()
        slot[new] = torch.arange(len(new), device=new.device) + len(old.start)
        self._found = found = _Found(
            slot,
            torch.cat([old.start, count.cumsum(0) - count + len(old.edges.cell)]),
            torch.cat([old.number, count]),
            Edges.cat([old.edges, edges]),
            torch.cat([old.empty, empty]),
            torch.cat([old.twin, twin]),
        )
        return found


def _sample_polygons(
    edges: Edges,
    kernel: Kernel,
    which: Tensor,
    z: Tensor,
    generator: torch.Generator | None,
) -> Tensor:
    """A point `(N, e)` for each draw: an edge by the mass of its sector, then a point therein.

    Arguments:
        edges: edges of `C` cells.
        kernel: its `h` is `(C,)`.
        which: cell of each draw, `(N,)`.
        z: its atom, `(N, e)`.
        generator: source of randomness; torch's own if None.
    """
    mass = sector_masses(edges, kernel)
    total = mass.new_zeros(len(kernel.h)).index_add_(0, edges.cell, mass)
    share = (mass / total[edges.cell]).cumsum(0)  # grows by 1 a cell
    count = torch.bincount(edges.cell, minlength=len(total))
    last, rank = count.cumsum(0) - 1, count.gt(0).cumsum(0) - 1
    y = torch.empty_like(z)
    for start in range(0, len(which), DRAWS):
        part = slice(start, start + DRAWS)
        cell, here = which[part], z[part]
        at = kernel.at(kernel.h[cell])
        u = torch.rand(len(cell), dtype=z.dtype, device=z.device, generator=generator)
        edge = torch.searchsorted(share, rank[cell] + u)
        edge = edge.clamp(last[cell] - count[cell] + 1, last[cell])  # whatever the rounding
        alone = count[cell] == 0  # on the sphere: no border, so the cell is the sphere
        if alone.any():
            y[part][alone] = sample_sphere(kernel.at(at.h[alone]), here[alone], generator)
            edge, here, at = edge[~alone], here[~alone], kernel.at(at.h[~alone])
        y[part][~alone] = sample_sectors(edges[edge], at, here, generator)
    return y
