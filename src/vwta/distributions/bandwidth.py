"""Choice of the bandwidth h, or of a factor on all bandwidths and a temperature of scores."""

from __future__ import annotations

__all__ = ["Adjustment", "Minimum", "adjust", "golden_section", "tune"]

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.atoms import check_tensor
from vwta.distributions.average import Average
from vwta.distributions.continuous import ContinuousMixture
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.distributions.robust import Robust

RATIO = (math.sqrt(5) - 1) / 2


class Minimum(NamedTuple):
    """Outcome of a search, as for a bandwidth: where a function is lowest.

    Attributes:
        at: the point with the lowest value met.
        value: that value.
        tried: all points met and their values, in the order of the search.
        interval: the ends of the last interval.
    """

    at: float
    value: float
    tried: tuple[tuple[float, float], ...]
    interval: tuple[float, float]

    @property
    def evaluations(self) -> int:
        """How often the function was evaluated."""
        return len(self.tried)


class Adjustment(NamedTuple):
    """Outcome of :func:`adjust`: what to change in laws with local kernels after training.

    Attributes:
        factor: number that multiplies all bandwidths.
        temperature: that of the scores, 1 for laws without any.
        value: the lowest negative log-likelihood.
        by_factor: the search for the factor.
        by_temperature: the search for the temperature, at that factor; None for laws without
            scores.
    """

    factor: float
    temperature: float
    value: float
    by_factor: Minimum
    by_temperature: Minimum | None

    def of(self, law: VoronoiMixture | Average) -> VoronoiMixture | Average:
        """A law with these changes."""
        law = law.with_width_factor(self.factor)
        return law if self.by_temperature is None else law.with_temperature(self.temperature)


