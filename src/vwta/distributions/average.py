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

    Example:
        >>> from vwta import Gaussian, KernelMixture
        >>> at = [torch.full((1, 1), z) for z in (-1.0, 1.0)]
        >>> law = Average([KernelMixture(z, torch.ones(1), Gaussian(0.5)) for z in at])
        >>> law.mean, law.variance
        (tensor([0.]), tensor([1.2500]))
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    def __init__(self, laws: Sequence[Distribution], validate_args: bool | None = None) -> None:
        self.laws = tuple(laws)
        if not self.laws:
            raise ValueError("an Average needs at least one law, found none")
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
        return torch.stack([law.mean for law in self.laws]).mean(0)

    @property
    def variance(self) -> Tensor:
        means = torch.stack([law.mean for law in self.laws])
        variances = torch.stack([law.variance for law in self.laws])
        return (variances + (means - means.mean(0)) ** 2).mean(0)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Average:
        new: Average = _instance or object.__new__(Average)
        new.laws = tuple(law.expand(Size(batch_shape)) for law in self.laws)
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def with_bandwidth(self, h: Tensor | float) -> Average:
        """The average of the same laws, all at another bandwidth h."""
        return Average([_at_bandwidth(law, h) for law in self.laws], self._validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        terms = torch.stack([law.log_prob(value) for law in self.laws])
        nowhere = (terms == -math.inf).all(0)  # logsumexp has no gradient there
        log_prob = torch.logsumexp(terms.masked_fill(nowhere, 0.0), 0) - math.log(len(self.laws))
        return log_prob.masked_fill(nowhere, -math.inf)

    def sample(self, sample_shape: Shape = (), generator: torch.Generator | None = None) -> Tensor:
        options = {} if generator is None else {"generator": generator}
        with torch.no_grad():
            y = self.laws[0].sample(Size(sample_shape), **options)
            shape = y.shape[: y.dim() - len(self.event_shape)]
            pick = torch.randint(len(self.laws), shape, device=y.device, generator=generator)
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


def _at_bandwidth(law: Distribution, h: Tensor | float) -> Distribution:
    change = getattr(law, "with_bandwidth", None)
    if change is None:
        raise TypeError(
            f"{type(law).__name__} has no bandwidth: average laws with a kernel to change theirs"
        )
    changed: Distribution = change(h)
    return changed
