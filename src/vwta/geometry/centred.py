"""Voronoi cells whose kernels have centres of their own, which need not be the cells' atoms."""

from __future__ import annotations

__all__ = ["CentredCells", "check_centred"]

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vwta.geometry.cells import Tessellation
from vwta.geometry.chords import sample_polygons
from vwta.geometry.directions import Directions, Rays
from vwta.geometry.intervals import log_interval_mass, standard_moments, standard_quantile
from vwta.geometry.kernels import Kernel, Uniform
from vwta.geometry.spaces import Space
from vwta.geometry.surfaces import Edges
from vwta.geometry.whitened import Sides, log_masses, means, whiten


def check_centred(
    kernel: Kernel, space: Space, coordinates: int, directions: Directions | None, shaped: bool
) -> None:
    """Raise an error if kernels of this space cannot have centres, or shapes, of their own."""
    dim = space.dim(coordinates)
    if isinstance(kernel, Uniform):
        raise TypeError(
            f"{kernel!r} in {space} cannot have centres: use a Gaussian kernel in a Box, a "
            "VonMisesFisher one on the Sphere, or leave the centres out"
        )
    if dim > 2 or directions is not None:
        how = "along directions" if directions is not None else f"in dimension {dim}"
        raise ValueError(
            f"centres with volumes {how}: kernels about centres of their own are exact on the "
            "line, in the plane and on the sphere, and are for these alone; leave out the centres "
            "or the directions"
        )
    if shaped and dim != 2:
        raise ValueError(f"roots in dimension {dim}: kernels have shapes in the plane alone")


