"""Conditional densities: modules that, called on an input, return a distribution."""

from __future__ import annotations

__all__ = ["Estimator", "MixtureDensity", "select"]

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from vwta.distributions.mixtures import DiracMixture, KernelMixture, VoronoiMixture
from vwta.geometry.kernels import Gaussian, Kernel
from vwta.geometry.spaces import Space
from vwta.nn.heads import Components, Hypotheses
from vwta.nn.local import LocalAtoms

Atoms = TypeVar("Atoms", bound=Hypotheses | Components | LocalAtoms)


class Estimator(nn.Module):
    """A conditional density: a network's atoms, a kernel around each, and whether cells cut it.

    | kernel   | space | for a WTA network   | for a histogram            |
    |----------|-------|---------------------|----------------------------|
    | none     | none  | Dirac mixture       |                            |
    | Gaussian | none  | Kernel-WTA          |                            |
    | Gaussian | given | Voronoi-WTA         | truncated-kernel histogram |
    | Uniform  | given | uniform Voronoi-WTA | plain histogram            |

    The bandwidth is no weight: it is chosen after training, `model(x).with_bandwidth(h)`.

    Arguments:
        network: maps inputs to something with `points` `(*, K, d)` and `masses` `(*, K)`.
        kernel: law around each atom; without one the atoms are all there is.
        space: domain in which each kernel is cut to its atom's Voronoi cell; None for no cut.
        weighted: whether atoms have the network's masses, or all the same, :math:`1 / K`.

    Example:
        >>> import torch
        >>> from vwta.geometry.kernels import Gaussian
        >>> from vwta.nn.networks import WTANetwork
        >>> from vwta.geometry.spaces import Box
        >>> network = WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[16], bounded=True)
        >>> model = Estimator(network, Gaussian(0.2), Box([-1.0, -1.0], [1.0, 1.0]))
        >>> model(torch.rand(5, 1)).log_prob(torch.zeros(2)).shape
        torch.Size([5])
    """

    def __init__(
        self,
        network: nn.Module,
        kernel: Kernel | None = None,
        space: Space | None = None,
        weighted: bool = True,
    ) -> None:
        super().__init__()
        if kernel is None and space is not None:
            raise ValueError(f"space {space}: cells cut kernels, and there is no kernel; give one")
        self.network = network
        self.kernel = kernel
        self.space = space
        self.weighted = weighted

    def forward(self, x: Tensor) -> DiracMixture | KernelMixture | VoronoiMixture:
        atoms = self.network(x)
        points, masses = atoms.points, atoms.masses
        if not self.weighted:
            masses = torch.full_like(masses, 1 / masses.shape[-1])
        if self.kernel is None:
            return DiracMixture(points, masses)
        if self.space is None:
            return KernelMixture(points, masses, self.kernel)
        return VoronoiMixture(points, masses, self.kernel, self.space)


class MixtureDensity(nn.Module):
    """A mixture density network: each atom has a kernel of its own bandwidth, uncut.

    Arguments:
        network: maps inputs to something with `points` `(*, K, d)`, `masses` and `scales` `(*, K)`.
        kernel: makes a kernel of bandwidths `(*, K)`; on the sphere
            :class:`~vwta.geometry.kernels.VonMisesFisher`.

    Example:
        >>> from vwta.nn.networks import MixtureNetwork
        >>> network = MixtureNetwork(inputs=1, outputs=2, components=9, widths=[16], bounded=True)
        >>> MixtureDensity(network)(torch.rand(5, 1)).sample((3,)).shape
        torch.Size([3, 5, 2])
    """

    def __init__(self, network: nn.Module, kernel: Callable[[Tensor], Kernel] = Gaussian) -> None:
        super().__init__()
        self.network = network
        self.kernel = kernel

    def forward(self, x: Tensor) -> KernelMixture:
        atoms = self.network(x)
        return KernelMixture(atoms.points, atoms.masses, self.kernel(atoms.scales))


def select(atoms: Atoms, rows: Tensor) -> Atoms:
    """Of a network's atoms for a batch, those of some rows, such as some frames of a spectrogram.

    Most of the cost of a density is in its cells, so that it pays to leave out rows that are not
    needed. The rest becomes a density without its network:
    `Estimator(nn.Identity(), kernel, space)(atoms)`.

    Arguments:
        atoms: output of a network, with batch shape `(*)`.
        rows: which rows to select, bool with shape `(*)`, n of them; or their indices `(n,)` along
            the first axis.

    Returns:
        Atoms of the same type with batch shape `(n,)`, in the order of the batch.

    Example:
        >>> atoms = Hypotheses(torch.rand(2, 10, 9, 3), torch.rand(2, 10, 9))
        >>> select(atoms, torch.arange(10).expand(2, 10) < 3).points.shape
        torch.Size([6, 9, 3])
    """
    return type(atoms)(*(part[rows] for part in atoms))
