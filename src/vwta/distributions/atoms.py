"""Atoms and their masses, which all mixtures have in common."""

from __future__ import annotations

__all__ = ["Atoms", "Shape", "broadcast_shapes", "check_tensor", "safe_log", "take_at"]

import math
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

Shape = Size | list[int] | tuple[int, ...]


class Atoms(Distribution):
    """Atoms and their masses: the base class of all mixtures.

    Arguments:
        points: atoms, `(*, K, e)`.
        masses: their masses, non-negative, with sum 1 over K, `(*, K)`.
        h: bandwidth, which broadcasts against the masses, `(*, K)`; None if there is none.
        centres: centres of the atoms' kernels, `(*, K, e)`; None if they are the atoms.
        roots: shapes of these kernels, `(*, K, e, e)`; None if they are isotropic.
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}  # checked by hand, by name

    centres: Tensor | None = None
    roots: Tensor | None = None

    def __init__(
        self,
        points: Tensor,
        masses: Tensor,
        h: Tensor | None,
        validate_args: bool | None,
        centres: Tensor | None = None,
        roots: Tensor | None = None,
    ) -> None:
        check_tensor(points, "points")
        check_tensor(masses, "masses")
        if points.dim() < 2 or masses.dim() < 1:
            raise ValueError(
                f"points are (*, K, d) and masses (*, K), found {tuple(points.shape)} and "
                f"{tuple(masses.shape)}"
            )
        try:
            shape = broadcast_shapes(points.shape[:-1], masses.shape, () if h is None else h.shape)
        except ValueError as error:
            raise ValueError(
                f"points {tuple(points.shape)}, masses {tuple(masses.shape)} and h "
                f"{() if h is None else tuple(h.shape)} do not fit together: "
                "they are (*, K, d), (*, K) and a number or (*, K)"
            ) from error
        if points.shape[-2] != shape[-1] or shape[-1] == 0 or masses.shape[-1] != shape[-1]:
            raise ValueError(
                f"points {tuple(points.shape)} and masses {tuple(masses.shape)} need the same K > 0"
            )
        if centres is not None:
            shape = _with_centres(shape, points, centres)
        if roots is not None:
            shape = _with_roots(shape, points, roots)
        dtype = torch.promote_types(points.dtype, masses.dtype)
        if not dtype.is_floating_point:
            dtype = torch.get_default_dtype()
        if torch.finfo(dtype).bits < 32:
            raise TypeError(f"{dtype} is too coarse for densities; use float32 or float64")
        self.points, self.masses = points.to(dtype), masses.to(dtype)
        self.centres = None if centres is None else centres.to(dtype)
        self.roots = None if roots is None else roots.to(dtype)
        super().__init__(shape[:-1], points.shape[-1:], validate_args=validate_args)
        if self._validate_args:
            _check_finite(points, "points")
            _check_masses(self.masses)
            if centres is not None:
                _check_finite(centres, "centres")
            if roots is not None:
                _check_roots(roots)

    def __repr__(self) -> str:
        parts = [f"K={self.components}", f"batch_shape={tuple(self.batch_shape)}"]
        parts += [repr(vars(self)[name]) for name in ("kernel", "space") if name in vars(self)]
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def components(self) -> int:
        """Number K of atoms."""
        return self.points.shape[-2]

    @property
    def mean(self) -> Tensor:
        return (self.masses[..., None] * self.points).sum(-2).expand(self._extended_shape())

    def _move(self, new: Self, batch_shape: Size) -> Self:
        """Complete a copy of this distribution, expanded to a batch shape."""
        message = f"batch {tuple(self.batch_shape)} cannot expand to {tuple(batch_shape)}"
        try:
            fits = broadcast_shapes(self.batch_shape, batch_shape) == batch_shape
        except ValueError as error:
            raise ValueError(message) from error
        if not fits:
            raise ValueError(message)
        new.points, new.masses = self.points, self.masses
        new.centres, new.roots = self.centres, self.roots
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _batch_with(self, h: Tensor) -> Size:
        """Batch shape together with that of a bandwidth."""
        atoms = (*self.batch_shape, self.components)
        message = (
            f"h has shape {tuple(h.shape)}, but the law has batch shape {tuple(self.batch_shape)} "
            f"and K = {self.components}: h is a number or broadcasts against (*, K)"
        )
        try:
            shape = broadcast_shapes(atoms, h.shape)
        except ValueError as error:
            raise ValueError(message) from error
        if shape[-1] != self.components:
            raise ValueError(message)
        return shape[:-1]

    def _pick(self, sample_shape: Size, generator: torch.Generator | None) -> Tensor:
        """Atoms drawn by their masses, `(sample_shape, batch_shape)`."""
        masses = self.masses.expand(*self.batch_shape, self.components)
        flat = masses.detach().reshape(-1, self.components)
        count = sample_shape.numel()
        if not count or not len(flat):
            return torch.empty(
                sample_shape + self.batch_shape, dtype=torch.long, device=flat.device
            )
        atom = torch.multinomial(flat, count, replacement=True, generator=generator)
        return atom.T.view(sample_shape + self.batch_shape)

    def _points_at(self, atom: Tensor) -> Tensor:
        """Points `(*, e)` of the chosen atoms `(*)`, sample axes first."""
        return take_at(self.points, atom)

    def _about_centre(self, value: Tensor, atom: Tensor) -> tuple[Tensor, Tensor]:
        r"""Spreads :math:`|R^{-1} (y - c)|^2 / 2` of `value` `(*, e)`, and :math:`\log \det R`.

        They are those of the chosen atoms, `(*)` each.
        """
        assert self.centres is not None
        step = value - take_at(self.centres.to(value), atom)
        if self.roots is None:
            return (step**2).sum(-1) / 2, torch.zeros_like(step[..., 0])
        root = take_at(self.roots.to(value).flatten(-2), atom)
        u = step[..., 0] / root[..., 0]
        v = (step[..., 1] - root[..., 2] * u) / root[..., 3]
        return (u**2 + v**2) / 2, root[..., 0].log() + root[..., 3].log()

    def _bandwidth_at(self, h: Tensor, atom: Tensor) -> Tensor:
        """Bandwidth `(*)` of the chosen atoms `(*)`, or the one number that serves all."""
        if not h.dim():
            return h
        return take_at(h[..., None], atom)[..., 0]

    def _target(self, value: Tensor) -> Tensor:
        """The target y `(*, e)`, checked and in floating point."""
        check_tensor(value, "y")
        if value.dim() < 1 or value.shape[-1:] != self.event_shape:
            raise ValueError(
                f"y has shape {tuple(value.shape)}, but its last axis must have size "
                f"{self.event_shape[0]}"
            )
        try:
            broadcast_shapes(value.shape[:-1], self.batch_shape)
        except ValueError as error:
            raise ValueError(
                f"y has shape {tuple(value.shape)}, but the law has batch shape "
                f"{tuple(self.batch_shape)}: y is (*, {self.event_shape[0]}) with axes that "
                "broadcast against the batch"
            ) from error
        if self._validate_args:
            _check_finite(value, "y")
        return value if value.is_floating_point() else value.to(self.points.dtype)


def broadcast_shapes(*shapes: Shape) -> Size:
    """Batch shape of a mixture's arguments, as torch has it, without importing symbolic algebra."""
    return Size(np.broadcast_shapes(*map(tuple, shapes)))


