"""Outlines of Voronoi cells: areas, diameters, radii in the plane; borders on the sphere."""

from __future__ import annotations

__all__ = ["Outlines", "sphere_borders"]

import math
from functools import cached_property

import torch
from torch import Tensor

from vwta.geometry.polygons import walk
from vwta.geometry.spaces import Box, Sphere


class Outlines:
    """Outlines of all Voronoi cells of a batch of atoms in a box of the plane.

    An atom that coincides with an earlier one has no cell: its area, diameter and reach are 0.

    Arguments:
        points: atoms in float64, with shape `(B, K, 2)`.
        box: the domain, which cuts the cells.

    Example:
        >>> points = torch.tensor([[[0.5, 0.5], [1.5, 0.5]]], dtype=torch.float64)
        >>> halves = Outlines(points, Box(0.0, [2.0, 1.0]))
        >>> halves.areas, halves.diameters
        (tensor([[1., 1.]], dtype=torch.float64), tensor([[1.4142, 1.4142]], dtype=torch.float64))
    """

    def __init__(self, points: Tensor, box: Box) -> None:
        self.points = points
        self._shape = points.shape[:2]
        rows, count = self._shape
        cell = torch.arange(rows * count, device=points.device)
        row, atom = cell // count, cell % count
        self._edges, _, _ = walk(points, row, atom, box)

    @cached_property
    def corners(self) -> Tensor:
        """Corners relative to the atoms, counter-clockwise, with shape `(B, K, C, 2)`.

        Cells with fewer than C corners repeat their first one.
        """
        edges, cells = self._edges, self._shape.numel()
        count = torch.bincount(edges.cell, minlength=cells)
        start = edges.foot + edges.s1[:, None] * edges.tangent
        most = max(1, int(count.max()))
        place = (
            torch.arange(len(edges.cell), device=start.device)
            - (count.cumsum(0) - count)[edges.cell]
        )
        padded = start.new_zeros(cells, most, 2)
        first = place == 0
        padded[edges.cell[first]] = start[first, None]
        padded[edges.cell, place] = start
        return padded.view(*self._shape, most, 2)

    @property
    def areas(self) -> Tensor:
        r"""Areas :math:`\lambda(Y_k)`, by the shoelace formula, with shape `(B, K)`."""
        a, b = self.corners, self.corners.roll(-1, -2)
        return (a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]).sum(-1) / 2

    @property
    def diameters(self) -> Tensor:
        """Largest distances between two corners, with shape `(B, K)`."""
        return torch.cdist(self.corners, self.corners).amax((-2, -1))

    @property
    def radii(self) -> Tensor:
        r"""Largest distances from the atoms, :math:`\max_{y \in Y_k} |y - z_k|`, shape `(B, K)`."""
        return self.corners.square().sum(-1).amax(-1).sqrt()

    def farthest(self) -> tuple[Tensor, Tensor]:
        r"""Point of the domain farthest from all atoms, `(B, 2)`, and its distance, `(B,)`.

        The distance is :math:`r_K = \max_y \min_k |y - z_k|`, and the point a corner of cells.
        """
        square = self.corners.square().sum(-1).flatten(1)
        best = square.argmax(1)
        corner = (self.points[:, :, None] + self.corners).flatten(1, 2)
        rows = torch.arange(len(best))
        return corner[rows, best], square[rows, best].sqrt()

    def reach(self, directions: Tensor) -> Tensor:
        """How far each cell goes from its atom along some directions, with shape `(B, K, S)`.

        Only the lines of a cell's own edges can end a ray.

        Arguments:
            directions: unit vectors, with shape `(S, 2)`.
        """
        edges = self._edges
        speed = (edges.normal @ directions.T) / edges.a.clamp_min(1e-300)[:, None]
        cell = edges.cell[:, None].expand_as(speed)
        fastest = speed.new_full((self._shape.numel(), len(directions)), torch.inf)
        fastest.scatter_reduce_(0, cell, speed, "amax", include_self=False)
        return (1 / fastest).view(*self._shape, -1)


def sphere_borders(points: Tensor, step: float) -> list[Tensor]:
    """Borders of Voronoi cells on the sphere, arcs of great circles halfway between two atoms.

    Arguments:
        points: atoms, unit vectors with shape `(K, 3)`.
        step: largest angle between neighbouring points of an arc, in degrees.

    Returns:
        For each border points along it, unit vectors in float64 with shape `(n, 3)`.
    """
    atoms = Sphere().project(points.double())
    which = torch.arange(len(atoms))
    edges, _, _ = walk(atoms[None], torch.zeros_like(which), which, Sphere())
    once = edges[edges.line > edges.cell]  # each border is seen from both sides
    arcs = []
    for foot, tangent, start, end in zip(once.foot, once.tangent, once.s1, once.s2, strict=True):
        count = math.ceil(math.degrees(float(end - start)) / step) + 2
        s = torch.linspace(float(start), float(end), count, dtype=torch.float64)[:, None]
        arcs.append(foot * s.cos() + tangent * s.sin())
    return arcs
