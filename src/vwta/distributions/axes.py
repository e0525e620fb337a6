r"""Mixtures of Gaussians with a width of their own along each axis."""

from __future__ import annotations

__all__ = ["AxisMixture"]

from typing import Any

import torch
from torch import Size, Tensor

from vwta.distributions.atoms import Shape, broadcast_shapes, safe_log, take_at
from vwta.distributions.mixtures import KernelMixture
from vwta.geometry.intervals import HALF_LOG_2PI
from vwta.geometry.kernels import Gaussian
from vwta.geometry.memory import in_parts


class AxisMixture(KernelMixture):
    r"""Gaussians whose widths differ between axes, uncut.

    .. math:: \sum_k \gamma_k \prod_j N(y_j; z_{kj}, (h w_{kj})^2)

    Arguments:
        points: atoms, `(*, K, d)`.
        masses: their masses, `(*, K)`.
        widths: of each atom along each axis, positive, `(*, K, d)`.
        h: factor on all widths, a number or `(*, K)`.

    Example:
        >>> d = AxisMixture(torch.zeros(1, 2), torch.ones(1), torch.tensor([[1.0, 2.0]]))
        >>> d.variance, d.log_prob(torch.zeros(2))
        (tensor([1., 4.]), tensor(-2.5310))
    """

    def __init__(
        self,
        points: Tensor,
        masses: Tensor,
        widths: Tensor,
        h: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(points, masses, Gaussian(h), validate_args)
        if widths.shape != points.shape:
            raise ValueError(
                f"widths have shape {tuple(widths.shape)}, and points {tuple(points.shape)}: there "
                "is one width for each atom and axis"
            )
        self.widths = widths.to(self.points)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> AxisMixture:
        new: AxisMixture = _instance or object.__new__(AxisMixture)
        new.widths = self.widths
        super().expand(batch_shape, new)
        return new

    def with_bandwidth(self, h: Tensor | float) -> AxisMixture:
        """The same atoms and widths with another factor on all widths."""
        new = AxisMixture(self.points, self.masses, self.widths, h, self._validate_args)
        return new.expand(self._batch_with(new.kernel.h))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._target(value)
        shape = broadcast_shapes(value.shape[:-1], self.batch_shape)
        tensors = value, self.points, self.masses, self._wide()
        size = self.components * (3 * self.event_shape[0] + 6) * value.element_size()
        return in_parts(_log_density, tensors, (1, 2, 1, 2), size).expand(shape)

    def log_parts(self, value: Tensor) -> Tensor:
        """Log-densities of the atoms' Gaussians times their masses, `(*, K)`."""
        return _log_parts(value, self.points, self.masses, self._wide())

    def sample(self, sample_shape: Shape = (), generator: torch.Generator | None = None) -> Tensor:
        with torch.no_grad():
            atom = self._pick(Size(sample_shape), generator)
            z = self._points_at(atom)
            noise = torch.randn(z.shape, dtype=z.dtype, device=z.device, generator=generator)
            return z + take_at(self._wide(), atom) * noise

    def _wide(self) -> Tensor:
        """Standard deviations, `(*, K, d)`."""
        return self.widths * self.kernel.h[..., None]

    def _moments(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        masses, z, first, _ = super()._moments()
        return masses, z, first, self._wide().to(z) ** 2


def _log_parts(value: Tensor, points: Tensor, masses: Tensor, widths: Tensor) -> Tensor:
    steps = (value[..., None, :] - points) / widths
    log_normaliser = widths.log().sum(-1) + points.shape[-1] * HALF_LOG_2PI
    return safe_log(masses) - (steps**2).sum(-1) / 2 - log_normaliser


def _log_density(value: Tensor, points: Tensor, masses: Tensor, widths: Tensor) -> Tensor:
    """Log-density `(*)` at `value` `(*, d)` of a part of the mixtures."""
    return torch.logsumexp(_log_parts(value, points, masses, widths), -1)
