r"""Laws on the line that an increasing map carries to the standard Gaussian, such as flows."""

from __future__ import annotations

__all__ = ["Transported"]

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from vwta.distributions.atoms import Shape

RANGE, INTERVALS = 9.0, 18  # of quadrature under a Gaussian: less than 1e-18 lies beyond
NODES, WEIGHTS = (x / 2 for x in np.polynomial.legendre.leggauss(8))  # Gauss, on [-1/2, 1/2]


class Transported(Distribution):
    r"""Law of :math:`Y = T^{-1}(U)` on the line, where T increases and U is standard Gaussian.

    .. math:: F(y) = \Phi(T(y)), \qquad p(y) = \varphi(T(y)) T'(y)

    Subclasses say what T is. Their methods and :meth:`cdf` take numbers without an event axis,
    which broadcast against the batch shape.

    Arguments:
        batch_shape: shape of the laws.
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    def __init__(self, batch_shape: Shape) -> None:
        super().__init__(Size(batch_shape), Size((1,)), validate_args=False)

    @abstractmethod
    def to_normal(self, y: Tensor) -> tuple[Tensor, Tensor]:
        r""":math:`T(y)` and :math:`\log T'(y)`."""

    @abstractmethod
    def from_normal(self, u: Tensor) -> Tensor:
        r"""Quantiles :math:`T^{-1}(u)`, of the probabilities :math:`\Phi(u)`."""

    @property
    def support(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, 1)

    @property
    def mean(self) -> Tensor:
        return self._moment(torch.zeros(()), 1)[..., None]

    @property
    def variance(self) -> Tensor:
        return self._moment(self.mean[..., 0], 2)[..., None]

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Transported:
        raise NotImplementedError(f"{type(self).__name__} cannot be expanded: expand what made it")

    def log_prob(self, value: Tensor) -> Tensor:
        u, log_slope = self.to_normal(value.squeeze(-1))
        return log_slope - u.square() / 2 - math.log(2 * math.pi) / 2

    def cdf(self, value: Tensor) -> Tensor:
        below: Tensor = torch.erfc(-self.to_normal(value)[0] * math.sqrt(0.5)) / 2
        return below

    def knots(self) -> Tensor | None:
        """Values u at which :math:`T^{-1}` is not smooth, `(k, *)`; none by default."""
        return None

    def ends(self) -> Tensor:
        """Values u between which the law is smooth, in order, with shape `(m, *)`, in float64."""
        grid = torch.linspace(-RANGE, RANGE, INTERVALS + 1, dtype=torch.float64)
        grid = grid.view(-1, *(1 for _ in self.batch_shape)).expand(-1, *self.batch_shape)
        knots = self.knots()
        if knots is None:
            return grid
        inner = knots.detach().double().clamp(-RANGE, RANGE)
        return torch.cat([grid.to(inner), inner]).sort(0).values

    def sample(self, sample_shape: Shape = (), generator: torch.Generator | None = None) -> Tensor:
        with torch.no_grad():
            like = self.from_normal(torch.zeros(self.batch_shape))
            shape = (*Size(sample_shape), *self.batch_shape)
            u = torch.randn(shape, generator=generator, dtype=like.dtype, device=like.device)
            return self.from_normal(u)[..., None]

    def _moment(self, centre: Tensor, power: int) -> Tensor:
        """Mean of a power of the distance to a centre, by quadrature over u."""
        ends = self.ends()
        width, middle = ends.diff(dim=0), (ends[1:] + ends[:-1]) / 2
        total = torch.zeros(())
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            u = middle + float(node) * width
            mass = float(weight) * width * torch.exp(-u.square() / 2) / math.sqrt(2 * math.pi)
            total = total + (mass * (self.from_normal(u) - centre) ** power).sum(0)
        return total
