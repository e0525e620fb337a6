r"""Fixed convex sets E of the plane, and their probability under mixtures of atoms.

An isotropic kernel at z has the mass :math:`E_s[F_h(t_1(s)) - F_h(t_0(s))]` in a convex set, where
:math:`[t_0, t_1]` is the part of the ray from z along s that lies in the set, and :math:`F_h` the
kernel's radial distribution function. Cut to a Voronoi cell, rays end where the cell does:

.. math:: P_K(E) = \sum_k \gamma_k \frac{E_s[F_h(t_1 \wedge r_k) - F_h(t_0 \wedge r_k)]}
    {E_s[F_h(r_k)]}, \qquad r_k = reach_k(s)

The mean is over directions at equal angles. Its integrand is continuous with kinks, so that the
error falls with the square of their number, for every bandwidth. Uncut Gaussians have closed forms.
"""

from __future__ import annotations

__all__ = [
    "Disc",
    "HalfPlane",
    "Rectangle",
    "Region",
    "cut_probability",
    "dirac_probability",
    "kernel_probability",
    "partition",
    "region",
]

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from scipy.special import chndtr
from torch import Tensor
from torch.special import ndtr

from vwta.geometry.outlines import Outlines

ANGLES = 128  # directions around each atom: errors of 1e-4 on average, and less for many atoms
OUTLINE = 1024  # directions in which a cell and a set are tried for common points
CELLS = 4096  # cells whose rays are held at once


