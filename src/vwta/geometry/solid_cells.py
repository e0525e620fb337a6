"""Exact masses and moments of kernels in the cells of a box of three dimensions."""

from __future__ import annotations

__all__ = ["SolidCells"]

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vwta.geometry.cone_moments import cone_moments
from vwta.geometry.cones import cone_slopes, log_cone_mass
from vwta.geometry.facets import Facets, facets_of
from vwta.geometry.kernels import Kernel, Uniform
from vwta.geometry.memory import MEMORY, slices
from vwta.geometry.nearby import Nearby
from vwta.geometry.polyhedra import CELLS, polyhedra
from vwta.geometry.spaces import Box

WORKED = 2**17  # bytes a cell that is worked on
KEPT = MEMORY // 2**16  # cells whose faces are kept: in general position 16 kB each


class SolidCells:
    """Cells of a batch of atoms in a box of R^3 as polyhedra, by :mod:`vwta.geometry.cones`.

    A cell is named by its number `row * K + atom`. One whose twin comes first is that of its twin.
    The faces of the cells last asked for are kept, for every bandwidth. What has been published is
    replaced as a whole, so that threads can share it.

    Arguments:
        points: atoms in float64, `(B, K, 3)`, without gradients.
        space: the domain.
    """

    def __init__(self, points: Tensor, space: Box) -> None:
        self.points, self.space = points, space
        self._neighbours = Nearby(points)
        self._last: tuple[Tensor, Facets] | None = None

    def log_mass(self, points: Tensor, cell: Tensor, kernel: Kernel) -> Tensor:
        """Log of the kernel's mass in cells, `(C,)`, differentiable in `points` and `kernel.h`."""
        log_mass: Tensor = _LogMass.apply(points, kernel.h, self, cell, kernel)  # type: ignore[no-untyped-call]
        return log_mass

    def moments(self, cell: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means over cells `(C, 3)` of `y - z` and of its squares, under the cut kernel."""
        found = self.points.new_empty(2, len(cell), 3)
        for part, facets in self.facets(cell):
            found[0, part], found[1, part] = cone_moments(facets, kernel.at(kernel.h[part]))
        return found[0], found[1]

    def facets(self, cell: Tensor) -> Iterator[tuple[Tensor, Facets]]:
        """Parts of cells `(C,)` that are worked on at once, and their faces.

        A cell that is asked for many times is cut once.
        """
        distinct, which = torch.unique(cell, return_inverse=True)
        kept = self._of(distinct) if len(distinct) <= KEPT else None
        order = torch.argsort(which, stable=True)
        for some in slices(len(cell), WORKED):
            part = order[some]
            if not len(part):
                continue
            place = which[part]
            if kept is not None:
                yield part, kept.take(place)
            else:
                first = int(place[0])
                here = distinct[first : int(place[-1]) + 1]
                yield part, self._cut(here).take(place - first)

    def _of(self, cell: Tensor) -> Facets:
        """Faces of cells `(C,)`, cut now if they were not the last ones asked for."""
        last = self._last  # read once: another thread may replace it
        if last is None or not torch.equal(last[0], cell):
            self._last = last = cell, self._cut(cell)
        return last[1]

    def _cut(self, cell: Tensor) -> Facets:
        count, parts = self.points.shape[1], []
        for part in cell.split(CELLS):
            row, atom = part // count, part % count
            parts.append(
                facets_of(*polyhedra(self.points, row, atom, self.space, self._neighbours))
            )
        return Facets.cat(parts)


class _LogMass(torch.autograd.Function):
    """Log-mass of cells, with gradients from integrals over their faces."""

    @staticmethod
    def forward(
        ctx: Any, points: Tensor, h: Tensor, cells: SolidCells, cell: Tensor, kernel: Kernel
    ) -> Tensor:
        log_mass = points.new_empty(len(cell))
        for part, facets in cells.facets(cell):
            log_mass[part] = log_cone_mass(facets, kernel.at(h[part]))
        ctx.save_for_backward(points, h, cell)
        ctx.cells, ctx.kernel = cells, kernel
        return log_mass

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        points, h, cell = ctx.saved_tensors
        count = points.shape[1]
        grad_points, grad_h = torch.zeros_like(points), torch.zeros_like(h)
        for part, facets in ctx.cells.facets(cell):
            kernel, scale = ctx.kernel.at(h[part]), grad[part][facets.cell]
            own, other, by_h = cone_slopes(facets, kernel, count)
            here = cell[part][facets.cell]
            row, atom = here // count, here % count
            grad_points.index_put_((row, atom), own * scale[:, None], accumulate=True)
            beyond = facets.line.clamp_max(count - 1)
            grad_points.index_put_((row, beyond), other * scale[:, None], accumulate=True)
            grad_h.index_add_(0, part[facets.cell], by_h * scale)
        by_bandwidth = ctx.needs_input_grad[1] and not isinstance(ctx.kernel, Uniform)
        return grad_points, grad_h if by_bandwidth else None, None, None, None