def take_at(points: Tensor, atom: Tensor) -> Tensor:
    """Of the atoms' points `(*, K, e)`, or centres, those of chosen atoms `(*)`, as `(*, e)`.

    Points that serve many laws are not copied for each of them, and neither are their gradients.
    One point in place of `K` serves all atoms.
    """
    points = points[tuple(slice(None if s else 1) for s in points.stride()[:-2])]
    laws, (count, size) = points.shape[:-2], points.shape[-2:]
    row = torch.arange(laws.numel(), device=points.device).view(laws)
    place = (row * count + atom.clamp_max(count - 1)).flatten()
    return points.reshape(-1, size).index_select(0, place).view(*atom.shape, size)


def safe_log(masses: Tensor) -> Tensor:
    """Log of a mixture's masses; where they are 0 it is -inf with a gradient of 0, not nan."""
    present = masses > 0
    return torch.where(present, torch.where(present, masses, 1.0).log(), -math.inf)


def _with_centres(shape: Size, points: Tensor, centres: Tensor) -> Size:
    """Shape `(*, K)` of atoms together with that of the centres of their kernels."""
    if centres.dim() >= 2 and centres.shape[-2:] == points.shape[-2:]:
        try:
            return broadcast_shapes(shape, centres.shape[:-1])
        except ValueError:
            pass
    raise ValueError(
        f"centres have shape {tuple(centres.shape)}, but atoms {(*shape, points.shape[-1])}: "
        "there is one centre for each atom"
    )


def _with_roots(shape: Size, points: Tensor, roots: Tensor) -> Size:
    """Shape `(*, K)` of atoms together with that of the roots of their kernels."""
    size = points.shape[-1]
    if roots.dim() >= 3 and roots.shape[-3:] == (points.shape[-2], size, size):
        try:
            return broadcast_shapes(shape, roots.shape[:-2])
        except ValueError:
            pass
    raise ValueError(
        f"roots have shape {tuple(roots.shape)}, but atoms {(*shape, size)}: there is one root "
        f"({size}, {size}) for each atom"
    )


def _check_roots(roots: Tensor) -> None:
    _check_finite(roots, "roots")
    if roots.triu(1).any() or (roots.diagonal(dim1=-2, dim2=-1) <= 0).any():
        raise ValueError(
            "roots must be lower triangular with a positive diagonal; take the Cholesky factors of "
            "covariances"
        )


def check_tensor(value: object, name: str) -> None:
    """Raises an error that says how to turn what is no tensor, such as an array, into one."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name} must be a tensor, found {type(value).__name__}. Remedy: "
            f"torch.as_tensor({name})"
        )


def _check_finite(values: Tensor, name: str) -> None:
    bad = ~torch.isfinite(values)
    if bad.any():
        where = torch.nonzero(bad)[0].tolist()
        raise ValueError(f"{name} must be finite, found {values[bad][0].item()} at {where}")


def _check_masses(masses: Tensor) -> None:
    _check_finite(masses, "masses")
    if (masses < 0).any():
        raise ValueError(f"masses must not be negative, found {masses.min().item()}")
    total = masses.sum(-1)
    off = (total - 1).abs() > 1e-5
    if off.any():
        raise ValueError(
            f"masses must sum to 1 over K, found a sum of {total[off][0].item()}; normalise them"
        )
