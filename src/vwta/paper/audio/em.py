r"""EM: a mixture of von Mises-Fisher laws that fits points on the sphere, as the best M-vMF would.

With responsibilities :math:`r_{ik}` of component k for point :math:`y_i`, a step takes

.. math:: \pi_k = \frac{1}{n} \sum_i r_{ik}, \qquad s_k = \frac{\sum_i r_{ik} y_i}
    {\sum_i r_{ik}}, \qquad \mu_k = \frac{s_k}{|s_k|}, \qquad
    \coth \kappa_k - \frac{1}{\kappa_k} = |s_k|

and never lowers the likelihood of the points.
"""

from __future__ import annotations

__all__ = ["Mixture", "concentration", "fit_mixture"]

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from vwta.geometry.kernels import VonMisesFisher
from vwta.geometry.spaces import unit

NEWTON = 6  # steps, from an approximation that is good to 1 %: exact up to rounding
SMALLEST = 1e-3  # concentration; the law is uniform up to a thousandth


class Mixture(NamedTuple):
    r"""A mixture of von Mises-Fisher laws on the sphere.

    Attributes:
        points: mean directions, with shape `(K, 3)`.
        masses: weights, with shape `(K,)`.
        h: bandwidths :math:`1 / \sqrt{\kappa}`, with shape `(K,)`.
    """

    points: Tensor
    masses: Tensor
    h: Tensor

    def log_joint(self, y: Tensor) -> Tensor:
        """Log of weight times density of each component, `(n, K)`, at points `(n, 3)`."""
        spread = 1 - y @ self.points.T
        return self.masses.log() + VonMisesFisher(1.0).at(self.h).log_density(spread, 2)


@torch.no_grad()
def fit_mixture(y: Tensor, winner: Tensor, K: int, steps: int, narrowest: float) -> Mixture:
    """EM of a mixture of K von Mises-Fisher laws, which starts from a partition of the points.

    The start has a component for each part. EM finds a local optimum; the bound on bandwidths keeps
    components from shrinking to single points, where the likelihood has no bound.

    Arguments:
        y: points, unit vectors with shape `(n, 3)`.
        winner: the part of each point, from 0 to K - 1, with shape `(n,)`.
        K: number of components.
        steps: number of steps.
        narrowest: the least bandwidth of a component.
    """
    start = one_hot(winner, K).to(y) + 1 / len(y)  # an empty part is spread over all points
    found = _maximise(y, start, narrowest)
    for _ in range(steps):
        found = _maximise(y, found.log_joint(y).softmax(-1), narrowest)
    return found


def concentration(length: Tensor) -> Tensor:
    r"""Concentration :math:`\kappa` whose law has a mean vector of this length, below 1.

    It solves :math:`\coth \kappa - 1 / \kappa = R` by Newton's method.

    Example:
        >>> concentration(torch.tensor([0.9], dtype=torch.float64))
        tensor([10.0000], dtype=torch.float64)
    """
    length = length.clamp(SMALLEST / 3, 1 - 1e-12)
    kappa = length * (3 - length.square()) / (1 - length.square())  # Banerjee et al., 2005
    for _ in range(NEWTON):
        reached = 1 / kappa.tanh() - 1 / kappa
        slope = 1 - reached.square() - 2 * reached / kappa
        kappa = (kappa - (reached - length) / slope).clamp_min(SMALLEST)
    return kappa


def _maximise(y: Tensor, share: Tensor, narrowest: float) -> Mixture:
    """The most likely mixture for responsibilities `(n, K)`."""
    total = share.sum(0).clamp_min(torch.finfo(y.dtype).tiny)
    mean = (share.T @ y) / total[:, None]
    length = mean.square().sum(-1).sqrt()
    h = concentration(length).rsqrt().clamp_min(narrowest)
    return Mixture(unit(mean), total / total.sum(), h)
