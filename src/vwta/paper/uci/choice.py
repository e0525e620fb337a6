"""Choice among trainings of a split's networks, by the NLL of its validation rows."""

from __future__ import annotations

__all__ = ["choose"]

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from vwta.distributions.average import Average
from vwta.distributions.bandwidth import adjust, tune
from vwta.geometry.kernels import Gaussian
from vwta.geometry.spaces import Box
from vwta.nn.densities import LocalDensity
from vwta.nn.heads import Components
from vwta.nn.models import Estimator, MixtureDensity
from vwta.nn.networks import restore
from vwta.paper.local import LocalKernels
from vwta.paper.uci.networks import build

logger = logging.getLogger(__name__)

LINE = Box(-math.inf, math.inf)
LOW, HIGH, TOLERANCE = 1e-3, 3.0, 1e-2  # of the search for h, in standardised units


@torch.no_grad()
def choose(
    candidates: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Tensor]]]],
    x: Tensor,
    y: Tensor,
) -> int:
    """Index of the candidate of the UCI study whose average of estimators has the lowest NLL.

    Estimators of WTA networks and histograms are cut kernels, at the bandwidth with the lowest
    NLL; local kernels are taken at the factor with the lowest one.

    Arguments:
        candidates: for each way to train how to build its networks, and the weights of its
            restarts.
        x: inputs of the validation rows, with shape `(n, d)`, in float64.
        y: their targets, with shape `(n, 1)`. They choose the bandwidth too.
    """
    values = []
    for specification, restarts in candidates:
        networks = [restore(specification, weights, build) for weights in restarts]
        values.append(_lowest(networks, x, y))
    logger.info("validation NLL of the candidates: %s", ", ".join(f"{v:.4f}" for v in values))
    return min(range(len(values)), key=values.__getitem__)


def _lowest(networks: Sequence[nn.Module], x: Tensor, y: Tensor) -> float:
    """NLL of the average of the networks' laws, at its best bandwidth or factor if it has one."""
    outputs = [network(x) for network in networks]
    local = [network for network in networks if isinstance(network, LocalKernels)]
    if local:
        laws = [LocalDensity(network, LINE, network.background)(x) for network in local]
        return adjust(Average(laws), y, tolerance=TOLERANCE).value
    if hasattr(outputs[0], "law"):
        return -Average([output.law for output in outputs]).log_prob(y).mean().item()
    if isinstance(outputs[0], Components):
        mixtures = Average([MixtureDensity(network, Gaussian)(x) for network in networks])
        return -mixtures.log_prob(y).mean().item()
    laws = [Estimator(network, Gaussian(1.0), LINE)(x) for network in networks]
    law = laws[0] if len(laws) == 1 else Average(laws)
    return tune(law, y, LOW, HIGH, TOLERANCE).value