class CentredCells:
    """Cells of a tessellation, each asked for a kernel about a centre of its own.

    Its methods are those of :class:`~vwta.geometry.cells.Tessellation`, for as many cells as there
    are centres.

    Arguments:
        cells: the tessellation; gradients flow to its points.
        centre: centres `(P, e)` of the kernels, anywhere, in float64; gradients flow to them.
        shape: in the plane, matrices `(P, 2, 2)` with which bandwidths are multiplied to get roots
            of the kernels' covariances; isotropic if None. Gradients flow to them, too.
    """

    def __init__(self, cells: Tessellation, centre: Tensor, shape: Tensor | None = None) -> None:
        self.cells, self.centre, self.shape = cells, centre, shape

    def log_mass(self, cell: Tensor, kernel: Kernel) -> Tensor:
        """Log of the kernels' mass in cells `(P,)`; -inf where a twin has the cell."""
        if self.cells.dim == 1:
            z, low, high = self._interval(cell, self.cells.points)
            between = log_interval_mass(z + low, z + high, self.centre[:, 0], kernel.h)
            return torch.where(self.cells.is_empty(cell), -torch.inf, between)
        root = self._root(kernel.h.expand(len(cell)))
        edges, (row, atom) = self.cells.edges_of(cell), self.cells.split(cell)
        log_mass: Tensor = _PolygonMass.apply(  # type: ignore[no-untyped-call]
            self.cells.points, self.centre, root, edges, row, atom
        )
        return log_mass

    def log_mass_error(self, cell: Tensor, kernel: Kernel) -> Tensor:
        """Standard error of :meth:`log_mass`, `(P,)`: 0, as it is exact."""
        return torch.zeros_like(self.centre[:, 0])

    def moments(self, cell: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means over cells `(P, e)` of `y - z` and of its squares, under the cut kernels."""
        with torch.no_grad():
            h = kernel.h.expand(len(cell))
            if self.cells.dim == 2:
                found, root = means(self._sides(cell, h))[1], self._root(h)
                if root.dim() == 1:
                    root = torch.diag_embed(root[:, None].expand(-1, 2))
                square = root @ found.atom_square @ root.mT
                return _times(root, found.atom), square.diagonal(dim1=-2, dim2=-1)
            z, low, high = self._interval(cell, self.cells.points)
            shift = self.centre[:, 0] - z
            lower, upper = (low - shift) / h, (high - shift) / h
            first, second = standard_moments(lower, upper, (high - low) / h)
            at = torch.where(lower >= 0, low, torch.where(upper <= 0, high, shift))
            first, second = first * h, second * h**2
            return (first + at)[:, None], (second + 2 * first * at + at**2)[:, None]

    def moment_replicates(self, cell: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """:meth:`moments` twice, `(2, P, e)` each: they are exact."""
        first, second = self.moments(cell, kernel)
        return first.expand(2, -1, -1), second.expand(2, -1, -1)

    def sample(
        self,
        cell: Tensor,
        kernel: Kernel,
        which: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """A point `(N, e)` for each of the draws `which` `(N,)` among the cells `(P,)`."""
        h = kernel.h.expand(len(cell))
        centre = self.centre[which]
        if self.cells.dim == 2:
            sides = self._sides(cell, h)
            step = sample_polygons(sides, log_masses(sides), which, generator)
            y = centre + _times(self._root(h)[which], step)
        else:
            z, low, high = self._interval(cell, self.cells.points)
            shift = self.centre[:, 0] - z
            lower, upper = (low - shift) / h, (high - shift) / h
            share = torch.rand(len(which), dtype=h.dtype, device=h.device, generator=generator)
            step = standard_quantile(lower[which], upper[which], share)
            y = centre + (h[which] * step)[:, None]
            y = torch.minimum(torch.maximum(y, (z + low)[which, None]), (z + high)[which, None])
        return self.cells.space.project(y)

    def _interval(self, cell: Tensor, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Atoms of cells on the line, and where the cells begin and end relative to them."""
        rays = self.cells.rays_of(cell)
        assert isinstance(rays, Rays)
        row, atom = self.cells.split(cell)
        right, left = rays.reach(points, slice(None)).unbind(-1)
        return points[row, atom][:, 0], -left, right

    def _sides(self, cell: Tensor, h: Tensor) -> Sides:
        """Edges of cells in the plane, in units of their kernels."""
        row, atom = self.cells.split(cell)
        z = self.cells.points.detach()[row, atom]
        return whiten(self.cells.edges_of(cell), self.centre.detach() - z, self._root(h).detach())

    def _root(self, h: Tensor) -> Tensor:
        """Standard deviations `(P,)` of the kernels, or roots `(P, 2, 2)` of their covariances."""
        return h if self.shape is None else h[:, None, None] * self.shape


class _PolygonMass(torch.autograd.Function):
    r"""Log of the mass of Gaussians in cells of the plane, with gradients from its moments.

    For :math:`N(c, L L^T)` these are :math:`L^{-T} E[u]` by :math:`c` and :math:`L^{-T} (E[u u^T] -
    1)` by :math:`L`. A border moves by :math:`(y - z) / 2a` with the atom at distance :math:`a`, by
    :math:`(z_j - y) / 2a` with the one beyond.
    """

    @staticmethod
    def forward(
        ctx: Any,
        points: Tensor,
        centre: Tensor,
        root: Tensor,
        edges: Edges,
        row: Tensor,
        atom: Tensor,
    ) -> Tensor:
        sides = whiten(edges, centre - points[row, atom], root)
        if not any(ctx.needs_input_grad):
            return log_masses(sides)
        log_mass, found, m0, m1 = means(sides)
        if root.dim() == 1:
            by_centre = found.origin / root[:, None]
            by_root = (found.origin_square.diagonal(dim1=-2, dim2=-1).sum(-1) - 2) / root
        else:
            back = torch.linalg.inv(root).mT
            by_centre = _times(back, found.origin)
            by_root = back @ (
                found.origin_square - torch.eye(2, dtype=root.dtype, device=root.device)
            )
        ctx.save_for_backward(points, by_centre, by_root, m0, m1, row, atom)
        ctx.edges, ctx.sides = edges, sides
        return log_mass

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        points, by_centre, by_root, m0, m1, row, atom = ctx.saved_tensors
        by_points = None
        if ctx.needs_input_grad[0]:
            by_points = torch.zeros_like(points)
            edges, sides = ctx.edges, ctx.sides
            scale = grad[edges.cell] / (2 * sides.squeeze)
            across = (m0 * scale)[:, None] * edges.normal
            turn = (m1 - sides.skew * m0) / (sides.stretch * edges.a.clamp_min(1e-300))
            along = (turn * scale)[:, None] * edges.tangent
            shared = edges.line < points.shape[1]  # the other edges lie on the domain's sides
            here, there = (
                (row[edges.cell][shared], x[shared]) for x in (atom[edges.cell], edges.line)
            )
            by_points.index_put_(here, (across + along)[shared], accumulate=True)
            by_points.index_put_(there, (across - along)[shared], accumulate=True)
        by_root = by_root * grad.view(-1, *[1] * (by_root.dim() - 1))
        return by_points, by_centre * grad[:, None], by_root, None, None, None


def _times(root: Tensor, step: Tensor) -> Tensor:
    """Products `(P, 2)` of roots `(P,)` or `(P, 2, 2)` with steps `(P, 2)`."""
    return root[:, None] * step if root.dim() == 1 else (root @ step[..., None]).squeeze(-1)
