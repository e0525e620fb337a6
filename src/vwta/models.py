"""Conditional densities: modules that, called on an input, return a distribution."""

from __future__ import annotations

__all__ = ["Estimator"]

from torch import Tensor, nn

from .distributions import DiracMixture, KernelMixture, VoronoiMixture
from .kernels import Kernel
from .spaces import Space


class Estimator(nn.Module):
    """A conditional density: a network's atoms, a kernel around each, and whether cells cut it.

    | kernel | space | for a WTA network      |
    |--------|-------|------------------------|
    | none   | none  | Dirac mixture          |
    | given  | none  | Kernel-WTA             |
    | given  | given | Voronoi-WTA            |

    The bandwidth is no weight: it is chosen after training, `model(x).with_bandwidth(h)`.

    Arguments:
        network: maps inputs to something with `points` `(*, K, d)` and `masses` `(*, K)`.
        kernel: law around each atom; without one the atoms are all there is.
        space: domain in which each kernel is cut to its atom's Voronoi cell; None for no cut.

    Example:
        >>> import torch
        >>> from vwta.kernels import Gaussian
        >>> from vwta.networks import WTANetwork
        >>> from vwta.spaces import Box
        >>> network = WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[16], bounded=True)
        >>> model = Estimator(network, Gaussian(0.2), Box([-1.0, -1.0], [1.0, 1.0]))
        >>> model(torch.rand(5, 1)).log_prob(torch.zeros(2)).shape
        torch.Size([5])
    """

    def __init__(
        self, network: nn.Module, kernel: Kernel | None = None, space: Space | None = None
    ) -> None:
        super().__init__()
        if kernel is None and space is not None:
            raise ValueError(f"space {space}: cells cut kernels, and there is no kernel; give one")
        self.network = network
        self.kernel = kernel
        self.space = space

    def forward(self, x: Tensor) -> DiracMixture | KernelMixture | VoronoiMixture:
        atoms = self.network(x)
        if self.kernel is None:
            return DiracMixture(atoms.points, atoms.masses)
        if self.space is None:
            return KernelMixture(atoms.points, atoms.masses, self.kernel)
        return VoronoiMixture(atoms.points, atoms.masses, self.kernel, self.space)
