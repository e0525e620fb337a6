"""A law with a small share of a wide one, so that no target is next to impossible."""

from __future__ import annotations

__all__ = ["Robust"]

from collections.abc import Sequence

from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.average import Average
from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.kernels import Gaussian


class Robust(Average):
    r"""A law and a share of a background, :math:`(1 - \epsilon) p(y) + \epsilon q(y)`.

    Changes of bandwidth and temperature are those of the law; the background stays.

    Arguments:
        laws: the law p and the background q, of the same batch and event shape.
        validate_args: see :class:`torch.distributions.Distribution`.
        weights: :math:`1 - \epsilon` and :math:`\epsilon`.

    Example:
        >>> import torch
        >>> from vwta import ContinuousMixture
        >>> law = ContinuousMixture(torch.zeros(1, 1), torch.tensor([0.01]))
        >>> Robust.over(law, 0.01, 1.5).log_prob(torch.ones(1))
        tensor(-6.1518)
    """

    def __init__(
        self,
        laws: Sequence[Distribution],
        validate_args: bool | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        if len(laws) != 2 or weights is None:
            raise ValueError(
                f"a Robust law has a law, a background and their weights, found {len(laws)} laws "
                f"and weights {weights}"
            )
        super().__init__(laws, validate_args, weights)

    @classmethod
    def over(cls, law: VoronoiMixture, share: float, h: float) -> Robust:
        """A Voronoi mixture and a share of a Gaussian around 0 of bandwidth `h`, in its domain."""
        return cls([law, background(law, h)], law._validate_args, [1 - share, share])

    def with_bandwidth(self, h: Tensor | float) -> Average:
        return self._with(self.laws[0].with_bandwidth(h))  # type: ignore[attr-defined]

    def with_width_factor(self, factor: Tensor | float) -> Average:
        return self._with(self.laws[0].with_width_factor(factor))  # type: ignore[attr-defined]

    def with_temperature(self, temperature: float) -> Average:
        return self._with(self.laws[0].with_temperature(temperature))  # type: ignore[attr-defined]

    def _with(self, law: Distribution) -> Average:
        return self._changed([law, self.laws[1].expand(law.batch_shape)])


def background(law: VoronoiMixture, h: float) -> VoronoiMixture:
    """One Gaussian around 0 in the domain of a law, in its batch shape."""
    zero = law.points.new_zeros(1, law.event_shape[0])
    wide = VoronoiMixture(zero, zero.new_ones(1), Gaussian(h), law.space, validate_args=False)
    return wide.expand(law.batch_shape)
