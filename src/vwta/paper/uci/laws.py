"""The methods of the study: the conditional densities that follow from trained networks."""

from __future__ import annotations

__all__ = ["Law", "law_of", "mean_of_atoms"]

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from vwta.distributions.average import Average
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.distributions.transported import Transported
from vwta.geometry.kernels import Gaussian
from vwta.geometry.spaces import Box
from vwta.paper.densities import Domain, density
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.uci.choice import LINE

Law = KernelMixture | VoronoiMixture | Transported | Average


def law_of(
    method: str,
    networks: Sequence[nn.Module],
    x: Tensor,
    space: Box = LINE,
    h: float | None = None,
) -> Law:
    """The law that a method makes of networks of the UCI study, for each input.

    Arguments:
        method: a key of :data:`vwta.paper.estimators.ESTIMATORS`.
        networks: the network, or several, whose densities are averaged.
        x: inputs.
        space: where cells are cut.
        h: the bandwidth of a method that has one, any if none is given; the factor on the
            bandwidths of local kernels, none if it is not given.
    """
    domain = Domain(space, Gaussian(1.0 if h is None else h))
    laws: list[Law] = [density(method, network, domain)(x) for network in networks]
    if ESTIMATORS[method].adjusted and h is not None:
        laws = [law.with_width_factor(h) for law in laws]  # type: ignore[union-attr]
    return laws[0] if len(laws) == 1 else Average(laws)


def mean_of_atoms(networks: Sequence[nn.Module], x: Tensor) -> Tensor:
    r"""Mean :math:`\sum_k \gamma_k z_k` of atoms, over networks of the UCI study too, `(n, 1)`."""
    means = []
    for network in networks:
        atoms = network(x)
        means.append((atoms.masses[..., None] * atoms.points).sum(-2))
    return torch.stack(means).mean(0)