class Region(ABC):
    """A convex set of the plane whose probability theory speaks of."""

    @abstractmethod
    def contains(self, y: Tensor) -> Tensor:
        """Whether points `(*, 2)` lie in the set, `(*)`."""

    @abstractmethod
    def chord(self, z: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        """Where rays from `z` `(*, 2)` along unit vectors `(*, 2)` enter and leave the set, `(*)`.

        Both are distances >= 0; they are equal for rays that miss it.
        """

    @abstractmethod
    def gaussian_mass(self, z: Tensor, h: Tensor) -> Tensor:
        """Mass `(*)` of Gaussians with means `z` `(*, 2)` and scales h, which broadcast to it."""


@dataclass(frozen=True)
class Rectangle(Region):
    """Convex set of the theory: a box with sides along the axes.

    Arguments:
        low: lower corner.
        high: upper corner.
    """

    low: Sequence[float]
    high: Sequence[float]

    def contains(self, y: Tensor) -> Tensor:
        return ((y >= y.new_tensor(self.low)) & (y <= y.new_tensor(self.high))).all(-1)

    def chord(self, z: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        ends = [(z.new_tensor(side) - z) / direction for side in (self.low, self.high)]
        enter, leave = torch.minimum(*ends).amax(-1), torch.maximum(*ends).amin(-1)
        return _forward(enter, leave)

    def gaussian_mass(self, z: Tensor, h: Tensor) -> Tensor:
        below: Tensor = ndtr((z.new_tensor(self.low) - z) / h[..., None])
        above: Tensor = ndtr((z.new_tensor(self.high) - z) / h[..., None])
        return (above - below).prod(-1)


@dataclass(frozen=True)
class HalfPlane(Region):
    r"""Convex set of the theory: a half plane :math:`y_1 \cos a + y_2 \sin a \le c`.

    Arguments:
        angle: the normal's angle a, in radians.
        offset: distance c of the border from 0, with a sign.
    """

    angle: float
    offset: float

    def contains(self, y: Tensor) -> Tensor:
        return self._slack(y) >= 0

    def chord(self, z: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        rate, slack = direction @ self._normal(direction), self._slack(z)
        hit = slack / rate
        far = torch.full_like(hit, math.inf)
        enter = torch.where(rate < 0, hit, torch.where(slack >= 0, -far, far))
        leave = torch.where(rate > 0, hit, far)
        return _forward(enter, leave)

    def gaussian_mass(self, z: Tensor, h: Tensor) -> Tensor:
        mass: Tensor = ndtr(self._slack(z) / h)
        return mass

    def _normal(self, like: Tensor) -> Tensor:
        return like.new_tensor([math.cos(self.angle), math.sin(self.angle)])

    def _slack(self, y: Tensor) -> Tensor:
        return self.offset - y @ self._normal(y)


@dataclass(frozen=True)
class Disc(Region):
    """Convex set of the theory: a disc.

    Arguments:
        centre: its centre.
        radius: its radius.
    """

    centre: Sequence[float]
    radius: float

    def contains(self, y: Tensor) -> Tensor:
        return (y - y.new_tensor(self.centre)).square().sum(-1) <= self.radius**2

    def chord(self, z: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        apart = z.new_tensor(self.centre) - z
        middle = (apart * direction).sum(-1)
        square = self.radius**2 - apart.square().sum(-1) + middle**2
        half = square.clamp_min(0).sqrt()
        return _forward(middle - half, middle + half)

    def gaussian_mass(self, z: Tensor, h: Tensor) -> Tensor:
        """By the non-central chi-squared law of the squared distance from the disc's centre."""
        apart = (z - z.new_tensor(self.centre)).square().sum(-1)
        h = h.expand_as(apart)
        ratio, noncentral = (self.radius / h).square(), apart / h.square()
        return torch.as_tensor(chndtr(ratio.numpy(), 2, noncentral.numpy()))


REGIONS: dict[str, type[Region]] = {"box": Rectangle, "half_plane": HalfPlane, "disc": Disc}


def region(shape: str, **arguments: Any) -> Region:
    """Convex set of a shape, with the arguments of its class.

    Example:
        >>> region("disc", centre=[0.0, 0.0], radius=0.5).contains(torch.tensor([0.3, 0.3]))
        tensor(True)
    """
    if shape not in REGIONS:
        raise ValueError(f"unknown shape {shape!r}: expected one of {', '.join(REGIONS)}")
    return REGIONS[shape](**arguments)


def dirac_probability(points: Tensor, masses: Tensor, sets: Sequence[Region]) -> Tensor:
    """Probability of convex sets under atoms alone, with shape `(*, sets)`.

    Arguments:
        points: atoms, with shape `(*, K, 2)`.
        masses: their masses, with shape `(*, K)`.
        sets: the sets.
    """
    return torch.stack([(masses * one.contains(points)).sum(-1) for one in sets], -1)


def kernel_probability(
    points: Tensor, masses: Tensor, h: Tensor | float, sets: Sequence[Region]
) -> Tensor:
    """Probability of convex sets under Gaussians at atoms, uncut, `(*, sets)`; exact.

    Arguments:
        points: atoms, with shape `(*, K, 2)`.
        masses: their masses, with shape `(*, K)`.
        h: bandwidth, which broadcasts against the masses.
        sets: the sets.
    """
    h = torch.as_tensor(h, dtype=points.dtype)
    return torch.stack([(masses * one.gaussian_mass(points, h)).sum(-1) for one in sets], -1)


def cut_probability(
    outlines: Outlines, masses: Tensor, bandwidths: Sequence[float | None], sets: Sequence[Region]
) -> Tensor:
    """Probability of convex sets under kernels cut to Voronoi cells, `(bandwidths, B, sets)`.

    An atom without a cell, since an earlier one coincides with it, counts as a point.

    Arguments:
        outlines: cells of `(B, K)` atoms.
        masses: masses of the atoms, with shape `(B, K)`.
        bandwidths: bandwidths of Gaussian kernels; None for the uniform kernel.
        sets: the sets.
    """
    directions = _around(ANGLES).to(masses)
    reach = outlines.reach(directions).flatten(0, 1)
    atoms, total = outlines.points.flatten(0, 1), masses.flatten()
    share = masses.new_empty(len(bandwidths), len(total), len(sets))
    for start in range(0, len(total), CELLS):
        part = slice(start, start + CELLS)
        z, end = atoms[part, None], reach[part]
        whole = [_mass(end, h) for h in bandwidths]
        for column, one in enumerate(sets):
            inner, outer = (torch.minimum(t, end) for t in one.chord(z, directions))
            as_point = one.contains(atoms[part]).to(end)
            for index, h in enumerate(bandwidths):
                inside = _mass(outer, h) - _mass(inner, h)
                share[index, part, column] = torch.where(
                    whole[index] > 0, inside / whole[index], as_point
                )
    weighted = share * total[:, None]
    return weighted.view(len(bandwidths), *masses.shape, len(sets)).sum(-2)


def partition(outlines: Outlines, one: Region) -> tuple[Tensor, Tensor]:
    """Which cells lie in a convex set, and which its border cuts, with shape `(B, K)` each.

    Arguments:
        outlines: cells of `(B, K)` atoms.
        one: the set.
    """
    corners = one.contains(outlines.points[:, :, None] + outlines.corners)
    directions = _around(OUTLINE).to(outlines.points)
    reach = outlines.reach(directions)
    enter, leave = one.chord(outlines.points[:, :, None], directions)
    meets = (torch.minimum(leave, reach) > torch.minimum(enter, reach)).any(-1)
    inside = corners.all(-1)
    return inside, (meets | corners.any(-1)) & ~inside


def _around(count: int) -> Tensor:
    """Unit vectors `(count, 2)` at equal angles, none of them along an axis."""
    angle = 2 * math.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count
    return torch.stack([angle.cos(), angle.sin()], -1)


def _forward(enter: Tensor, leave: Tensor) -> tuple[Tensor, Tensor]:
    """The part of a line in a set from its origin on; equal ends where there is none."""
    enter = enter.clamp_min(0)
    return enter, torch.maximum(leave, enter)


def _mass(reach: Tensor, h: float | None) -> Tensor:
    """Sum over rays `(*, S)` of the radial mass, up to a factor, `(*)`."""
    square = reach.square()
    return (square if h is None else -torch.expm1(square / (-2 * h**2))).sum(-1)
