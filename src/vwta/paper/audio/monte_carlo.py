r"""Cells of the sphere by chance: the paper's volumes, to show what they do to a likelihood.

With N points :math:`u_i`, uniform on the sphere, the mass of a kernel in a cell is about

.. math:: V_k \approx \frac{4 \pi}{N} \sum_i K_h(z_k, u_i) 1[u_i \in Y_k]

As the logarithm of an estimate has a lower mean than that of what it estimates, likelihoods come
out too high; and a cell that no point falls into has no estimate at all.
"""

from __future__ import annotations

__all__ = ["log_volumes", "uniform_directions"]

import math

import torch
from torch import Tensor

from vwta.geometry.kernels import Kernel


def uniform_directions(count: int, generator: torch.Generator) -> Tensor:
    """Points drawn uniformly from the unit sphere, float64 with shape `(count, 3)`."""
    turn, height = torch.rand(2, count, generator=generator, dtype=torch.float64)
    azimuth, z = 2 * math.pi * turn, 2 * height - 1
    across = (1 - z.square()).sqrt()
    return torch.stack([across * azimuth.cos(), across * azimuth.sin(), z], -1)


def log_volumes(points: Tensor, cell: Tensor, kernels: list[Kernel], sample: Tensor) -> Tensor:
    """Log-mass of kernels in one cell of each of n tessellations; -inf where no point fell into it.

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
