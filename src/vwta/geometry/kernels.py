"""Isotropic kernels, written by how far a point lies from the atom.

All kernels are functions of one number, the *spread* `w = |y - z|^2 / 2`. In a box it is half the
squared distance, on the unit sphere it is `1 - cos(angle)`, so that the Gaussian and the von
Mises-Fisher kernel share the form `exp(-w / h^2)`.
"""

from __future__ import annotations

__all__ = [
    "Gaussian",
    "Kernel",
    "Uniform",
    "VonMisesFisher",
    "phi",
    "sample_sphere",
    "sphere_moments",
]

import math
from abc import ABC, abstractmethod
from typing import Self

import torch
from torch import Tensor
from torch.distributions import constraints

from vwta.geometry.spaces import Box, Space, Sphere

WIDEST = 1e13  # bandwidth among infinite sides, which stand at a distance of 1e15


class Kernel(ABC):
    """A kernel: a law around an atom whose density depends on the spread `w` alone.

    Its mass within a spread is the radial distribution function :math:`F_h(w)`.

    Attributes:
        h: bandwidth; broadcasts against the masses `(*, K)` of a mixture, so a number serves all
            atoms, `(*, 1)` one value an input, `(*, K)` one value an atom.
    """

    h: Tensor

    def __repr__(self) -> str:
        h = f"{self.h.item():g}" if self.h.numel() == 1 else f"tensor{tuple(self.h.shape)}"
        return f"{type(self).__name__}({h})"

    @abstractmethod
    def with_bandwidth(self, h: Tensor | float) -> Kernel:
        """The same kernel at another bandwidth."""

    def at(self, h: Tensor) -> Self:
        """The same kernel with an already checked bandwidth of another shape."""
        kernel = object.__new__(type(self))
        kernel.h = h
        return kernel

    @abstractmethod
    def check(self, space: Space) -> None:
        """Raise an error if this kernel cannot be cut to the cells of a space."""

    @abstractmethod
    def check_bandwidth(self, dtype: torch.dtype, bounded: bool = True) -> None:
        """Raise an error if `h` is too small or too large to count with.

        Arguments:
            dtype: type of the atoms, in which densities are computed.
            bounded: whether the kernel is cut to a bounded space, or not cut at all.
        """

    @abstractmethod
    def log_density(self, w: Tensor, d: int) -> Tensor:
        """Log-density at spread `w` in dimension `d`, by volume (area on the sphere)."""

    @abstractmethod
    def log_mass(self, r: Tensor, d: int) -> Tensor:
        """Log of the mass within distance `r > 0` (angle on the sphere), in dimension `d`."""

    def mass(self, r: Tensor, d: int) -> Tensor:
        """Mass within distance `r >= 0`, with its gradient at 0 too."""
        zero = r == 0
        mass = self.log_mass(torch.where(zero, torch.ones_like(r), r), d).exp()
        return torch.where(zero, torch.zeros_like(r), mass)

    @abstractmethod
    def spread_at(self, u: Tensor, w: Tensor, d: int) -> Tensor:
        """Spread whose mass is the fraction `u` of the mass within spread `w`."""

    def radial_moment(self, r: Tensor, d: int, p: int) -> Tensor:
        r"""Moment :math:`\int_0^r t^p dF_h(t)` of the distance, in a box of dimension `d`."""
        raise NotImplementedError(
            f"{self!r} has no radial moments in a box; use a Gaussian or Uniform kernel"
        )


