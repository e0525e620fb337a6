r"""Laws of networks with local kernels, and the loss that trains them."""

from __future__ import annotations

__all__ = [
    "Background",
    "LocalDensity",
    "local",
    "local_law",
    "local_nll",
    "sphere_local",
    "sphere_local_nll",
]

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vwta.distributions.continuous import ContinuousMixture, continuous_log_prob
from vwta.distributions.mixtures import VoronoiMixture
from vwta.distributions.robust import Robust
from vwta.geometry.intervals import HALF_LOG_2PI, log_interval_mass
from vwta.geometry.kernels import Gaussian, VonMisesFisher
from vwta.geometry.spaces import Box, Space, Sphere
from vwta.nn.local import ContinuousAtoms, LocalAtoms, ShapedAtoms

Parts = LocalAtoms | ShapedAtoms | ContinuousAtoms


class Background(NamedTuple):
    r"""A wide Gaussian :math:`N(0, h^2)` in the domain, of which laws have a small share.

    Attributes:
        share: its share :math:`\epsilon`.
        h: its bandwidth, in the unit of the targets, which are standardised.
    """

    share: float = 0.01
    h: float = 1.5


class LocalDensity(nn.Module):
    """A conditional density with local kernels: called on an input, it returns a law.

    Arguments:
        network: maps inputs to :class:`~vwta.nn.local.LocalAtoms`,
            :class:`~vwta.nn.local.ShapedAtoms` or :class:`~vwta.nn.local.ContinuousAtoms`.
        space: domain in which kernels are cut to the cells of the hypotheses.
        background: a wide law of which there is a small share; None for none.

    Example:
        >>> import torch
        >>> from vwta import Box, LocalNetwork
        >>> network = LocalNetwork(inputs=1, outputs=2, hypotheses=9, widths=[16], bounded=True)
        >>> model = LocalDensity(network, Box([-1.0, -1.0], [1.0, 1.0]))
        >>> model(torch.rand(5, 1)).log_prob(torch.zeros(2)).shape
        torch.Size([5])
    """

    def __init__(
        self, network: nn.Module, space: Space, background: Background | None = None
    ) -> None:
        super().__init__()
        self.network, self.space, self.background = network, space, background

    def forward(self, x: Tensor) -> VoronoiMixture | Robust:
        atoms = self.network(x)
        return local_law(atoms, atoms.points, self.space, self.background)


def local_law(
    atoms: Parts,
    cells: Tensor,
    space: Space,
    background: Background | None = None,
    validate_args: bool | None = None,
) -> VoronoiMixture | Robust:
    """Law of a network's atoms with local kernels.

    Arguments:
        atoms: output of a network.
        cells: points whose Voronoi cells cut the kernels, `(*, K, d)`: `atoms.points`, or
            `atoms.cells`, which are constant for a likelihood that is to be differentiated.
        space: the domain.
        background: see :class:`LocalDensity`.
        validate_args: see :class:`torch.distributions.Distribution`.
    """
    law: VoronoiMixture
    if isinstance(atoms, ContinuousAtoms):
        if not isinstance(space, Box):
            raise TypeError(f"{space}: masses follow from continuity on the line alone, in a Box")
        law = ContinuousMixture(cells, atoms.scales, atoms.centres, space, validate_args)
    else:
        kernel = (VonMisesFisher if isinstance(space, Sphere) else Gaussian)(atoms.scales)
        roots = getattr(atoms, "roots", None)
        law = VoronoiMixture(
            cells, atoms.masses, kernel, space, None, validate_args, atoms.centres, roots
        )
    return law if background is None else Robust.over(law, background.share, background.h)


