"""Where the target lives: boxes of any dimension, and the unit sphere."""

from __future__ import annotations

__all__ = ["Box", "Space", "Sphere", "unit"]

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy

import torch
from torch import Tensor
from torch.distributions import constraints

GRAIN = 2.0**-51  # of unit vectors: what lies below is rounding


class Space(ABC):
    """A domain in which cells are cut: a :class:`Box` or the :class:`Sphere`."""

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Whether the domain has a finite volume."""

    @abstractmethod
    def dim(self, event: int) -> int:
        """Dimension of the domain whose points have `event` coordinates."""

    @abstractmethod
    def check(self, points: Tensor, name: str) -> None:
        """Raise an error that names `points` `(*, e)` if one of them cannot be an atom here."""

    @abstractmethod
    def contains(self, y: Tensor) -> Tensor:
        """Whether each of the points `(*, e)` lies in the domain, `(*)`."""

    def outside(self, y: Tensor) -> Tensor:
        """Which targets `(*, e)` have density 0, `(*)`; nan has not."""
        return ~self.contains(y)

    def normalise(self, y: Tensor, name: str, validate: bool) -> Tensor:
        """Targets `(*, e)` as a density takes them: checked, of length 1, on the sphere."""
        return y

    @abstractmethod
    def sides(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Outward normals `(S, e)` of the sides, and how far points `z` `(*, e)` are, `(*, S)`."""

    @abstractmethod
    def project(self, y: Tensor) -> Tensor:
        """Undo rounding: the nearest point of the domain."""

    def snap(self, points: Tensor) -> Tensor:
        """Let atoms `(*, e)` that differ by the rounding of unit vectors alone coincide."""
        return points

    def on(self, device: torch.device) -> Space:
        """The same domain for points on a device, to which nothing is copied any more."""
        return self

    @property
    @abstractmethod
    def support(self) -> constraints.Constraint:
        """The domain as a constraint of `torch.distributions`, for points on its device."""


