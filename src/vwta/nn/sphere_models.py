"""Conditional densities on the sphere, for each frame of a spectrogram.

:class:`vwta.nn.models.Estimator` takes the networks of :mod:`vwta.nn.seldnet` as they are: its
batch is `(B, T)`. Here is what it lacks: the mixture with its own concentrations, and a way to keep
some frames only, as most of the cost of a density is in its cells.
"""

from __future__ import annotations

__all__ = ["DirectionMixtureDensity", "select"]

from typing import TypeVar

from torch import Tensor, nn

from vwta.distributions.mixtures import KernelMixture
from vwta.geometry.kernels import VonMisesFisher
from vwta.nn.networks import Hypotheses
from vwta.nn.seldnet import DirectionComponents

Atoms = TypeVar("Atoms", bound=Hypotheses | DirectionComponents)


class DirectionMixtureDensity(nn.Module):
    """A mixture density network on the sphere: its own von Mises-Fisher law around each atom.

    Arguments:
        network: maps inputs to something with `points` `(*, K, 3)`, `masses` and `scales` `(*, K)`.

    Example:
        >>> import torch
        >>> from vwta.nn.seldnet import DirectionMixture, Sizes
        >>> sizes = Sizes(
        ...     channels=8, frames=10, bands=64, filters=4, pools=[4, 4, 2], width=6, layers=2
        ... )
        >>> model = DirectionMixtureDensity(DirectionMixture(components=9, **sizes))
        >>> model(torch.rand(2, 8, 10, 64)).log_prob(torch.tensor([0.0, 0.6, 0.8])).shape
        torch.Size([2, 10])
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> KernelMixture:
        atoms = self.network(x)
        return KernelMixture(atoms.points, atoms.masses, VonMisesFisher(atoms.scales))


def select(atoms: Atoms, frames: Tensor) -> Atoms:
    """Atoms of some frames, in one row.

    They become a density without their network: `Estimator(nn.Identity(), kernel, space)(atoms)`.

    Arguments:
        atoms: what a network gives, `(B, T, *)`.
        frames: which frames to keep, bool with shape `(B, T)`, n of them; or their indices `(n,)`
            among atoms that are in one row already, `(N, *)`.

    Returns:
        The same kind of atoms, `(n, *)`, in the order of sequences, then of time.

    Example:
        >>> import torch
        >>> atoms = Hypotheses(torch.rand(2, 10, 9, 3), torch.rand(2, 10, 9))
        >>> select(atoms, torch.arange(10).expand(2, 10) < 3).points.shape
        torch.Size([6, 9, 3])
    """
    return type(atoms)(*(part[frames] for part in atoms))
