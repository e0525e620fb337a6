"""Synthetic problems: laws of a point y of the plane given x in [0, 1], with known densities."""

from __future__ import annotations

__all__ = [
    "PROBLEMS",
    "ChangingDamier",
    "MoonCloud",
    "Problem",
    "RotatingMoons",
    "SingleGaussian",
    "UniformToGaussians",
    "inputs",
    "problem",
]

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.special import log_ndtr, ndtr, ndtri


class Problem(ABC):
    """The true law of a synthetic problem, which can be sampled and evaluated.

    A new problem is a subclass with the three members below and a line in :data:`PROBLEMS`.
    """

    title: ClassVar[str]

    @abstractmethod
    def sample(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        """Draws `n` points for each input.

        Arguments:
            x: inputs, with shape `(*, 1)`.
            n: number of points for each.
            generator: source of randomness.

        Returns:
            The points, with shape `(n, *, 2)`.
        """

    @abstractmethod
    def log_density(self, x: Tensor, y: Tensor) -> Tensor:
        """Log-density of y given x.

        Arguments:
            x: inputs, with shape `(*, 1)`.
            y: points, with shape `(*, 2)`, broadcast against x.

        Returns:
            The log-densities, with shape `(*)`.
        """

    def frozen(self, n: int, generator: torch.Generator) -> Problem:
        """The law as a set of n points stands for it in the published code: often itself."""
        return self


@dataclass(frozen=True)
class SingleGaussian(Problem):
    r"""Synthetic problem: one Gaussian whatever x, :math:`y \sim \mathcal{N}(\mu, \sigma^2 I)`.

    Example:
        >>> SingleGaussian().log_density(torch.zeros(1), torch.tensor([0.25, 0.25]))
        tensor(1.3810)
    """

    title: ClassVar[str] = "Single Gaussian"
    mean: tuple[float, float] = (0.25, 0.25)
    scale: float = 0.2

    def sample(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        noise = torch.randn((n, *x.shape[:-1], 2), generator=generator, dtype=x.dtype)
        return x.new_tensor(self.mean) + self.scale * noise

    def log_density(self, x: Tensor, y: Tensor) -> Tensor:
        log_p = _log_gaussian(y - y.new_tensor(self.mean), self.scale)
        return log_p + torch.zeros_like(x[..., 0])


@dataclass(frozen=True)
class RotatingMoons(Problem):
    r"""Synthetic problem: two moons, turned by the angle :math:`2 \pi x`.

    A point is drawn on one of two half circles, :math:`(\cos t, \sin t)` and
    :math:`(1 - \cos t, 1/2 - \sin t)` with t uniform on :math:`[0, \pi]`, Gaussian noise is added,
    the box from `low` to `high` is stretched to :math:`[-1, 1]^2`, and the whole is turned. The
    density is the integral over t, by Gauss-Legendre quadrature.

    Arguments:
        low: lower corner of the box, with shape `(2,)`.
        high: upper corner.
        noise: standard deviation of the noise.
    """

    title: ClassVar[str] = "Rotating Moons"
    nodes: ClassVar[int] = 128  # of the quadrature: relative error below 1e-9 for a noise of .1
    smooth: ClassVar[float] = 0.1  # below this noise the half circle is integrated in arcs
    low: Sequence[float]
    high: Sequence[float]
    noise: float = 0.1

    def sample(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        point = self._draw((n, *x.shape[:-1]), generator, x.dtype)
        low, high = x.new_tensor(self.low), x.new_tensor(self.high)
        return _turn(2 * (point - low) / (high - low) - 1, 2 * math.pi * x[..., 0])

    def frozen(self, n: int, generator: torch.Generator) -> MoonCloud:
        return MoonCloud(self._draw((n,), generator, torch.float64), self.noise)

    def _draw(
        self, shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype
    ) -> Tensor:
        """Points `(*shape, 2)` before they are stretched and turned."""
        t = math.pi * torch.rand(shape, generator=generator, dtype=dtype)
        second = torch.rand(shape, generator=generator, dtype=dtype) < 0.5
        curve = _half_circle(t)
        curve = torch.where(second[..., None], curve.new_tensor([1.0, 0.5]) - curve, curve)
        return curve + self.noise * torch.randn(curve.shape, generator=generator, dtype=dtype)

    def log_density(self, x: Tensor, y: Tensor) -> Tensor:
        low, high = y.new_tensor(self.low), y.new_tensor(self.high)
        point = low + (_turn(y, -2 * math.pi * x[..., 0]) + 1) * (high - low) / 2
        # Mirrored, the second half circle is the first.
        moons = self._log_moon(point), self._log_moon(point.new_tensor([1.0, 0.5]) - point)
        return torch.logaddexp(*moons) + ((high - low) / 2).log().sum() - math.log(2)

    def _log_moon(self, point: Tensor) -> Tensor:
        r"""Log-density of the first half circle with noise, at points `(*, 2)`.

        With :math:`|p - c|^2 = |p|^2 + 1 - 2 p \cdot c` the integral over the curve is a product of
        matrices and a sum.
        """
        where, weight = np.polynomial.legendre.leggauss(self.nodes)
        arcs = max(1, math.ceil(self.smooth / self.noise))
        t = (2 * np.arange(arcs)[:, None] + where + 1).ravel() * math.pi / 2 / arcs
        curve = _half_circle(point.new_tensor(t))
        share = np.tile(np.log(weight / 2 / arcs), arcs)
        inner = point @ curve.T / self.noise**2 + point.new_tensor(share)
        outer = _log_gaussian(point, self.noise) - 1 / (2 * self.noise**2)
        return torch.logsumexp(inner, -1) + outer


@dataclass(frozen=True)
class MoonCloud(Problem):
    """Synthetic problem: moons as in the published code, samples of some points drawn once.

    The points' own extremes are what is stretched to the square, so the law depends on their
    number. The density is that of :class:`RotatingMoons` with the same stretch.

    Arguments:
        points: the points, neither stretched nor turned, with shape `(n, 2)`.
        noise: standard deviation of the noise they were drawn with.
    """

    title: ClassVar[str] = RotatingMoons.title
    points: Tensor
    noise: float

    def sample(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        chosen = torch.randint(len(self.points), (n, *x.shape[:-1]), generator=generator)
        low, high = self.points.amin(0), self.points.amax(0)
        stretched = (2 * (self.points - low) / (high - low) - 1).to(x.dtype)
        return _turn(stretched[chosen], 2 * math.pi * x[..., 0])

    def log_density(self, x: Tensor, y: Tensor) -> Tensor:
        low, high = self.points.amin(0).tolist(), self.points.amax(0).tolist()
        return RotatingMoons(low, high, self.noise).log_density(x, y)


@dataclass(frozen=True)
class ChangingDamier(Problem):
    """Synthetic problem: a 4 x 4 chessboard, x is the probability of the black squares.

    Black squares are those whose row and column indices have different parity. All squares of a
    colour are equally likely, and points are uniform within.
    """

    title: ClassVar[str] = "Changing Damier"

    def sample(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        shape = (n, *x.shape[:-1])
        black = torch.rand(shape, generator=generator, dtype=x.dtype) < x[..., 0]
        row = torch.randint(4, shape, generator=generator)
        half = torch.randint(2, shape, generator=generator)
        column = 2 * half + (row + black.long()) % 2
        within = torch.rand((*shape, 2), generator=generator, dtype=x.dtype)
        return (torch.stack([row, column], -1) + within) / 2 - 1

    def log_density(self, x: Tensor, y: Tensor) -> Tensor:
        square = (2 * (y + 1)).floor().clamp(0, 3).long()
        black = square.sum(-1) % 2 == 1
        mass = torch.where(black, x[..., 0], 1 - x[..., 0])
        return torch.where((y.abs() <= 1).all(-1), mass / 2, 0).log()


@dataclass(frozen=True)
class UniformToGaussians(Problem):
    """Synthetic problem: from uniform on two quadrants to a Gaussian on each of the others.

    The law is uniform at x = 0, and quadrants are those of the square.
    Lower left and upper right have probability (1 - x) / 2 each. Upper left (`wide`) and lower
    right (`narrow`) have x / 2 each, with a Gaussian around their middle.

    Arguments:
        wide: standard deviation on the upper left.
        narrow: standard deviation on the lower right.
        restricted: whether the Gaussians are cut to their quadrants, as the paper prints it, or
            not, as in its published code.
    """

    title: ClassVar[str] = "Uniform to Gaussians"
    wide: float = 0.25
    narrow: float = 0.05
    restricted: bool = True

    def sample(self, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
        shape = (n, *x.shape[:-1])
        gaussian = torch.rand(shape, generator=generator, dtype=x.dtype) < x[..., 0]
        first = torch.rand(shape, generator=generator, dtype=x.dtype) < 0.5
        u = torch.rand((*shape, 2), generator=generator, dtype=torch.float64)
        scale = torch.where(first, self.wide, self.narrow).double().unsqueeze(-1)
        low = ndtr(-0.5 / scale) if self.restricted else torch.zeros_like(scale)
        noise = scale * ndtri((low + u * (1 - 2 * low)).clamp(1e-300, 1 - 1e-16))
        # Middle of the quadrant: (-, +) and (+, -) for Gaussians, (-, -) and (+, +) for the others.
        left = torch.where(first, -0.5, 0.5)
        middle = torch.stack([left, torch.where(gaussian, -left, left)], -1)
        return (middle + torch.where(gaussian[..., None], noise, u - 0.5)).to(x.dtype)

    def log_density(self, x: Tensor, y: Tensor) -> Tensor:
        right, upper = y[..., 0] >= 0, y[..., 1] >= 0
        in_square = (y.abs() <= 1).all(-1)
        uniform = torch.where(in_square & (right == upper), 0.0, -math.inf)
        wide = self._log_gaussian(y, (-0.5, 0.5), self.wide, in_square & ~right & upper)
        narrow = self._log_gaussian(y, (0.5, -0.5), self.narrow, in_square & right & ~upper)
        gaussians = torch.logaddexp(wide, narrow)
        mass = x[..., 0]
        return torch.logaddexp((1 - mass).log() + uniform, mass.log() + gaussians) - math.log(2)

    def _log_gaussian(
        self, y: Tensor, mean: tuple[float, float], scale: float, in_quadrant: Tensor
    ) -> Tensor:
        log_p = _log_gaussian(y - y.new_tensor(mean), scale)
        if not self.restricted:
            return log_p
        log_mass = 2 * torch.log1p(-2 * log_ndtr(y.new_tensor(-0.5 / scale)).exp())
        return torch.where(in_quadrant, log_p - log_mass, -math.inf)


PROBLEMS: dict[str, type[Problem]] = {
    "single_gaussian": SingleGaussian,
    "rotating_moons": RotatingMoons,
    "changing_damier": ChangingDamier,
    "uniform_to_gaussians": UniformToGaussians,
}


def problem(name: str, **constants: Any) -> Problem:
    """The synthetic problem of that name, with its constants."""
    if name not in PROBLEMS:
        raise ValueError(f"unknown problem {name!r}: expected one of {', '.join(PROBLEMS)}")
    return PROBLEMS[name](**constants)


def inputs(n: int, generator: torch.Generator) -> Tensor:
    """Draws n inputs of synthetic problems, uniform on [0, 1], with shape `(n, 1)`."""
    return torch.rand((n, 1), generator=generator)


def _log_gaussian(difference: Tensor, scale: float) -> Tensor:
    """Log-density of an isotropic Gaussian in the plane, `(*)`, at a difference `(*, 2)`."""
    square = (difference / scale).square().sum(-1)
    return -square / 2 - math.log(2 * math.pi * scale**2)


def _half_circle(t: Tensor) -> Tensor:
    """Points `(*, 2)` of the unit circle at the angles t `(*)`."""
    return torch.stack([t.cos(), t.sin()], -1)


def _turn(y: Tensor, angle: Tensor) -> Tensor:
    """Points `(*, 2)` turned counter-clockwise about 0 by angles `(*)`."""
    cos, sin = angle.cos(), angle.sin()
    return torch.stack([cos * y[..., 0] - sin * y[..., 1], sin * y[..., 0] + cos * y[..., 1]], -1)
