r"""Voronoi mixtures on the line whose density is continuous: masses follow from the borders."""

from __future__ import annotations

__all__ = ["ContinuousMixture", "continuous_log_prob"]

import math
from typing import Any

import torch
from torch import Size, Tensor
from torch.nn.functional import pad

from vwta.distributions.atoms import Shape, broadcast_shapes
from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.intervals import HALF_LOG_2PI, log_interval_mass
from vwta.geometry.kernels import Gaussian
from vwta.geometry.spaces import Box


class ContinuousMixture(VoronoiMixture):
    r"""Voronoi mixture on the line with the masses that make its density continuous.

    In the cell of the k-th atom from the left, between borders :math:`m_{k-1}` and :math:`m_k`
    midway to its neighbours, the density is that of :math:`N(c_k, h_k^2)` up to a factor,

    .. math:: \log p(y) = u_k - \frac{(y - c_k)^2}{2 h_k^2} - \log Z, \qquad
        u_{k+1} - u_k = \frac{(m_k - c_{k+1})^2}{2 h_{k+1}^2} - \frac{(m_k - c_k)^2}{2 h_k^2}

    Both sides of a border agree, so that the masses are no parameters: cell k has
    :math:`e^{u_k} \sqrt{2 \pi} h_k (\Phi - \Phi) / Z`. Gradients flow to points, centres and
    bandwidths; detach the points to keep the cells constant.

    Arguments:
        points: atoms in the domain, `(*, K, 1)`.
        h: bandwidths, `(*, K)` or a number.
        centres: centres of the kernels, `(*, K, 1)`; the atoms if None.
        space: an interval; the whole line if None.

    Example:
        >>> z = torch.tensor([[-1.0], [1.0]])
        >>> law = ContinuousMixture(z, torch.tensor([0.5, 0.5]), centres=torch.zeros(2, 1))
        >>> law.log_prob(torch.zeros(1)), law.masses  # one Gaussian
        (tensor(-0.2258), tensor([0.5000, 0.5000]))
    """

    def __init__(
        self,
        points: Tensor,
        h: Tensor | float,
        centres: Tensor | None = None,
        space: Box | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if points.dim() < 2 or points.shape[-1] != 1:
            raise ValueError(
                f"points of a ContinuousMixture are (*, K, 1), found {tuple(points.shape)}: only "
                "laws on the line have masses that follow from their borders"
            )
        space = space or Box(-math.inf, math.inf)
        centres = points if centres is None else centres
        kernel = Gaussian(h)
        shape = broadcast_shapes(points.shape[:-1], centres.shape[:-1], kernel.h.shape)
        z, c, width = (
            x.double().expand(shape) for x in (points[..., 0], centres[..., 0], kernel.h)
        )
        self._borders = _Borders(z, c, width, space)
        masses = self._borders.masses().to(points.dtype)
        super().__init__(points, masses, kernel, space, None, validate_args, centres)

    @classmethod
    def shared(
        cls,
        location: Tensor,
        scale: Tensor,
        points: Tensor,
        h: Tensor | float,
        centres: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> ContinuousMixture:
        r"""The law of :math:`a + b T` on the whole line, where T has the given atoms and kernels.

        Location and scale move cells and kernels together, so that gradients flow from the cells to
        them even if the points are detached.

        Arguments:
            location: a, `(*)`.
            scale: b > 0, `(*)`.
            points: atoms of T, `(*, K, 1)`.
            h: bandwidths of T, `(*, K)` or a number.
            centres: centres of T, `(*, K, 1)`; the atoms if None.
            validate_args: see :class:`torch.distributions.Distribution`.
        """
        centres = points if centres is None else centres
        a, b = location[..., None, None], scale[..., None, None]
        width = scale[..., None] * h
        return cls(a + b * points, width, a + b * centres, None, validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> ContinuousMixture:
        new: ContinuousMixture = _instance or object.__new__(ContinuousMixture)
        super().expand(batch_shape, new)
        shape = (*Size(batch_shape), self.components)
        z, c, width = (x.expand(shape) for x in self._borders.given)
        new._borders = _Borders(z, c, width, self._borders.space)
        return new

    def with_bandwidth(self, h: Tensor | float) -> ContinuousMixture:
        """The same cells and centres at other bandwidths; the masses follow."""
        assert isinstance(self.space, Box)
        h = self.kernel.with_bandwidth(h).h.to(self.points)
        return ContinuousMixture(self.points, h, self.centres, self.space, self._validate_args)

    def with_temperature(self, temperature: float) -> ContinuousMixture:
        """Refused: there are no scores, as masses follow from continuity."""
        raise TypeError(
            "a ContinuousMixture has no scores whose temperature could change: its masses follow "
            "from continuity; use with_width_factor"
        )

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._target(value)
        log_prob = self._borders.log_prob(value[..., 0].to(torch.float64)).to(self.points.dtype)
        return torch.where(self.space.outside(value), -math.inf, log_prob)


def continuous_log_prob(
    points: Tensor, h: Tensor, centres: Tensor, y: Tensor, space: Box
) -> Tensor:
    """Log-densities `(*)` of :class:`ContinuousMixture` at targets, for a loss.

    No law is built and nothing is checked, which makes a step of a training several times faster.

    Arguments:
        points: atoms, `(*, K, 1)`.
        h: bandwidths, `(*, K)`.
        centres: centres of the kernels, `(*, K, 1)`.
        y: targets, `(*, 1)`.
        space: an interval.
    """
    z, c, width = points[..., 0].double(), centres[..., 0].double(), h.double()
    log_prob = _Borders(z, c, width, space).log_prob(y[..., 0].double()).to(points.dtype)
    return torch.where(space.outside(y), -math.inf, log_prob)


class _Borders:
    """Borders, kernels and factors of a continuous mixture, from left to right, in float64.

    Atoms that coincide share one cell: it has the kernel of the first of them.

    Arguments:
        points: atoms, `(*, K)`.
        centres: centres of their kernels, `(*, K)`.
        h: bandwidths, `(*, K)`.
        space: the domain.
    """

    def __init__(self, points: Tensor, centres: Tensor, h: Tensor, space: Box) -> None:
        self.given, self.space = (points, centres, h), space
        z, self.order = torch.sort(points, dim=-1, stable=True)
        place = torch.arange(z.shape[-1], device=z.device).expand(z.shape)
        new = pad(z.detach().diff(dim=-1) > 0, (1, 0), value=True)
        owner = self.order.gather(-1, torch.where(new, place, 0).cummax(-1).values)
        self.c, self.h = centres.gather(-1, owner), h.gather(-1, owner)
        self.middle = (z[..., 1:] + z[..., :-1]) / 2
        low, high = (x[0] for x in space.bounds(z[..., None]))
        ends = [low.expand(z[..., :1].shape), self.middle, high.expand(z[..., :1].shape)]
        edge = torch.cat(ends, -1)
        before, after = self._drop(slice(None, -1)), self._drop(slice(1, None))
        self.u = pad((after - before).cumsum(-1), (1, 0))
        inside = log_interval_mass(edge[..., :-1], edge[..., 1:], self.c, self.h)
        self.log_masses = self.u + self.h.log() + HALF_LOG_2PI + inside
        self.log_total = torch.logsumexp(self.log_masses, -1)

    def _drop(self, cells: slice) -> Tensor:
        """How far the log-density of kernels has dropped at the borders, `(*, K - 1)`."""
        return ((self.middle - self.c[..., cells]) / self.h[..., cells]) ** 2 / 2

    def masses(self) -> Tensor:
        """Masses of the cells in the order of the atoms given, `(*, K)`."""
        masses = (self.log_masses - self.log_total[..., None]).exp()
        return torch.zeros_like(masses).scatter(-1, self.order, masses)

    def log_prob(self, y: Tensor) -> Tensor:
        """Log-density at `y` `(*)` without regard to the domain."""
        cell = (self.middle.detach() < y.detach()[..., None]).sum(-1, keepdim=True)
        shape = (*cell.shape[:-1], self.c.shape[-1])
        u, c, h = (x.expand(shape).gather(-1, cell)[..., 0] for x in (self.u, self.c, self.h))
        return u - ((y - c) / h) ** 2 / 2 - self.log_total
