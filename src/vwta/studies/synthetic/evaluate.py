"""Third stage: the estimators that follow from a trained network, measured on the test points."""

from __future__ import annotations

__all__ = ["Settings", "evaluate"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vwta.kernels import Gaussian
from vwta.metrics import likelihood_rows, risk, tidy
from vwta.models import Estimator
from vwta.provenance import provenance
from vwta.spaces import Box
from vwta.storage import read_tensors, sha256, write_table
from vwta.studies.synthetic.trained import load_network

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How estimators are measured.

    Attributes:
        h: bandwidths.
        capped: `epsilon` and `cap` of :func:`vwta.metrics.nll_capped`.
        low: lower corner of the domain.
        high: upper corner.
    """

    h: list[float]
    capped: dict[str, float]
    low: list[float]
    high: list[float]


def evaluate(
    networks: Sequence[Path],
    data: Path,
    path: Path,
    settings: Settings,
    code: str,
    protocol: str,
    dataset: str,
    K: int,
) -> None:
    """Writes the tidy metrics of the networks of some seeds, on the same test points.

    Arguments:
        networks: files of trained networks.
        data: file of the sets.
        path: file to write.
        settings: how to measure.
        code: digest of the code.
        protocol: name of the protocol.
        dataset: name of the problem.
        K: number of atoms.
    """
    sets, _ = read_tensors(data)
    x, y = sets["x_test"].double(), sets["y_test"].double()
    rows, trainings = [], []
    for file in networks:
        network, metadata = load_network(file)
        training = metadata["provenance"]
        logger.info("seed %d of %d networks", training["seed"], len(networks))
        rows += [{"seed": training["seed"], **row} for row in _measure(network, x, y, settings)]
        trainings.append(training)
    common = {"study": "synthetic", "protocol": protocol, "dataset": dataset, "K": K}
    record = provenance(code=code, data=sha256(data), trainings=trainings)
    write_table(path, tidy(rows, **common), {"provenance": record})


@torch.no_grad()
def _measure(
    network: nn.Module, x: Tensor, y: Tensor, settings: Settings
) -> Iterator[Mapping[str, Any]]:
    """Rows of metrics: one set for each method and bandwidth."""
    domain = Box(settings.low, settings.high)
    inside = domain.contains(y)
    yield {"method": "wta", "metric": "risk", "value": risk(network(x).points, y), "n": len(y)}
    kernel = Gaussian(settings.h[0])
    estimators = {"v_wta": Estimator(network, kernel, domain), "k_wta": Estimator(network, kernel)}
    for method, estimator in estimators.items():
        law = estimator(x)
        for h in settings.h:
            log_prob = law.with_bandwidth(h).log_prob(y)
            for row in likelihood_rows(log_prob, inside, **settings.capped):
                yield {"method": method, "h": h, **row}
