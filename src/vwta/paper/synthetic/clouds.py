"""Points of the true laws as the published code draws them to measure distances."""

from __future__ import annotations

__all__ = ["cloud"]

import math

import torch
from torch import Tensor

from vwta.paper.synthetic.true_laws import Problem, RotatingMoons


def cloud(law: Problem, x: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """Draws `n` points of a synthetic problem for each input, moons as a cloud made for it alone.

    A cloud has `n` points at even steps along both half circles, to which noise is added, and its
    own extremes are stretched to the square: fewer points reach less far, and are stretched more.
    From it `n` points are drawn with replacement. All other laws are sampled as they are.

    Arguments:
        law: the problem.
        x: inputs, with shape `(*, 1)`.
        n: number of points for each.
        generator: source of randomness.

    Returns:
        The points, with shape `(n, *, 2)`.

    Example:
        >>> from vwta.paper.synthetic.true_laws import RotatingMoons
        >>> moons = RotatingMoons(low=[-1.356, -0.873], high=[2.356, 1.373])
        >>> y = cloud(moons, torch.zeros(7, 1), 500, torch.Generator().manual_seed(0))
        >>> y.shape, y[:, 0].unique(dim=0).shape
        (torch.Size([500, 7, 2]), torch.Size([316, 2]))
    """
    if not isinstance(law, RotatingMoons):
        return law.sample(x, n, generator)
    noise = torch.randn((n, *x.shape[:-1], 2), generator=generator, dtype=x.dtype)
    points = _moons(n).to(x.dtype).view(n, *[1] * (x.dim() - 1), 2) + law.noise * noise
    low, high = points.amin(0), points.amax(0)
    chosen = torch.randint(n, points.shape[:-1], generator=generator)[..., None]
    points = points.gather(0, chosen.expand_as(points))
    stretched = torch.view_as_complex(2 * (points - low) / (high - low) - 1)
    angle = 2 * math.pi * x[..., 0]
    return torch.view_as_real(stretched * torch.polar(torch.ones_like(angle), angle))


def _moons(n: int) -> Tensor:
    """Points `(n, 2)` at even steps on two half circles, half of them on each, in float64."""
    first, second = (
        torch.linspace(0, math.pi, count, dtype=torch.float64) for count in (n // 2, n - n // 2)
    )
    upper = torch.stack([first.cos(), first.sin()], -1)
    lower = torch.stack([1 - second.cos(), 0.5 - second.sin()], -1)
    return torch.cat([upper, lower])
