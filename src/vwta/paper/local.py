"""Networks with local kernels for points of the line and the plane, and how they are trained.

They have a table of their own, besides that of :mod:`vwta.paper.networks`: their loss is the exact
likelihood, so that a change to a law trains them anew, and no other network.
"""

from __future__ import annotations

__all__ = ["NETWORKS", "LocalKernels", "build", "local", "local_nll"]

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from vwta.nn.densities import Background, local, local_nll
from vwta.nn.local import Form, LocalNetwork
from vwta.paper import networks
from vwta.paper.registry import Training, named


class LocalKernels(LocalNetwork):
    """A network with local kernels, and the background of which its law has a share.

    Arguments:
        inputs: number of inputs.
        outputs: dimension of the hypotheses.
        hypotheses: their number K.
        widths: widths of the trunk's layers.
        form: see :class:`~vwta.nn.local.LocalHead`.
        bounded: likewise.
        log_scale: likewise.
        background: `share` and `h` of :class:`~vwta.nn.densities.Background`; None for none.
        covariance: see :class:`~vwta.nn.local.LocalHead`.

    Example:
        >>> wide = {"share": 0.01, "h": 1.5}
        >>> network = LocalKernels(3, 1, 5, [16], "continuous", background=wide)
        >>> network.background
        Background(share=0.01, h=1.5)
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        hypotheses: int,
        widths: Sequence[int],
        form: Form,
        bounded: bool = False,
        log_scale: float = -0.3,
        background: Mapping[str, float] | None = None,
        covariance: bool = False,
    ) -> None:
        sizes = inputs, outputs, hypotheses, widths
        super().__init__(*sizes, form, bounded, log_scale, covariance)
        self.background = None if background is None else Background(**background)


# Losses are those of this module.
NETWORKS: dict[str, Training] = {
    "local": Training(
        LocalKernels, "local", {"nll": "local_nll"}, ensembled=True, selected_by="nll"
    ),
}


def build(kind: str, **arguments: Any) -> nn.Module:
    """Network for points of a kind, with or without local kernels, from its file's arguments."""
    return named(kind, {**networks.NETWORKS, **NETWORKS}).network(**arguments)