class Box(Space):
    """A box `[low, high]` of any dimension; sides may be infinite.

    Arguments:
        low: lowest coordinates, a number for all axes or `(d,)`.
        high: highest coordinates, likewise.

    Example:
        >>> Box(-1.0, 1.0).contains(torch.tensor([[0.5, 1.0], [0.5, 1.1]]))
        tensor([ True, False])
    """

    def __init__(
        self, low: Tensor | Sequence[float] | float, high: Tensor | Sequence[float] | float
    ):
        self.low = torch.as_tensor(low, dtype=torch.float64)
        self.high = torch.as_tensor(high, dtype=torch.float64)
        if self.low.dim() > 1 or self.high.dim() > 1:
            raise ValueError(
                "low and high of a Box are numbers or vectors (d,), found shapes "
                f"{tuple(self.low.shape)} and {tuple(self.high.shape)}"
            )
        if self.low.dim() == self.high.dim() == 1 and len(self.low) != len(self.high):
            raise ValueError(
                "low and high of a Box must have as many axes, found "
                f"{len(self.low)} and {len(self.high)}"
            )
        self.low, self.high = torch.broadcast_tensors(self.low, self.high)
        if not (self.low < self.high).all():  # also when one of them is nan
            raise ValueError(f"Box needs low < high on every axis, found {low} and {high}")
        self._bounded = bool((self.low.isfinite() & self.high.isfinite()).all())

    def __repr__(self) -> str:
        return f"Box({self.low.tolist()}, {self.high.tolist()})"

    @property
    def bounded(self) -> bool:
        return self._bounded

    def on(self, device: torch.device) -> Box:
        if self.low.device == device or device.type == "mps":  # which has no float64
            return self
        moved = copy(self)
        moved.low, moved.high = self.low.to(device), self.high.to(device)
        return moved

    @property
    def support(self) -> constraints.Constraint:
        return constraints.independent(constraints.interval(self.low, self.high), 1)

    def dim(self, event: int) -> int:
        if self.low.dim() == 1 and len(self.low) != event:
            raise ValueError(
                f"points have {event} coordinates, but {self} has {len(self.low)} axes: "
                "they must be as many"
            )
        return event

    def bounds(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Lowest and highest coordinates `(d,)` in the type of points `(*, d)`.

        For points that are whole numbers they are float64.
        """
        dtype = like.dtype if like.is_floating_point() else torch.float64
        low, high = (side.to(like.device, dtype) for side in (self.low, self.high))
        return low.expand(like.shape[-1]), high.expand(like.shape[-1])

    def check(self, points: Tensor, name: str) -> None:
        outside = self.outside(points)
        if outside.any():
            raise ValueError(
                f"{name} {points[outside][0].tolist()} lies outside {self}; move it inside or "
                "widen the box"
            )

    def contains(self, y: Tensor) -> Tensor:
        """Whether each of the points `(*, e)` lies in the box, `(*)`; nan does."""
        low, high = self.bounds(y)
        return ~((y < low) | (y > high)).any(-1)

    def sides(self, z: Tensor) -> tuple[Tensor, Tensor]:
        low, high = self.bounds(z)
        eye = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
        return torch.cat([eye, -eye]), torch.cat([high - z, z - low], -1)

    def project(self, y: Tensor) -> Tensor:
        """The nearest point of the box; gradients pass, as atoms and sides may be rounded apart."""
        nearest = torch.clamp(y.detach(), *self.bounds(y))
        return nearest + (y - y.detach()) if y.requires_grad else nearest


class Sphere(Space):
    """The unit sphere in three dimensions; points are unit vectors `(*, 3)`."""

    def __repr__(self) -> str:
        return "Sphere()"

    @property
    def bounded(self) -> bool:
        return True

    @property
    def support(self) -> constraints.Constraint:
        return _UnitVector()

    def dim(self, event: int) -> int:
        if event != 3:
            raise ValueError(f"points on a Sphere are unit vectors (*, 3), found (*, {event})")
        return 2

    def check(self, points: Tensor, name: str) -> None:
        outside = ~self.contains(points)
        if outside.any():
            raise ValueError(
                f"{name} {points[outside][0].tolist()} is not a unit vector; normalise it"
            )

    def contains(self, y: Tensor) -> Tensor:
        return _UnitVector().check(y)

    def outside(self, y: Tensor) -> Tensor:
        """Which targets `(*, 3)` have density 0, `(*)`: none, since they are normalised."""
        return torch.zeros(y.shape[:-1], dtype=torch.bool, device=y.device)

    def normalise(self, y: Tensor, name: str, validate: bool) -> Tensor:
        self.dim(y.shape[-1])
        if validate:
            self.check(y, name)
        return self.project(y)

    def sides(self, z: Tensor) -> tuple[Tensor, Tensor]:
        return z.new_zeros(0, 3), z.new_zeros(*z.shape[:-1], 0)

    def project(self, y: Tensor) -> Tensor:
        return unit(y)

    def snap(self, points: Tensor) -> Tensor:
        snapped = torch.round(points.detach() / GRAIN) * GRAIN
        return points + (snapped - points).detach()

    def frame(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Two unit tangents `(*, 3)` at `z` `(*, 3)`; the second is a quarter turn left."""
        axis = torch.zeros_like(z).scatter_(-1, z.abs().argmin(-1, keepdim=True), 1.0)
        first = unit(torch.linalg.cross(axis, z))
        return first, torch.linalg.cross(z, first)

    def move(self, z: Tensor, ray: Tensor, w: Tensor) -> Tensor:
        """Points at spread `w` `(*, 1)` from `z` `(*, 3)` along unit tangents `ray` `(*, 3)`."""
        return (1 - w) * z + (w * (2 - w)).clamp_min(0).sqrt() * ray


def unit(vectors: Tensor) -> Tensor:
    """Vectors `(*, e)` scaled to length 1."""
    return torch.nn.functional.normalize(vectors, dim=-1, eps=torch.finfo(vectors.dtype).tiny)


class _UnitVector(constraints.Constraint):
    """Unit vectors, up to rounding in float32."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        norm: Tensor = torch.linalg.vector_norm(value, dim=-1)
        return (norm - 1).abs() <= 1e-4
