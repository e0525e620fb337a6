"""Voronoi cells of the sphere whose kernels have centres of their own."""

from __future__ import annotations

__all__ = ["SphereCentredCells"]

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vwta.geometry.arcs import Arcs, cut, edge_flows, moments
from vwta.geometry.cells import Tessellation
from vwta.geometry.kernels import Kernel, sample_sphere, sphere_moments
from vwta.geometry.meridians import sample_meridians
from vwta.geometry.surfaces import Edges


class SphereCentredCells:
    """Cells of a tessellation, each asked for a von Mises-Fisher kernel about its own centre.

    Its methods are those of :class:`~vwta.geometry.cells.Tessellation`, for as many cells as there
    are centres.

    Arguments:
        cells: the tessellation; gradients flow to its points.
        centre: centres `(P, 3)` of the kernels, unit vectors in float64; gradients flow to them.
    """

    def __init__(self, cells: Tessellation, centre: Tensor) -> None:
        self.cells, self.centre = cells, centre

    def log_mass(self, cell: Tensor, kernel: Kernel) -> Tensor:
        """Log of the kernels' mass in cells `(P,)`; -inf where a twin has the cell."""
        kappa = kernel.h.expand(len(cell)) ** -2
        edges, (row, atom) = self.cells.edges_of(cell), self.cells.split(cell)
        log_mass: Tensor = _ArcMass.apply(  # type: ignore[no-untyped-call]
            self.cells.points, self.centre, kappa, edges, row, atom
        )
        lone = self._lone(cell, edges)
        if lone.any():
            whole = torch.where(self.cells.is_empty(cell), -math.inf, 0.0).to(log_mass)
            log_mass = torch.where(lone, whole, log_mass)
        return log_mass

    def log_mass_error(self, cell: Tensor, kernel: Kernel) -> Tensor:
        """Standard error of :meth:`log_mass`, `(P,)`: 0, as it is exact."""
        return torch.zeros_like(self.centre[:, 0])

    @torch.no_grad()
    def moments(self, cell: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means over cells `(P, 3)` of `y - z` and of its squares, under the cut kernels."""
        arcs = self._arcs(cell, kernel)
        first, second = moments(arcs)
        lone = self._lone(cell, arcs.edges)
        if lone.any():  # no border, so the cell is the sphere
            step = arcs.centre - arcs.z
            mean, square = sphere_moments(kernel.at(kernel.h.expand(len(cell))), arcs.centre)
            square = square + 2 * step * mean + step**2
            first = torch.where(lone[:, None], mean + step, first)
            second = torch.where(lone[:, None], square, second)
        return first, second

    def moment_replicates(self, cell: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """:meth:`moments` twice, `(2, P, 3)` each: they are exact."""
        first, second = self.moments(cell, kernel)
        return first.expand(2, -1, -1), second.expand(2, -1, -1)

    @torch.no_grad()
    def sample(
        self,
        cell: Tensor,
        kernel: Kernel,
        which: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """A point `(N, 3)` for each of the draws `which` `(N,)` among the cells `(P,)`."""
        arcs = self._arcs(cell, kernel)
        lone = self._lone(cell, arcs.edges)[which]
        y = torch.empty(len(which), 3, dtype=arcs.z.dtype, device=arcs.z.device)
        if lone.any():
            at = kernel.at(kernel.h.expand(len(cell))[which[lone]])
            y[lone] = sample_sphere(at, arcs.centre[which[lone]], generator)
        if not lone.all():
            y[~lone] = sample_meridians(arcs, which[~lone], generator)
        return self.cells.space.project(y)

    def _arcs(self, cell: Tensor, kernel: Kernel) -> Arcs:
        row, atom = self.cells.split(cell)
        z = self.cells.points.detach()[row, atom]
        kappa = kernel.h.expand(len(cell)).detach() ** -2
        return Arcs.seen(self.cells.edges_of(cell), z, self.centre.detach(), kappa)

    def _lone(self, cell: Tensor, edges: Edges) -> Tensor:
        """Which cells have no edges."""
        return ~_bordered(edges, len(cell))


class _ArcMass(torch.autograd.Function):
    r"""Log of the mass of a kernel in cells with edges, with gradients from flows and slopes.

    A border moves by :math:`y \cdot (dz - dz_j) / 2a` with its two atoms, where :math:`2a` is their
    distance; :math:`\partial \log V / \partial c = \kappa E[y]` across the centre.
    """

    @staticmethod
    def forward(
        ctx: Any,
        points: Tensor,
        centre: Tensor,
        kappa: Tensor,
        edges: Edges,
        row: Tensor,
        atom: Tensor,
    ) -> Tensor:
        arcs = Arcs.seen(edges, points[row, atom], centre, kappa)
        found = cut(arcs, sloped=ctx.needs_input_grad[2])
        ctx.save_for_backward(points, found.log_mass, found.slope, row, atom)
        ctx.arcs = arcs
        return found.log_mass

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        points, log_mass, slope, row, atom = ctx.saved_tensors
        arcs, edges = ctx.arcs, ctx.arcs.edges
        flow, _ = edge_flows(arcs, log_mass)
        by_points = None
        if ctx.needs_input_grad[0]:
            by_points = torch.zeros_like(points)
            move = flow * (grad[edges.cell] / (2 * edges.a).clamp_min(1e-300))[:, None]
            by_points.index_put_((row[edges.cell], atom[edges.cell]), move, accumulate=True)
            by_points.index_put_((row[edges.cell], edges.line), -move, accumulate=True)
        turned = arcs.total(torch.linalg.cross(flow, edges.normal))
        by_centre = torch.linalg.cross(arcs.centre, turned)
        by_kappa = torch.where(_bordered(edges, len(row)), slope, 0.0) * grad
        return by_points, by_centre * grad[:, None], by_kappa, None, None, None


def _bordered(edges: Edges, cells: int) -> Tensor:
    """Which of so many cells have edges."""
    none = torch.zeros(cells, dtype=torch.bool, device=edges.cell.device)
    return none.index_fill_(0, edges.cell, True)