class Gaussian(Kernel):
    r"""Isotropic Gaussian kernel, :math:`(2 \pi h^2)^{-d/2} \exp(-w / h^2)`.

    Arguments:
        h: standard deviation along each axis, positive and finite.

    Example:
        >>> Gaussian(0.5).log_density(torch.zeros(1), d=2)
        tensor([-0.4516])
    """

    centred = True  # whether the mean of the uncut kernel is its atom
    narrowest = 1e-100  # bandwidth; areas of cells in units of h^2 must not underflow

    def __init__(self, h: Tensor | float) -> None:
        self.h = _bandwidth(h)

    def with_bandwidth(self, h: Tensor | float) -> Gaussian:
        return type(self)(h)

    def check(self, space: Space) -> None:
        if not isinstance(space, Box):
            raise TypeError(f"{space} needs a VonMisesFisher or Uniform kernel, found {self!r}")

    def check_bandwidth(self, dtype: torch.dtype, bounded: bool = True) -> None:
        single = torch.finfo(dtype).bits < 64
        low = max(self.narrowest, 1e-17) if single else self.narrowest
        high = (1e17 if single else 1e100) if bounded else WIDEST
        bad = (self.h < low) | (self.h > high)
        if bad.any():
            where = "" if bounded else " in a space with infinite sides"
            raise ValueError(
                f"{type(self).__name__} of {dtype} has h from {low:g} to {high:g}{where}, found "
                f"{self.h[bad][0].item():g}: scale the points, or use Uniform() for a wide kernel"
            )

    @property
    def support(self) -> constraints.Constraint:
        """Where the uncut kernel has a density."""
        return constraints.real_vector

    def normalise(self, y: Tensor, name: str, validate: bool) -> Tensor:
        """Points `(*, e)` as the uncut kernel takes them, see :meth:`Space.normalise`."""
        return y

    def sample(self, z: Tensor, generator: torch.Generator | None) -> Tensor:
        """A point of the uncut kernel around each atom `z` `(*, e)`; `h` is `(*)` or a number."""
        noise = torch.randn(z.shape, dtype=z.dtype, device=z.device, generator=generator)
        return z + self.h[..., None] * noise

    def moments(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Means of `y - z` and its squares under the uncut kernels at `z` `(*, e)`."""
        return torch.zeros_like(z), (self.h**2)[..., None]

    def log_density(self, w: Tensor, d: int) -> Tensor:
        return -w / self.h**2 - d * (self.h.log() + 0.5 * math.log(2 * math.pi))

    def log_mass(self, r: Tensor, d: int) -> Tensor:
        return _log_chi(d, r, self.h)

    def mass(self, r: Tensor, d: int) -> Tensor:
        return torch.erf(_finite(r) / self.h / math.sqrt(2)) if d == 1 else super().mass(r, d)

    def spread_at(self, u: Tensor, w: Tensor, d: int) -> Tensor:
        x = w / self.h**2
        if d == 1:
            small = torch.erfinv(u * torch.erf(x.sqrt())) ** 2
        elif d == 2:
            small = -torch.log1p(u * torch.expm1(-x))
        else:
            raise NotImplementedError(
                f"{self!r} has no inverse of its mass in dimension {d}: d must be 1 or 2"
            )
        return torch.minimum(small * self.h**2, w)

    def radial_moment(self, r: Tensor, d: int, p: int) -> Tensor:
        scale = math.exp(math.lgamma((d + p) / 2) - math.lgamma(d / 2)) * 2 ** (p / 2)
        positive = torch.where(r > 0, r, torch.ones_like(r))
        part = torch.where(r > 0, _log_chi(d + p, positive, self.h).exp(), torch.zeros_like(r))
        return scale * self.h**p * part


class VonMisesFisher(Gaussian):
    r"""Von Mises-Fisher kernel on the unit sphere, proportional to :math:`\exp(-\kappa w)`.

    Its concentration is :math:`\kappa = 1 / h^2`. Mass within an angle :math:`r`, with
    :math:`w = 1 - \cos r`: :math:`F = (1 - e^{-\kappa w}) / (1 - e^{-2 \kappa})`.

    Arguments:
        h: bandwidth, positive and finite.

    Example:
        >>> VonMisesFisher(1e4).log_density(torch.zeros(1), d=2)  # nearly 1 / (4 pi)
        tensor([-2.5310])
    """

    centred = False
    narrowest = 1e-14  # unit vectors are rounded to 1e-16

    def check(self, space: Space) -> None:
        if not isinstance(space, Sphere):
            raise TypeError(f"{space} needs a Gaussian or Uniform kernel, found {self!r}")

    @property
    def support(self) -> constraints.Constraint:
        return Sphere().support

    def normalise(self, y: Tensor, name: str, validate: bool) -> Tensor:
        return Sphere().normalise(y, name, validate)

    def sample(self, z: Tensor, generator: torch.Generator | None) -> Tensor:
        flat = self.at(self.h.expand(z.shape[:-1]).flatten())
        return Sphere().project(sample_sphere(flat, z.reshape(-1, 3), generator)).view(z.shape)

    def moments(self, z: Tensor) -> tuple[Tensor, Tensor]:
        return sphere_moments(self, z)

    def log_density(self, w: Tensor, d: int) -> Tensor:
        kappa = self.h**-2
        return -kappa * w - math.log(4 * math.pi) - phi(2 * kappa).log()

    def log_mass(self, r: Tensor, d: int) -> Tensor:
        kappa, w = self.h**-2, 2 * torch.sin(r / 2) ** 2
        return (w / 2).log() + phi(kappa * w).log() - phi(2 * kappa).log()

    def spread_at(self, u: Tensor, w: Tensor, d: int) -> Tensor:
        return super().spread_at(u, w, 2)

    def radial_moment(self, r: Tensor, d: int, p: int) -> Tensor:
        return Kernel.radial_moment(self, r, d, p)


class Uniform(Kernel):
    """Uniform kernel over the cell: the limit of large bandwidth. Its "mass" is a volume.

    Only a cut kernel can be uniform: it is for :class:`VoronoiMixture` on a bounded space.
    """

    def __init__(self) -> None:
        self.h = torch.tensor(math.inf)

    def __repr__(self) -> str:
        return "Uniform()"

    def with_bandwidth(self, h: Tensor | float) -> Kernel:
        raise TypeError("a Uniform kernel has no bandwidth; use Gaussian(h) or VonMisesFisher(h)")

    def check(self, space: Space) -> None:
        if not space.bounded:
            raise ValueError(
                f"a Uniform kernel needs a bounded space, found {space}; make its sides finite"
            )

    def check_bandwidth(self, dtype: torch.dtype, bounded: bool = True) -> None:
        """Nothing: there is no bandwidth."""

    def log_density(self, w: Tensor, d: int) -> Tensor:
        return torch.zeros_like(w)

    def log_mass(self, r: Tensor, d: int) -> Tensor:
        return d * r.log() + _log_ball(d)

    def mass(self, r: Tensor, d: int) -> Tensor:
        return math.exp(_log_ball(d)) * r**d

    def spread_at(self, u: Tensor, w: Tensor, d: int) -> Tensor:
        return w * u ** (2 / d)

    def radial_moment(self, r: Tensor, d: int, p: int) -> Tensor:
        return math.exp(_log_ball(d)) * d / (d + p) * r ** (d + p)


def phi(x: Tensor) -> Tensor:
    """:math:`(1 - e^{-x}) / x` of kernels, continued by 1 at 0; positive, smooth, never cancels."""
    x = x.clamp_min(torch.finfo(x.dtype).tiny)
    return -torch.expm1(-x) / x


def sample_sphere(kernel: Kernel, z: Tensor, generator: torch.Generator | None) -> Tensor:
    """One point of the whole sphere for each atom `z` `(C, 3)`; the kernel's `h` is `(C,)`."""
    turn, u = (
        torch.rand(len(z), dtype=z.dtype, device=z.device, generator=generator) for _ in range(2)
    )
    turn = 2 * math.pi * turn[:, None]
    w = kernel.spread_at(u, torch.full_like(u, 2.0), 2)[:, None]
    first, second = Sphere().frame(z)
    return Sphere().move(z, turn.cos() * first + turn.sin() * second, w)


def sphere_moments(kernel: Kernel, z: Tensor) -> tuple[Tensor, Tensor]:
    r"""Means over the whole sphere of `y - z` and its squares, for a kernel at `z` `(*, 3)`.

    They follow from those of the spread, :math:`E[w] = 1 / \kappa - 2 / (e^{2 \kappa} - 1)` and
    :math:`E[w^2] = 2 E[w] / \kappa - 4 / (e^{2 \kappa} - 1)`.
    """
    kappa = kernel.h.to(z)[..., None] ** -2  # 0 for Uniform
    wide = kappa < 1e-2
    large = torch.where(wide, torch.ones_like(kappa), kappa)
    tail = 2 / torch.expm1(2 * large)
    first = torch.where(wide, 1 - kappa / 3 + kappa**3 / 45, 1 / large - tail)
    series = 4 / 3 - 2 * kappa / 3 + 2 * kappa**2 / 45 + 2 * kappa**3 / 45 - 4 * kappa**4 / 945
    second = torch.where(wide, series, 2 * (1 / large - tail) / large - 2 * tail)
    return -first * z, second * z**2 + (2 * first - second) * (1 - z**2) / 2


def _bandwidth(h: Tensor | float) -> Tensor:
    """A bandwidth as a tensor of floats, checked."""
    if not isinstance(h, Tensor) or not h.is_floating_point():
        h = torch.as_tensor(h, dtype=torch.float64)
    bad = ~(torch.isfinite(h) & (h > 0))
    if bad.any():
        raise ValueError(f"h must be positive and finite, found {h[bad][0].item()}")
    return h


def _log_ball(d: int) -> float:
    """Log-volume of the unit ball in dimension `d`."""
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


def _log_chi(d: int, r: Tensor, h: Tensor) -> Tensor:
    """Log-probability that a Gaussian of scale `h` in dimension `d` stays within `r > 0`.

    It is the regularised incomplete gamma function P(d / 2, x), x = r^2 / 2 h^2, in log space: for
    small x by its series, so that it neither underflows nor loses digits.
    """
    if d == 1:
        return torch.erf(_finite(r) / h / math.sqrt(2)).log()
    x = _finite(r) ** 2 / (2 * h**2)
    if d == 2:
        return (-torch.expm1(-x)).log()
    small = x < 1
    near = torch.where(small, x, torch.ones_like(x))
    series = term = torch.ones_like(x)
    for n in range(1, 24):  # below 1e-17 for x < 1
        term = term * near / (d / 2 + n)
        series = series + term
    log_near = d / 2 * near.log() - near + series.log() - math.lgamma(d / 2 + 1)
    far = torch.where(small, torch.ones_like(x), x)
    log_far = torch.special.gammainc(torch.full_like(far, d / 2), far).log()
    return torch.where(small, log_near, log_far)


def _finite(r: Tensor) -> Tensor:
    """Distances with 1e15 for infinity, which no kernel can tell from it and has a gradient."""
    return torch.where(r.isinf(), torch.full_like(r, 1e15), r)
