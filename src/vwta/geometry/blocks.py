r"""Boxes around atoms in three and more dimensions, in which kernels have closed forms.

An isotropic Gaussian is a product in every orthonormal frame, so that its integrals over a box
:math:`low \leq Q (y - z) \leq high` are products of error functions. The *cross box* of a cell ends
where the rays from the atom along a frame's axes do. If no border cuts it, it is the cell.
"""

from __future__ import annotations

__all__ = ["Blocks", "block_reach", "cross_boxes", "repeated"]

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from vwta.geometry.kernels import Kernel, Uniform
from vwta.geometry.spaces import Box

ALIGNED = 1e-12  # components of unit normals below this are rounding
TOUCH = 1e-9  # part of its distance by which a border may cut a box


@dataclass
class Blocks:
    """Boxes around `C` atoms, `low <= step @ frame.T <= high` with `low <= 0 <= high`.

    Attributes:
        frame: axes as rows, `(C, d, d)`.
        low: lower ends, `(C, d)`; may be infinite.
        high: upper ends.
        whole: whether the box is the cell, `(C,)`.
        face: what the cell borders on at the lower and at the upper ends: atom `0..K-1`, or a side
            from `K` on, `(C, 2, d)`.
    """

    frame: Tensor
    low: Tensor
    high: Tensor
    whole: Tensor
    face: Tensor

    def __getitem__(self, index: Tensor | slice) -> Blocks:
        return Blocks(*(getattr(self, field.name)[index] for field in fields(self)))

    @staticmethod
    def cat(parts: list[Blocks]) -> Blocks:
        """All boxes of some parts, one part after another."""
        names = [field.name for field in fields(Blocks)]
        return Blocks(*(torch.cat([getattr(part, name) for part in parts]) for name in names))

    @staticmethod
    def choose(first: Tensor, a: Blocks, b: Blocks) -> Blocks:
        """Boxes of `a` where `first` `(C,)` holds, otherwise those of `b`."""
        return Blocks(
            torch.where(first[:, None, None], a.frame, b.frame),
            torch.where(first[:, None], a.low, b.low),
            torch.where(first[:, None], a.high, b.high),
            torch.where(first, a.whole, b.whole),
            torch.where(first[:, None, None], a.face, b.face),
        )

    def reach(self, ray: Tensor) -> Tensor:
        """How far the boxes go along unit vectors `ray` `(C, S, d)`, `(C, S)`."""
        return block_reach(torch.matmul(ray, self.frame.mT), self.low, self.high)

    def log_mass(self, kernel: Kernel) -> Tensor:
        """Log of the kernel's mass, `(C,)`; log-volume if it is uniform. `h` is `(C,)`."""
        return self._sides(kernel)[0].log().sum(-1)

    def moments(self, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means of `y - z` and of its squares under the cut kernel, `(C, d)` each."""
        mass, first, second = self._sides(kernel)
        mean, square = first / mass, second / mass
        step = torch.matmul(mean[:, None], self.frame)[:, 0]
        variance = torch.matmul((square - mean**2)[:, None], self.frame**2)[:, 0]
        return step, variance + step**2

    def slope(self, kernel: Kernel, count: int) -> tuple[Tensor, Tensor]:
        r"""Gradient of the log-mass of boxes that are cells by atoms.

        An atom takes its kernel with it, and a border moves by :math:`(y - z) / 2a` with the atom
        at distance :math:`a`, by :math:`(z_j - y) / 2a` with the one beyond.

        Arguments:
            kernel: its `h` is `(C,)`.
            count: number `K` of atoms.

        Returns:
            By the cell's own atom, `(C, d)`, and by those beyond the faces, `(C, 2, d, d)`.
        """
        mass, first, _ = self._sides(kernel)
        mean = first / mass
        own = torch.zeros_like(mean)
        if not isinstance(kernel, Uniform):
            own = torch.matmul((mean / kernel.h[:, None] ** 2)[:, None], self.frame)[:, 0]
        others = []
        for end, line in ((self.low, self.face[:, 0]), (self.high, self.face[:, 1])):
            shared = (line < count) & end.isfinite()
            at = torch.where(shared, end, 1.0)
            density = kernel.at(kernel.h[:, None]).log_density(at**2 / 2, 1).exp()
            density = torch.where(shared, density / mass / (2 * at.abs()), 0.0)
            across = torch.diag_embed(at)  # (C, face, axis)
            along = mean[:, None] * (1 - torch.eye(at.shape[-1], dtype=at.dtype, device=at.device))
            inner, outer = (
                torch.matmul((across + sign * along) * density[..., None], self.frame)
                for sign in (1, -1)
            )
            own = own + inner.sum(1)
            others.append(outer)
        return own, torch.stack(others, 1)

    def _sides(self, kernel: Kernel) -> tuple[Tensor, Tensor, Tensor]:
        """Integrals of 1, `t` and its square along each axis, `(C, d)` each."""
        at = kernel.at(kernel.h[:, None])
        left, right = -self.low, self.high
        if isinstance(kernel, Uniform):
            return left + right, (right**2 - left**2) / 2, (right**3 + left**3) / 3
        mass = at.mass(left, 1) + at.mass(right, 1)
        first = at.radial_moment(right, 1, 1) - at.radial_moment(left, 1, 1)
        second = at.radial_moment(right, 1, 2) + at.radial_moment(left, 1, 2)
        return mass / 2, first / 2, second / 2


def block_reach(rate: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """How far boxes `(C, d)` go along rays with components `rate` `(C, S, d)`, `(C, S)`."""
    end = torch.where(rate > 0, high[:, None], -low[:, None])
    each = end / rate.abs().clamp_min(torch.finfo(rate.dtype).tiny)
    return torch.where(rate == 0, torch.inf, each).amin(-1)


def cross_boxes(points: Tensor, row: Tensor, atom: Tensor, space: Box) -> tuple[Blocks, Blocks]:
    """Cross boxes of cells along the axes of space, and along those of the borders nearby.

    Arguments:
        points: atoms in float64, `(B, K, d)`.
        row: which of the `B` tessellations each cell belongs to, `(C,)`.
        atom: which of the `K` atoms it surrounds, `(C,)`.
        space: the domain.
    """
    z = points[row, atom]
    apart = points[row] - z[:, None]
    square = (apart**2).sum(-1)
    same = (square == 0) | repeated(points)[row]
    normals, to_side = space.sides(z)
    offset = torch.cat([square.masked_fill(same, torch.inf) / 2, to_side], 1)
    normal = torch.cat([apart, normals.expand(len(z), -1, -1)], 1)
    axes = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device).expand(len(z), -1, -1)
    across = _facing(normal, offset)
    return _cross_box(axes, normal, offset), _cross_box(across, normal, offset)


def repeated(points: Tensor) -> Tensor:
    """Whether an atom lies where an earlier one does, `(B, K)`: its borders are that one's."""
    scale = torch.arange(1, points.shape[-1] + 1, dtype=points.dtype, device=points.device).sqrt()
    order = (points * scale).sum(-1).argsort(dim=1, stable=True)
    sorted_ = points.take_along_dim(order[..., None], 1)
    again = torch.zeros_like(order, dtype=torch.bool)
    again[:, 1:] = (sorted_[:, 1:] == sorted_[:, :-1]).all(-1)
    return torch.zeros_like(again).scatter(1, order, again)


def _facing(normal: Tensor, offset: Tensor) -> Tensor:
    """Orthonormal frames `(C, d, d)`: principal axes of normals, weighted by how near they are.

    A direction in which a cell has no end, such as that of a prism, is an axis of it. The arguments
    are those of :func:`_cross_box`.
    """
    length = torch.linalg.vector_norm(normal, dim=-1).clamp_min(1e-300)
    distance = offset / length
    nearest = distance.masked_fill(distance == 0, torch.inf).amin(1, keepdim=True)
    weight = nearest / torch.maximum(distance, nearest / 10)  # an atom may lie on a side
    weight = torch.where(distance.isinf(), 0.0, weight / length)
    axes: Tensor = torch.linalg.svd(normal * weight[..., None], full_matrices=False).Vh
    largest = axes.gather(-1, axes.abs().argmax(-1, keepdim=True))
    return axes * largest.sign()  # whatever the order of the atoms


def _cross_box(frame: Tensor, normal: Tensor, offset: Tensor) -> Blocks:
    """The cross box along a frame of cells with borders `normal @ step <= offset`.

    Arguments:
        frame: axes as rows, `(C, d, d)`.
        normal: normals of any length, `(C, M, d)`.
        offset: `(C, M)`; infinite where there is no border.
    """
    rate = torch.matmul(normal, frame.mT)  # (C, M, d)
    length = torch.linalg.vector_norm(normal, dim=-1, keepdim=True)
    rate = rate.masked_fill(rate.abs() <= ALIGNED * length, 0.0)
    ends, faces = [], []
    for way in (-rate, rate):
        end = torch.where(way > 0, offset[..., None] / way.clamp_min(1e-300), torch.inf)
        least, face = end.min(1)
        ends.append(least)
        faces.append(face)
    low, high = -ends[0], ends[1]
    farthest = torch.where(rate > 0, high[:, None], low[:, None])
    most = torch.where(rate == 0, 0.0, rate * farthest).sum(-1)
    whole = (most <= offset * (1 + TOUCH)).all(1)
    return Blocks(frame, low, high, whole, torch.stack(faces, 1))
