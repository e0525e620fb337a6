r"""Scores and calibration of laws on the real line: plain functions of a law and its targets.

A law has batch shape `(n,)`, one for each target, and targets are `(n, 1)` or `(n,)`. The laws are
those of :func:`vwta.distributions.line.truncated_kernels`, and those that an increasing map carries
to a Gaussian (:func:`~vwta.distributions.line.transported_laws`). Everything is in float64, without
gradients.
"""

from __future__ import annotations

__all__ = ["coverage", "crps", "dequantised", "pit", "pit_deviation", "step_of"]

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.line import (
    TruncatedKernels,
    cdf,
    log_mass_between,
    transported_laws,
    truncated_kernels,
)
from vwta.distributions.transported import Transported
from vwta.geometry.intervals import NODES, WEIGHTS

OFFSETS = (-7.0, -3.0, 0.0, 3.0, 7.0)  # in bandwidths: where intervals end
WORK = 2**17  # pairs of kernels, or of kernel and interval, in memory at once
NOISE = 1e-9  # of the range: values closer than this are the same value
ROUNDING = 1e-6  # by which a probability may lie outside [0, 1]


def crps(law: Distribution, y: Tensor) -> Tensor:
    r"""Continuous ranked probability score :math:`\int (F(t) - 1[y \leq t])^2 dt`, `(n,)`.

    In the unit of `y`, lower is better. In closed form where no kernel is cut, otherwise by
    Gauss-Legendre quadrature between the places where :math:`F` bends, to about 1e-8 of h.

    Arguments:
        law: law for each target, of batch shape `(n,)`.
        y: targets, `(n, 1)` or `(n,)`.

    Example:
        >>> from vwta import Gaussian, KernelMixture
        >>> law = KernelMixture(torch.zeros(1, 1, 1), torch.ones(1, 1), Gaussian(1.0))
        >>> crps(law, torch.zeros(1))
        tensor([0.2337], dtype=torch.float64)
    """
    y, transported = _targets(law, y), transported_laws(law)
    if transported:
        return _crps_transported(transported, y)
    kernels = truncated_kernels(law)
    count = kernels.points.shape[-1]
    rows = TruncatedKernels(*(x.reshape(-1, count) for x in kernels))
    uncut = bool(rows.left.isinf().all() and rows.right.isinf().all())
    score, size = (_crps_uncut, count**2) if uncut else (_crps_cut, len(OFFSETS) * count**2)
    step, flat = max(1, WORK // size), y.flatten()
    parts = [slice(start, start + step) for start in range(0, len(flat), step)]
    scores = [score(TruncatedKernels(*(x[part] for x in rows)), flat[part]) for part in parts]
    return torch.cat([flat[:0], *scores]).view(y.shape)


def pit(law: Distribution, y: Tensor) -> Tensor:
    """Probability integral transform `F(y)`, `(n,)`: uniform on [0, 1] if the law is right.

    Arguments:
        law: law for each target, of batch shape `(n,)`.
        y: targets, `(n, 1)` or `(n,)`.
    """
    return cdf(law, _targets(law, y))


def pit_deviation(values: Tensor) -> float:
    r"""Kolmogorov distance :math:`\sup_u |\frac{1}{n} \#\{i : v_i \leq u\} - u|` of PIT.

    Arguments:
        values: outcomes of :func:`pit`, `(n,)`.

    Example:
        >>> pit_deviation(torch.tensor([0.5, 0.5]))
        0.5
    """
    _check_outcomes(values)
    ordered = values.flatten().sort().values
    count = len(ordered)
    rank = torch.arange(count + 1, dtype=ordered.dtype, device=ordered.device) / count
    return torch.maximum(rank[1:] - ordered, ordered - rank[:-1]).max().item()


def coverage(values: Tensor, level: float = 0.9) -> float:
    r"""Fraction of targets in the central interval of a level, :math:`|2 v - 1| \leq level`.

    Arguments:
        values: outcomes of :func:`pit`, `(n,)`.
        level: mass of the interval, between 0 and 1.

    Example:
        >>> coverage(torch.tensor([0.01, 0.3, 0.6, 0.9]))
        0.75
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a number between 0 and 1")
    _check_outcomes(values)
    return (2 * values - 1).abs().le(level).double().mean().item()


def dequantised(law: Distribution, y: Tensor, step: float) -> Tensor:
    r"""Log-density at discrete `y` of a law with uniform noise of one step added, `(n,)`.

    .. math:: \log \frac{F(y + s / 2) - F(y - s / 2)}{s}

    This is the likelihood of a discrete target, bounded by :math:`-\log s` however narrow the law.

    Arguments:
        law: law for each target, of batch shape `(n,)`.
        y: targets, `(n, 1)` or `(n,)`.
        step: step `s` of the target, see :func:`step_of`.
    """
    if not (step > 0 and math.isfinite(step)):
        raise ValueError(f"step {step}: it must be positive and finite")
    y = _targets(law, y)
    low, high = y - step / 2, y + step / 2
    return log_mass_between(law, low, high) - torch.log(high - low)


def step_of(values: Tensor) -> float:
    """Step of discrete targets, see :func:`dequantised`: the smallest gap between distinct values.

    Arguments:
        values: targets, of any shape; gaps below 1e-9 of their range count as rounding. Give them
            in float64: rounding to float32 leaves larger gaps.

    Example:
        >>> step_of(torch.tensor([3.0, 5.0, 5.5, 5.0]))
        0.5
    """
    if not values.numel() or values.isnan().any():
        missing = int(values.isnan().sum())
        raise ValueError(
            f"{values.numel()} values, {missing} of them nan: leave out nan, and give two or more"
        )
    ordered = values.detach().double().flatten().sort().values
    gaps = ordered.diff()
    gaps = gaps[gaps > NOISE * (ordered[-1] - ordered[0])]
    if not len(gaps):
        raise ValueError(f"{len(ordered)} values, all the same: a step needs two that differ")
    return gaps.min().item()


def _check_outcomes(values: Tensor) -> None:
    """Raise an error if there are no outcomes of :func:`pit`, or some are no probabilities."""
    if not values.numel():
        raise ValueError("there are no values: give at least one outcome of pit")
    missing = int(values.isnan().sum())
    if missing:
        raise ValueError(
            f"{missing} of {values.numel()} values are nan, neither covered nor not: leave them "
            "out, or find out why the law has no distribution function there"
        )
    strange = values[(values < -ROUNDING) | (values > 1 + ROUNDING)]
    if strange.numel():
        raise ValueError(
            f"{strange.numel()} of {values.numel()} values are no probabilities, the first "
            f"{strange[0].item():g}: give the outcomes of pit, not targets or densities"
        )


def _targets(law: Distribution, y: Tensor) -> Tensor:
    """Targets in float64, in the batch shape of the law."""
    shape = tuple(law.batch_shape)
    if tuple(y.shape) not in (shape, (*shape, 1)):
        raise ValueError(
            f"y has shape {tuple(y.shape)}, but the law has batch shape {shape}: one target each"
        )
    return y.detach().to(torch.float64).reshape(shape)


def _crps_uncut(kernels: TruncatedKernels, y: Tensor) -> Tensor:
    r""":math:`E|Y - y| - \frac{1}{2} E|Y - Y'|` of Gaussian mixtures, `(n,)`."""
    z, h, masses = kernels.points, kernels.h, kernels.masses
    to_target = (masses * _mean_distance(y[:, None] - z, h)).sum(-1)
    scale = torch.hypot(h[:, :, None], h[:, None])
    pairs = _mean_distance(z[:, :, None] - z[:, None], scale)
    return to_target - torch.einsum("ni,nij,nj->n", masses, pairs, masses) / 2


def _mean_distance(mean: Tensor, scale: Tensor) -> Tensor:
    """Mean of the absolute value of a Gaussian."""
    x = mean / scale * math.sqrt(0.5)
    return mean * torch.erf(x) + scale * math.sqrt(2 / math.pi) * torch.exp(-(x**2))


def _crps_cut(kernels: TruncatedKernels, y: Tensor) -> Tensor:
    """The score by quadrature, `(n,)`; in each interval only kernels that reach into it vary."""
    endless = y.isinf()
    if endless.any():
        return _crps_cut(kernels, y.masked_fill(endless, 0.0)).masked_fill(endless, math.inf)
    ends = _ends(kernels)
    first, last = ends[..., 0], ends[..., -1]
    ends = torch.cat([ends.flatten(1), y[:, None]], 1).sort(1).values
    width, middle = ends.diff(), (ends[:, 1:] + ends[:, :-1]) / 2
    passed = middle[:, :, None] >= last[:, None]
    below = torch.einsum("nbp,np->nb", passed.to(y), kernels.masses)
    values = (below - (middle >= y[:, None]).to(y))[..., None].repeat(1, 1, len(NODES))
    varies = ~passed & (middle[:, :, None] > first[:, None]) & (width > 0)[:, :, None]
    row, interval, kernel = torch.nonzero(varies, as_tuple=True)
    nodes = y.new_tensor(NODES) * width[row, interval, None] + middle[row, interval, None]
    part = TruncatedKernels(*(x[row, kernel, None] for x in kernels)).mass_below(nodes)
    values.view(-1, len(NODES)).index_add_(0, row * width.shape[1] + interval, part)
    return ((values**2 @ y.new_tensor(WEIGHTS)) * width).sum(1)


@torch.no_grad()
def _crps_transported(laws: Sequence[Transported], y: Tensor) -> Tensor:
    """The score of an average of laws by quadrature between their quantiles and y, `(n,)`."""
    quantiles = [law.from_normal(law.ends()).double() for law in laws]
    ends = torch.cat([*quantiles, y[None]]).sort(0).values
    step = max(1, WORK // max(1, y.numel()))
    score = torch.zeros_like(y)
    for start in range(0, len(ends) - 1, step):
        part = ends[start : start + step + 1]
        width, middle = part.diff(dim=0), (part[1:] + part[:-1]) / 2
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            t = middle + float(node) * width
            below = sum((law.cdf(t) for law in laws), torch.zeros_like(t)) / len(laws)
            score += (float(weight) * width * (below - (middle >= y).to(y)).square()).sum(0)
    return score


def _ends(kernels: TruncatedKernels) -> Tensor:
    """Places between which each kernel is smooth, in order, `(n, P, offsets)`."""
    z, left, right = (x[..., None] for x in (kernels.points, kernels.left, kernels.right))
    h = kernels.h.clamp_max(torch.finfo(z.dtype).max / 10)[..., None]
    offsets = z.new_tensor(OFFSETS)
    ends = z + torch.minimum(torch.maximum(offsets * h, -left), right)
    near = torch.maximum(-left, -right)  # positive where the centre lies beside the cell
    if not (near > 0).any():
        return ends
    # There the density falls off by e over h^2 / near, from the end that is nearer to the centre.
    fall = (offsets + offsets[-1]) * torch.minimum(h, h**2 / near.clamp_min(1e-300))
    fall = torch.minimum(fall, left + right)
    beside = z + torch.where(left < 0, -left + fall, right - fall.flip(-1))
    return torch.where(near > 0, beside, ends)