def golden_section(
    function: Callable[[float], float], low: float, high: float, tolerance: float
) -> Minimum:
    """Minimum of a unimodal function by golden-section search, as bandwidths are tuned.

    The interval shrinks by .618 for each evaluation until it is no longer than `tolerance`. The
    lowest value met is returned, so that a function that is not unimodal never gives a worse point
    than those tried.

    Arguments:
        function: function of one number. A nan counts as the worst value.
        low: lower end of the interval.
        high: upper end.
        tolerance: length of the interval at which the search ends.

    Example:
        >>> round(golden_section(lambda h: (h - 0.3) ** 2, 0.1, 2.0, 1e-6).at, 4)
        0.3
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"interval [{low}, {high}]: its ends must be finite and low < high")
    if not tolerance > 0:
        raise ValueError(f"tolerance {tolerance}: it must be positive")

    tried: list[tuple[float, float]] = []

    def value(point: float) -> float:
        result = float(function(point))
        result = math.inf if math.isnan(result) else result
        tried.append((point, result))
        return result

    left, right = high - RATIO * (high - low), low + RATIO * (high - low)
    at_left, at_right = value(left), value(right)
    while high - low > tolerance:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - RATIO * (high - low)
            if not low < left < right:  # the interval is as short as floats allow
                break
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + RATIO * (high - low)
            if not left < right < high:
                break
            at_right = value(right)
    point, lowest = min(tried, key=lambda pair: (pair[1], pair[0]))
    return Minimum(point, lowest, tuple(tried), (low, high))


def tune(
    law: KernelMixture | VoronoiMixture | Average,
    y: Tensor,
    low: float,
    high: float,
    tolerance: float,
    scale: Literal["log", "linear"] = "log",
) -> Minimum:
    r"""Bandwidth with the lowest negative log-likelihood :math:`-\frac{1}{n} \sum_i \log p_h(y_i)`.

    The search goes over :math:`\log h`, on whose scale likelihoods vary evenly, or over h itself.
    The cells and all else that does not depend on h are computed once.

    Arguments:
        law: distribution for each point, of batch shape `(n,)`; its own bandwidth does not matter.
        y: held-out points, in the domain, with shape `(n, d)`.
        low: lowest bandwidth.
        high: highest.
        tolerance: how closely :math:`\log h`, or h, is found.
        scale: whether the search goes over :math:`\log h` (`log`) or h (`linear`).

    Example:
        >>> import torch
        >>> from vwta.geometry.kernels import Gaussian
        >>> law = KernelMixture(torch.zeros(2, 1, 1), torch.ones(2, 1), Gaussian(1.0))
        >>> round(tune(law, torch.tensor([[-0.3], [0.3]]), 0.01, 2.0, 1e-6).at, 3)
        0.3
    """
    if not 0 < low < high:
        raise ValueError(f"bandwidths from {low} to {high}: expected 0 < low < high")
    if scale not in ("log", "linear"):
        raise ValueError(f"scale {scale!r}: expected 'log' or 'linear'")
    _check_targets(law, y)

    def nll(h: float) -> float:
        return -law.with_bandwidth(h).log_prob(y).mean().item()

    if scale == "linear":
        found = golden_section(nll, low, high, tolerance)
        _check_likelihood(law, y, found)
        return found
    found = _over_log(nll, low, high, tolerance)
    _check_likelihood(law, y, found)
    return found


def adjust(
    law: VoronoiMixture | Average,
    y: Tensor,
    low: float = 0.25,
    high: float = 4.0,
    tolerance: float = 0.01,
) -> Adjustment:
    r"""Factor on all bandwidths, then temperature of the scores, with the lowest NLL of points.

    Either is found by a golden section over its logarithm, from `low` to `high`; 1, which changes
    nothing, is tried before, so that the outcome is never worse than the law as it was trained.
    In the cell k of a target a Voronoi mixture has :math:`\log p = \log \gamma_k + \log K_k`, where
    the temperature changes only the first term and the factor only the second: one search after
    the other finds the best pair. Laws whose masses follow from continuity have no temperature.

    Arguments:
        law: distribution for each point, of batch shape `(n,)`, whose bandwidths are trained.
        y: held-out points, in the domain, with shape `(n, d)`.
        low: lowest factor and temperature, below 1.
        high: highest, above 1.
        tolerance: how closely the logarithm of either is found.

    Example:
        >>> import torch
        >>> from vwta import ContinuousMixture
        >>> law = ContinuousMixture(torch.zeros(2, 1, 1), torch.ones(2, 1))
        >>> round(adjust(law, torch.tensor([[-0.5], [0.5]]), tolerance=1e-6).factor, 3)
        0.5
    """
    if not 0 < low < 1 < high:
        raise ValueError(f"factors from {low} to {high}: expected 0 < low < 1 < high")
    _check_targets(law, y)

    def best(change: Callable[[float], Distribution]) -> Minimum:
        def nll(value: float) -> float:
            return -change(value).log_prob(y).mean().item()

        trained, found = (1.0, nll(1.0)), _over_log(nll, low, high, tolerance)
        at, value = min(trained, (found.at, found.value), key=lambda pair: pair[1])
        return Minimum(at, value, (trained, *found.tried), found.interval)

    factor = best(law.with_width_factor)
    if not math.isfinite(factor.value):
        raise ValueError(
            "some targets have no likelihood at any factor tried: no bandwidth is better than "
            "another; leave such targets out, or give laws a share of a background (Robust)"
        )
    if not _has_scores(law):
        return Adjustment(factor.at, 1.0, factor.value, factor, None)
    scores = best(law.with_width_factor(factor.at).with_temperature)
    return Adjustment(factor.at, scores.at, scores.value, factor, scores)


def _over_log(
    function: Callable[[float], float], low: float, high: float, tolerance: float
) -> Minimum:
    """Golden section over the logarithm of a positive number."""
    ends = math.log(low), math.log(high)
    found = golden_section(lambda t: function(math.exp(t)), *ends, tolerance)
    return Minimum(
        math.exp(found.at),
        found.value,
        tuple((math.exp(point), value) for point, value in found.tried),
        (math.exp(found.interval[0]), math.exp(found.interval[1])),
    )


def _has_scores(law: Distribution) -> bool:
    """Whether a law has scores, or all that it averages; a background's do not count."""
    if isinstance(law, Robust):
        return _has_scores(law.laws[0])
    if isinstance(law, Average):
        return all(map(_has_scores, law.laws))
    return not isinstance(law, ContinuousMixture)


def _check_targets(law: Distribution, y: Tensor) -> None:
    """Raise an error if there are no targets, or some that lie outside the domain."""
    check_tensor(y, "y")
    if not y.numel():
        raise ValueError("y has no points: there is nothing to tune on")
    outside = _outside(law, y)
    if outside.any():
        raise ValueError(
            f"{int(outside.sum())} of {outside.numel()} points y lie outside the domain, where no "
            "bandwidth has a density; leave them out"
        )


def _check_likelihood(
    law: KernelMixture | VoronoiMixture | Average, y: Tensor, found: Minimum
) -> None:
    """Raise an error that names a target without mass, if no bandwidth tried is better."""
    if math.isfinite(found.value):
        return
    log_prob = law.with_bandwidth(found.at).log_prob(y).flatten()
    bad = torch.nonzero(~log_prob.isfinite())[:, 0]
    first = y.reshape(len(log_prob), -1)[bad[0]].tolist() if len(bad) else []
    raise ValueError(
        f"{len(bad)} of {len(log_prob)} targets have no mass or no number for a likelihood at any "
        f"bandwidth tried, the first y = {first}: all bandwidths are as bad; leave such targets "
        "out, or give the atom of every cell a mass above 0"
    )


def _outside(law: Distribution, y: Tensor) -> Tensor:
    """Which points `(n, d)` lie outside the domain of a law, or of all that it averages."""
    if isinstance(law, Average):
        return torch.stack([_outside(each, y) for each in law.laws]).all(0)
    if isinstance(law, VoronoiMixture):
        return law.space.outside(y)
    return torch.zeros(y.shape[:-1], dtype=torch.bool, device=y.device)
