"""Third stage: the true law, and the estimators of trained networks, on the test points."""

from __future__ import annotations

__all__ = ["Settings", "evaluate"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vwta.distributions.bandwidth import tune
from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors, sha256
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.metrics import MetricsFile, likelihood_rows, risk
from vwta.paper.synthetic.estimators import estimators
from vwta.paper.synthetic.trained import load_network
from vwta.paper.synthetic.true_laws import Problem

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How estimators of the synthetic study are measured.

    Attributes:
        h: bandwidths.
        capped: `epsilon` and `cap` of :func:`vwta.paper.metrics.nll_capped`.
        tuning: `methods` whose bandwidth is also tuned on the validation rows, and `low`, `high`
            and `tolerance` of :func:`vwta.distributions.bandwidth.tune`.
        low: lower corner of the domain.
        high: upper corner.
        selected_by: criterion of the weights to take, see
            :func:`vwta.paper.synthetic.trained.load_network`.
    """

    h: list[float]
    capped: dict[str, float]
    tuning: dict[str, Any]
    low: list[float]
    high: list[float]
    selected_by: str


def evaluate(
    networks: Sequence[Path],
    data: Path,
    law: Problem,
    settings: Settings,
    output: MetricsFile,
) -> None:
    """Writes the tidy metrics of a synthetic problem: of its true law, then of trained networks.

    Arguments:
        networks: files of trained networks, of whatever kind, K and seed.
        data: file of the data set.
        law: the true law of the test points.
        settings: how to measure.
        output: file to write.
    """
    tensors = {name: rows.double() for name, rows in read_tensors(data)[0].items()}
    rows, trainings = list(_truth(law, tensors, settings)), []
    for index, file in enumerate(networks, 1):
        network, metadata = load_network(file, settings.selected_by)
        training = metadata["provenance"]
        facts = {"K": training["K"], "seed": training["seed"]}
        kind = metadata["network"]["kind"]
        logger.info("%s, K=%d, seed %d (%d/%d)", kind, *facts.values(), index, len(networks))
        rows += [{**facts, **row} for row in _measure(kind, network, tensors, settings)]
        trainings.append(training)
    output.write(rows, data=sha256(data), trainings=trainings)


def _truth(
    law: Problem, tensors: Mapping[str, Tensor], settings: Settings
) -> Iterator[Mapping[str, Any]]:
    """Rows of the true law, what the best estimator could reach.

    `outside` is the number of points outside the domain, which no method's `nll` counts.
    """
    x, y = tensors["x_test"], tensors["y_test"]
    inside = Box(settings.low, settings.high).contains(y)
    for row in likelihood_rows(law.log_density(x, y), inside, **settings.capped):
        yield {"method": "truth", **row}
    outside = int((~inside).sum())
    yield {"method": "truth", "metric": "outside", "value": outside, "n": len(y)}


@torch.no_grad()
def _measure(
    kind: str, network: nn.Module, tensors: Mapping[str, Tensor], settings: Settings
) -> Iterator[Mapping[str, Any]]:
    """Rows of metrics, for each method and bandwidth."""
    domain = Box(settings.low, settings.high)
    x, y = tensors["x_test"], tensors["y_test"]
    inside = domain.contains(y)
    yield {"method": kind, "metric": "risk", "value": risk(network(x).points, y), "n": len(y)}
    for method, estimator in estimators(kind, network, domain).items():
        law = estimator(x)
        bandwidths: list[tuple[float | None, bool]] = [(None, False)]
        if ESTIMATORS[method].swept:
            bandwidths = [(h, False) for h in settings.h]
        if method in settings.tuning["methods"]:
            bandwidths.append((_tuned(method, estimator, tensors, domain, settings), True))
        for h, tuned in bandwidths:
            at = law if h is None else law.with_bandwidth(h)
            for row in likelihood_rows(at.log_prob(y), inside, **settings.capped):
                yield {"method": method, "h": h, "tuned": tuned, **row}


def _tuned(
    method: str,
    estimator: nn.Module,
    tensors: Mapping[str, Tensor],
    domain: Box,
    settings: Settings,
) -> float:
    """Bandwidth with the lowest NLL of the validation rows in the domain."""
    x, y = tensors["x_validation"], tensors["y_validation"]
    inside = domain.contains(y)
    search = {key: settings.tuning[key] for key in ("low", "high", "tolerance")}
    found = tune(estimator(x[inside]), y[inside], **search)
    logger.info(
        "%s: h = %.4f after %d evaluations, validation NLL %.4f",
        method,
        found.at,
        found.evaluations,
        found.value,
    )
    return found.at
