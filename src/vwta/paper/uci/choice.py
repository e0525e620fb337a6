"""Which of several ways to train a split's networks have the lowest NLL of its validation rows."""

from __future__ import annotations

__all__ = ["choose"]

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from vwta.distributions.bandwidth import tune
from vwta.nn.networks import restore
from vwta.paper.networks import build
from vwta.paper.uci.laws import law_of

logger = logging.getLogger(__name__)

LOW, HIGH, TOLERANCE = 1e-3, 3.0, 1e-2  # of the search for h, in standardised units


@torch.no_grad()
def choose(
    candidates: Sequence[Sequence[Mapping[str, Tensor]]],
    specification: Mapping[str, Any],
    x: Tensor,
    y: Tensor,
) -> int:
    """Index of the candidate whose average of V-WTA estimators has the lowest NLL.

    Arguments:
        candidates: for each way to train the weights of its networks, a list of restarts.
        specification: how to build the network.
        x: inputs of the validation rows, with shape `(n, d)`, in float64.
        y: their targets, with shape `(n, 1)`. They choose the bandwidth too.
    """
    values = []
    for restarts in candidates:
        law = law_of("v_wta", [restore(specification, weights, build) for weights in restarts], x)
        values.append(tune(law, y, LOW, HIGH, TOLERANCE).value)
    logger.info("validation NLL of the candidates: %s", ", ".join(f"{v:.4f}" for v in values))
    return min(range(len(values)), key=values.__getitem__)
