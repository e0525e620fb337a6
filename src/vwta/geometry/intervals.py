r"""Gaussians cut to intervals: masses in log space, means, quantiles, and all their gradients.

A Gaussian :math:`N(c, h^2)` is cut to :math:`[l, r]`. Its centre may lie anywhere, also far outside
the interval: nothing here cancels or underflows then.
"""

from __future__ import annotations

__all__ = [
    "HALF_LOG_2PI",
    "NODES",
    "SMOOTH",
    "WEIGHTS",
    "log_gaussian",
    "log_interval_mass",
    "log_mass_parts",
    "standard_moments",
    "standard_quantile",
]

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vwta.geometry.quadrature import nodes

NODES, WEIGHTS = (x / 2 for x in np.polynomial.legendre.leggauss(8))  # Gauss, on [-1/2, 1/2]
SMOOTH = 0.5  # a log-density that varies by less is integrated to the last digit by these nodes
HALF_LOG_2PI = math.log(2 * math.pi) / 2
FAR = 30.0  # standard deviations from which on quantiles are found by bisection
HALVINGS = 64
SHORT = 1e-7  # a log-density that varies by less is constant, as far as quantiles can tell
BESIDE = 6.0  # standard deviations from which on moments are found by quadrature
REACH = 36.0  # exp(-REACH) is 2e-16: what quadrature leaves out


def log_gaussian(lower: Tensor, upper: Tensor, width: Tensor) -> Tensor:
    r"""Log of a standard Gaussian's mass between numbers whose difference is `width`.

    Around 0 it is a sum of two error functions. Beside 0, with the end :math:`a \geq 0` nearer to
    it and :math:`b = a + width`, the factor :math:`e^{-a^2 / 2}` is taken out:

    .. math:: \log \int_a^b \varphi = -\frac{a^2}{2} - \log 2 + \log\left(erfcx(a / \sqrt 2) -
        e^{-(b^2 - a^2) / 2} erfcx(b / \sqrt 2)\right)

    and by quadrature what is left of the integral where that difference would cancel.
    """
    near, rest = log_mass_parts(lower, upper, width)
    return torch.where(near < 0, rest, rest - near**2 / 2)


def log_mass_parts(lower: Tensor, upper: Tensor, width: Tensor) -> tuple[Tensor, Tensor]:
    """The nearer end `a` of intervals beside 0, negative around 0, and :func:`log_gaussian`.

    The latter is without its term `-a^2 / 2` where `a` is positive.
    """
    near = torch.maximum(lower, -upper)
    fall = width * (near + width / 2)
    root = math.sqrt(0.5)
    far = torch.special.erfcx((near + width) * root) * torch.exp(-fall)
    beside = torch.log((torch.special.erfcx(near * root) - far).clamp_min(0)) - math.log(2)
    short = torch.zeros_like(fall)
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        step = width * (0.5 + float(node))
        short += float(weight) * torch.exp(-step * (near + step / 2))
    short = torch.log(width) + torch.log(short) - math.log(2 * math.pi) / 2
    beside = torch.where(fall < SMOOTH, short, beside)
    around = torch.log((torch.erf(upper * root) - torch.erf(lower * root)) / 2)
    return near, torch.where(near < 0, around, beside)


def log_interval_mass(low: Tensor, high: Tensor, centre: Tensor, h: Tensor) -> Tensor:
    r"""Log of the mass of :math:`N(c, h^2)` between `low` and `high`, `(*)`, in float64.

    It is differentiable in all arguments, and -inf, with gradients of 0, where `low >= high`.

    Arguments:
        low: lower ends, `(*)`; may be -inf.
        high: upper ends, `(*)`; may be inf.
        centre: centres, `(*)`.
        h: standard deviations, `(*)`.

    Example:
        >>> one = torch.ones((), dtype=torch.float64)
        >>> log_interval_mass(40 * one, 50 * one, 0 * one, one)
        tensor(-804.6084, dtype=torch.float64)
    """
    log_mass: Tensor = _LogIntervalMass.apply(low, high, centre, h)  # type: ignore[no-untyped-call]
    return log_mass