def local(
    atoms: Parts,
    y: Tensor,
    space: Space,
    distance: float = 10.0,
    background: Background | None = None,
) -> Tensor:
    r"""Loss of local kernels: exact negative log-likelihood and distance to the winner, a mean.

    .. math:: -\log p(y) + \lambda \min_k \|z_k - y\|^2

    The cells are constants of the likelihood, so that the second term alone moves hypotheses, as in
    plain winner-takes-all; see :attr:`~vwta.nn.local.LocalAtoms.cells`.

    Arguments:
        atoms: output of the network, with batch shape `(*)`.
        y: targets in the domain, with shape `(*, d)`.
        space: the domain.
        distance: weight :math:`\lambda` of the squared distance.
        background: a wide law of which p has a small share; None for none.
    """
    nearest = (atoms.points - y.unsqueeze(-2)).square().sum(-1).amin(-1)
    return (distance * nearest - _log_prob(atoms, y, space, background)).mean(-1)


def local_nll(
    atoms: Parts,
    y: Tensor,
    space: Space,
    background: Background | None = None,
) -> Tensor:
    """The negative log-likelihood of :func:`local` alone: a criterion of early stopping.

    Arguments as of :func:`local`.
    """
    return -_log_prob(atoms, y, space, background).mean(-1)


def sphere_local(atoms: LocalAtoms, y: Tensor, active: Tensor, distance: float = 10.0) -> Tensor:
    r"""Loss of local kernels on the sphere, for several targets a frame: see :func:`local`.

    .. math:: \frac{1}{N} \sum_{t, s} (-\log p_t(y_{ts}) + \lambda \min_k \|z_{tk} - y_{ts}\|^2)

    The sum is over the N active targets. Without any the loss is 0.

    Arguments:
        atoms: output of the network, with batch shape `(*)`.
        y: targets, unit vectors with shape `(*, S, 3)`; places that are not active hold anything.
        active: which of them exist, bool with shape `(*, S)`.
        distance: weight :math:`\lambda` of the squared distance.
    """
    frame, target = _active_targets(atoms, y, active)
    nearest = (frame.points - target.unsqueeze(-2)).square().sum(-1).amin(-1)
    value = distance * nearest - _log_prob(frame, target, Sphere(), None)
    return value.sum() / max(len(target), 1)


def sphere_local_nll(atoms: LocalAtoms, y: Tensor, active: Tensor) -> Tensor:
    """The negative log-likelihood of :func:`sphere_local` alone: a criterion of early stopping.

    Arguments as of :func:`sphere_local`.
    """
    frame, target = _active_targets(atoms, y, active)
    return -_log_prob(frame, target, Sphere(), None).sum() / max(len(target), 1)


def _active_targets(atoms: LocalAtoms, y: Tensor, active: Tensor) -> tuple[LocalAtoms, Tensor]:
    """Active targets `(N, 3)`, and the atoms of the frame of each."""
    at = torch.nonzero(active.flatten(0, -2))
    parts = (part.flatten(0, active.dim() - 2)[at[:, 0]] for part in atoms)
    return LocalAtoms(*parts), y.flatten(0, -3)[at[:, 0], at[:, 1]]


def _log_prob(atoms: Parts, y: Tensor, space: Space, background: Background | None) -> Tensor:
    """Log-densities `(*)` of laws whose cells are constants."""
    if not (isinstance(atoms, ContinuousAtoms) and isinstance(space, Box)):
        return local_law(atoms, atoms.cells, space, background, validate_args=False).log_prob(y)
    log_prob = continuous_log_prob(atoms.cells, atoms.scales, atoms.centres, y, space)
    if background is None:
        return log_prob
    share, h = background
    low, high = (end[0].double() for end in space.bounds(y))
    wide = y.new_full((), h).double()
    inside = log_interval_mass(low, high, torch.zeros_like(low), wide.expand(low.shape))
    log_wide = -((y[..., 0] / h) ** 2) / 2 - math.log(h) - HALF_LOG_2PI - inside.to(y)
    log_wide = torch.where(space.outside(y), -math.inf, log_wide)
    return torch.logaddexp(log_prob + math.log1p(-share), log_wide + math.log(share))
