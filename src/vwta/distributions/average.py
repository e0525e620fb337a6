r"""Ensembles: the average of several laws, such as those of networks from several seeds."""

from __future__ import annotations

__all__ = ["Average"]

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from vwta.distributions.atoms import Shape


class Average(Distribution):
    r"""A law whose density is the mean of those of M laws, :math:`\frac{1}{M} \sum_m p_m(y)`.

    Arguments:
        laws: at least one, all of the same batch and event shape, whichever laws they are.
        weights: positive weights of the laws, whose sum is 1; all the same if None.

    Example:
        >>> from vwta import Gaussian, KernelMixture
        >>> at = [torch.full((1, 1), z) for z in (-1.0, 1.0)]
        >>> law = Average([KernelMixture(z, torch.ones(1), Gaussian(0.5)) for z in at])
        >>> law.mean, law.variance
        (tensor([0.]), tensor([1.2500]))
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    def __init__(
        self,
        laws: Sequence[Distribution],
        validate_args: bool | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.laws = tuple(laws)
        self.weights = None if weights is None else tuple(weights)
        if not self.laws:
            raise ValueError("an Average needs at least one law, found none")
        if self.weights is not None:
            _check_weights(self.weights, len(self.laws))
        shapes = {(tuple(law.batch_shape), tuple(law.event_shape)) for law in self.laws}
        if len(shapes) > 1:
            raise ValueError(
                f"laws of an Average need one batch and event shape, found {sorted(shapes)}: "
                "expand them to the same"
            )
        first = self.laws[0]
        super().__init__(first.batch_shape, first.event_shape, validate_args=validate_args)

    def __repr__(self) -> str:
        return f"Average({', '.join(map(repr, self.laws))})"

    @property
    def support(self) -> constraints.Constraint:
        supports = (law.support for law in self.laws)
        return _Union([support for support in supports if support is not None])

    @property
    def mean(self) -> Tensor:
        return self.mean_of(torch.stack([law.mean for law in self.laws]))

    @property
    def variance(self) -> Tensor:
        means = torch.stack([law.mean for law in self.laws])
        variances = torch.stack([law.variance for law in self.laws])
        return self.mean_of(variances + (means - self.mean_of(means)) ** 2)

    def mean_of(self, values: Tensor) -> Tensor:
        """Mean over the laws, `(*)`, of values `(M, *)`."""
        if self.weights is None:
            return values.mean(0)
        mean: Tensor = torch.tensordot(values.new_tensor(self.weights), values, 1)
        return mean

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Average:
        new: Average = _instance or object.__new__(type(self))
        new.weights = self.weights
        new.laws = tuple(law.expand(Size(batch_shape)) for law in self.laws)
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def with_bandwidth(self, h: Tensor | float) -> Average:
        """The average of the same laws, all at another bandwidth h."""
        return self._changed([_changed(law, "with_bandwidth", h) for law in self.laws])

    def with_width_factor(self, factor: Tensor | float) -> Average:
        """The average of the same laws, with all bandwidths multiplied by a factor."""
        return self._changed([_changed(law, "with_width_factor", factor) for law in self.laws])

    def with_temperature(self, temperature: float) -> Average:
        """The average of the same laws, with the scores of all at another temperature."""
        return self._changed([_changed(law, "with_temperature", temperature) for law in self.laws])

    def _changed(self, laws: Sequence[Distribution]) -> Average:
        return type(self)(laws, self._validate_args, self.weights)

    def log_prob(self, value: Tensor) -> Tensor:
        terms = torch.stack([law.log_prob(value) for law in self.laws])
        nowhere = (terms == -math.inf).all(0)  # logsumexp has no gradient there
        terms = terms.masked_fill(nowhere, 0.0)
        if self.weights is None:
            log_prob = torch.logsumexp(terms, 0) - math.log(len(self.laws))
        else:
            log_weights = terms.new_tensor(self.weights).log()
            log_prob = torch.logsumexp((terms.movedim(0, -1) + log_weights), -1)
        return log_prob.masked_fill(nowhere, -math.inf)

    def sample(self, sample_shape: Shape = (), generator: torch.Generator | None = None) -> Tensor:
        options = {} if generator is None else {"generator": generator}
        with torch.no_grad():
            y = self.laws[0].sample(Size(sample_shape), **options)
            shape = y.shape[: y.dim() - len(self.event_shape)]
            if self.weights is None:
                pick = torch.randint(len(self.laws), shape, device=y.device, generator=generator)
            else:
                weights = y.new_tensor(self.weights)
                pick = torch.multinomial(weights, shape.numel(), True, generator=generator)
            pick = pick.view(*shape, *(1 for _ in self.event_shape))
            for i, law in enumerate(self.laws[1:], 1):
                y = torch.where(pick == i, law.sample(Size(sample_shape), **options), y)
            return y


class _Union(constraints.Constraint):
    """Values that meet at least one of some constraints."""

    def __init__(self, parts: Sequence[constraints.Constraint]) -> None:
        self.parts = parts
        self.event_dim = parts[0].event_dim
        self.is_discrete = parts[0].is_discrete
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return torch.stack([part.check(value) for part in self.parts]).any(0)


def _check_weights(weights: Sequence[float], count: int) -> None:
    if len(weights) != count or not all(w > 0 for w in weights) or abs(sum(weights) - 1) > 1e-9:
        raise ValueError(
            f"weights {list(weights)} of {count} laws: expected one for each, positive, with sum 1"
        )


def _changed(law: Distribution, change: str, value: Tensor | float) -> Distribution:
    method = getattr(law, change, None)
    if method is None:
        raise TypeError(
            f"{type(law).__name__} has no {change}: average laws that have it, such as a "
            "VoronoiMixture"
        )
    changed: Distribution = method(value)
    return changed
