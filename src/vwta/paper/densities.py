"""Conditional densities of trained networks, by method: see :mod:`vwta.paper.estimators`."""

from __future__ import annotations

__all__ = ["Domain", "densities", "density"]

from typing import NamedTuple

from torch import Tensor, nn
from torch.distributions import Distribution

from vwta.geometry.kernels import Kernel, Uniform
from vwta.geometry.spaces import Space
from vwta.nn.densities import LocalDensity
from vwta.nn.models import Estimator, MixtureDensity
from vwta.paper.estimators import ESTIMATORS, measured_in
from vwta.paper.local import LocalKernels


class Domain(NamedTuple):
    """Space and kernel of the densities of a study.

    Attributes:
        space: in which cells are cut.
        kernel: law around each atom, for methods with a bandwidth; which one does not matter.
    """

    space: Space
    kernel: Kernel


def density(method: str, network: nn.Module, domain: Domain) -> nn.Module:
    """The density that a method of the registry makes of a network.

    Arguments:
        method: a key of :data:`vwta.paper.estimators.ESTIMATORS`.
        network: maps inputs to atoms.
        domain: where targets live.
    """
    recipe = ESTIMATORS[method]
    if recipe.kernel == "law":
        return _LawOf(network)
    if recipe.kernel == "local":
        background = network.background if isinstance(network, LocalKernels) else None
        return LocalDensity(network, domain.space, background)
    if recipe.kernel == "own":
        return MixtureDensity(network, type(domain.kernel))
    if recipe.kernel == "none":
        return Estimator(network, weighted=recipe.weighted)
    kernel = domain.kernel if recipe.swept else Uniform()
    return Estimator(network, kernel, domain.space if recipe.cut else None, recipe.weighted)


class _LawOf(nn.Module):
    """The density of a network whose output has a `law`."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Distribution:
        law: Distribution = self.network(x).law
        return law


def densities(study: str, kind: str, network: nn.Module, domain: Domain) -> dict[str, nn.Module]:
    """Densities of all methods of the registry that a study measures for a network.

    Atoms alone have no density, and are left out.

    Arguments:
        study: name of the study.
        kind: kind of the network.
        network: maps inputs to atoms.
        domain: where targets live.
    """
    methods = measured_in(study, kind)
    if not methods:
        known = dict.fromkeys(recipe.network for recipe in measured_in(study).values())
        raise ValueError(f"unknown network {kind!r}: expected one of {', '.join(known)}")
    return {
        name: density(name, network, domain)
        for name, recipe in methods.items()
        if recipe.kernel != "none"
    }