class _LogIntervalMass(torch.autograd.Function):
    """Log-mass of an interval; its gradients are densities at the ends by the mass."""

    @staticmethod
    def forward(ctx: Any, low: Tensor, high: Tensor, centre: Tensor, h: Tensor) -> Tensor:
        lower, upper, width = (low - centre) / h, (high - centre) / h, (high - low) / h
        near, rest = log_mass_parts(lower, upper, width)
        empty = width <= 0
        ctx.save_for_backward(lower, upper, near, rest, h, empty)
        log_mass = torch.where(near < 0, rest, rest - near**2 / 2)
        return log_mass.masked_fill(empty, -math.inf)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        lower, upper, near, rest, h, empty = ctx.saved_tensors
        grad, rest = grad / h, rest.masked_fill(empty, torch.inf)  # without a density at its ends
        below, above = (_end_density(end, near, rest) for end in (lower, upper))
        by_h = _times(lower, below) - _times(upper, above)
        return -below * grad, above * grad, (below - above) * grad, by_h * grad


def standard_moments(lower: Tensor, upper: Tensor, width: Tensor) -> tuple[Tensor, Tensor]:
    """Means of `u - e` and of its squares under a standard Gaussian cut to `[lower, upper]`.

    `e` is the end nearer to 0 of an interval beside 0, and 0 for one around 0: about it nothing
    cancels, however short the interval and however far away.
    """
    near, rest = log_mass_parts(lower, upper, width)
    below, above = (_end_density(end, near, rest) for end in (lower, upper))
    first, second = below - above, 1 + _times(lower, below) - _times(upper, above)
    a = near.clamp_min(0)
    sign = torch.where(lower >= -upper, 1.0, -1.0).to(a)
    first = sign * first  # as for an interval on the right
    second = torch.where(a > 0, second - 2 * a * first + a**2, second)
    first = torch.where(a > 0, first - a, first)
    step, weight = nodes(torch.zeros_like(a).flatten(), torch.minimum(width, REACH / a).flatten())
    step, weight = step.view(*a.shape, -1), weight.view(*a.shape, -1)
    weight = weight * torch.exp(-step * (near[..., None] + step / 2))
    weight = weight / weight.sum(-1, keepdim=True)
    place = (near - a)[..., None] + step
    smooth = (width * (a + width / 2) < SMOOTH) | (a > BESIDE)
    first = torch.where(smooth, (weight * place).sum(-1), first)
    second = torch.where(smooth, (weight * place**2).sum(-1), second)
    return sign * first, second


def standard_quantile(lower: Tensor, upper: Tensor, share: Tensor) -> Tensor:
    """Where a standard Gaussian cut to `[lower, upper]` has a share of its mass below, `(*)`."""
    mirrored = lower > -upper  # so that what is small is a lower tail
    left, right = torch.where(mirrored, -upper, lower), torch.where(mirrored, -lower, upper)
    part = torch.where(mirrored, 1 - share, share)
    # torch's ndtr loses the digits of lower tails, and is 0 from 9 standard deviations on.
    bottom, top = (torch.erfc(-end * math.sqrt(0.5)) / 2 for end in (left, right))
    found = torch.special.ndtri(bottom + part * (top - bottom))
    width = right - left
    short = width * torch.maximum(left.abs(), right.abs()) < SHORT
    found = torch.where(short, left + part * width, found)
    far = torch.nonzero(right < -FAR, as_tuple=True)
    if len(far[0]):
        found[far] = _bisected(left[far], right[far], part[far])
    found = torch.minimum(torch.maximum(found, left), right)
    return torch.where(mirrored, -found, found)


def _bisected(lower: Tensor, upper: Tensor, share: Tensor) -> Tensor:
    """:func:`standard_quantile` of intervals far below 0, measured from their upper ends."""
    a, most = -upper, torch.minimum(upper - lower, 800 / -upper)  # all but e^-800 of the mass
    whole = log_mass_parts(a, a + most, most)[1]
    goal = torch.log1p(-share) + whole
    low, high = torch.zeros_like(a), most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = log_mass_parts(a, a + middle, middle)[1] >= goal
        low, high = torch.where(enough, low, middle), torch.where(enough, middle, high)
    return upper - high


def _end_density(end: Tensor, near: Tensor, rest: Tensor) -> Tensor:
    """Density of a standard Gaussian at an end of an interval, by its mass; 0 at infinity."""
    a = near.clamp_min(0)
    finite = end.isfinite()
    at = torch.where(finite, end.abs(), a)
    log_density = -(at - a) * (at + a) / 2 - HALF_LOG_2PI - rest
    return torch.where(finite, log_density.exp(), 0.0)


def _times(end: Tensor, density: Tensor) -> Tensor:
    """An end times the density there; 0 at infinity."""
    return torch.where(end.isfinite(), end, 0.0) * density
