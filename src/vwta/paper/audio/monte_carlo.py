r"""Cells of the sphere by Monte Carlo: the paper's volumes, and what they do to likelihoods.

With N points :math:`u_i`, uniform on the sphere, the mass of a kernel in a cell is about

.. math:: V_k \approx \frac{4 \pi}{N} \sum_i K_h(z_k, u_i) 1[u_i \in Y_k]

As the logarithm of an estimate has a lower mean than that of what it estimates, likelihoods come
out too high; and a cell that no point falls into has no estimate at all.
"""

from __future__ import annotations

__all__ = ["log_volumes", "uniform_directions", "volume_rows"]

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from vwta.geometry.kernels import Kernel, Uniform, VonMisesFisher
from vwta.nn.models import select
from vwta.paper.audio.predict import DirectionAtoms
from vwta.paper.audio.targets import Targets
from vwta.seeds import generator

BLOCK = 100  # targets that share their points


def volume_rows(
    estimator: nn.Module,
    atoms: DirectionAtoms,
    targets: Targets,
    bandwidths: list[float | None],
    points: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Rows of metrics of the paper's Monte-Carlo volumes on the sphere, at each bandwidth.

    They are `monte_carlo_bias` and `monte_carlo_empty`.
    Both likelihoods of a target have the same kernel and mass, and differ by the logarithm of the
    volume alone. The bias is the mean difference of the NLL, over targets whose cell has an
    estimate; the others are counted.

    Arguments:
        estimator: density with cells, called on atoms.
        atoms: of all frames.
        targets: where to measure.
        bandwidths: of the von Mises-Fisher kernel; None for the uniform one.
        points: on the sphere, anew for each block of targets.
        seed: of the points.
    """
    kernels: list[Kernel] = [Uniform() if h is None else VonMisesFisher(h) for h in bandwidths]
    gaps: list[Tensor] = []
    for start in range(0, len(targets.y), BLOCK):
        chosen = select(atoms, targets.frame[start : start + BLOCK])
        y = targets.y[start : start + BLOCK, None]
        winner = (chosen.points - y).square().sum(-1).argmin(-1)
        sample = uniform_directions(points, generator(seed, "sphere", start)).to(y)
        law = estimator(chosen)
        exact = torch.stack(
            [
                (law if h is None else law.with_bandwidth(h)).log_cell_mass.take_along_dim(
                    winner.unsqueeze(-1), -1
                )
                for h in bandwidths
            ]
        )
        gaps.append(log_volumes(chosen.points, winner, kernels, sample) - exact.squeeze(-1))
    for h, gap in zip(bandwidths, torch.cat(gaps, -1), strict=True):
        known = gap[gap.isfinite()]
        bias = {"metric": "monte_carlo_bias", "value": known.mean().item(), "n": len(known)}
        yield {"h": h, **bias}
        empty = len(gap) - len(known)
        yield {"h": h, "metric": "monte_carlo_empty", "value": empty, "n": len(gap)}


def uniform_directions(count: int, source: torch.Generator) -> Tensor:
    """Points of the paper's Monte-Carlo volumes: uniform on the sphere, float64 `(count, 3)`."""
    turn, height = torch.rand(2, count, generator=source, dtype=torch.float64)
    azimuth, z = 2 * math.pi * turn, 2 * height - 1
    across = (1 - z.square()).sqrt()
    return torch.stack([across * azimuth.cos(), across * azimuth.sin(), z], -1)


def log_volumes(points: Tensor, cell: Tensor, kernels: list[Kernel], sample: Tensor) -> Tensor:
    """The paper's Monte-Carlo volumes: log-mass of kernels in a cell; -inf where no point fell.

    There is one cell of each of n tessellations.

    Arguments:
        points: atoms, unit vectors with shape `(n, K, 3)`.
        cell: which cell, with shape `(n,)`.
        kernels: H kernels, each with one bandwidth for all.
        sample: points of :func:`uniform_directions`, with shape `(N, 3)`.

    Returns:
        The log-masses, with shape `(H, n)`.

    Example:
        >>> from vwta import Uniform
        >>> poles = torch.tensor([[[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]], dtype=torch.float64)
        >>> sample = uniform_directions(10_000, torch.Generator().manual_seed(0))
        >>> log_volumes(poles, torch.tensor([0]), [Uniform()], sample).exp() / (2 * math.pi)
        tensor([[1.0172]], dtype=torch.float64)
    """
    cosines = points @ sample.T
    own = cosines.take_along_dim(cell[:, None, None], 1).squeeze(1)
    inside = own >= cosines.amax(1)
    spread = torch.where(inside, 1 - own, 0.0)
    terms = [
        torch.where(inside, kernel.log_density(spread, 2), -math.inf).logsumexp(-1)
        for kernel in kernels
    ]
    return torch.stack(terms) + math.log(4 * math.pi / len(sample))
