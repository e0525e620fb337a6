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

from vwta.bandwidth import tune
from vwta.metrics import likelihood_rows, risk, tidy
from vwta.provenance import provenance
from vwta.spaces import Box
from vwta.storage import read_tensors, sha256, write_table
from vwta.studies.synthetic.estimators import SWEPT, estimators
from vwta.studies.synthetic.trained import load_network

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How estimators are measured.

    Attributes:
        h: bandwidths.
        capped: `epsilon` and `cap` of :func:`vwta.metrics.nll_capped`.
        tuning: `methods` whose bandwidth is also tuned on the validation rows, and `low`, `high`
            and `tolerance` of :func:`vwta.bandwidth.tune`.
        low: lower corner of the domain.
        high: upper corner.
        kept_by: criterion of the weights to take, see
            :func:`vwta.studies.synthetic.trained.load_network`.
    """

    h: list[float]
    capped: dict[str, float]
    tuning: dict[str, Any]
    low: list[float]
    high: list[float]
    kept_by: str


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
    sets = {name: rows.double() for name, rows in read_tensors(data)[0].items()}
    rows, trainings = [], []
    for file in networks:
        network, metadata = load_network(file, settings.kept_by)
        training = metadata["provenance"]
        logger.info("seed %d of %d networks", training["seed"], len(networks))
        measured = _measure(metadata["network"]["kind"], network, sets, settings)
        rows += [{"seed": training["seed"], **row} for row in measured]
        trainings.append(training)
    common = {"study": "synthetic", "protocol": protocol, "dataset": dataset, "K": K}
    record = provenance(code=code, data=sha256(data), trainings=trainings)
    write_table(path, tidy(rows, **common), {"provenance": record})


@torch.no_grad()
def _measure(
    kind: str, network: nn.Module, sets: Mapping[str, Tensor], settings: Settings
) -> Iterator[Mapping[str, Any]]:
    """Rows of metrics: one set for each method and bandwidth."""
    domain = Box(settings.low, settings.high)
    x, y = sets["x_test"], sets["y_test"]
    inside = domain.contains(y)
    yield {"method": kind, "metric": "risk", "value": risk(network(x).points, y), "n": len(y)}
    for method, estimator in estimators(kind, network, domain).items():
        law = estimator(x)
        bandwidths: list[tuple[float | None, bool]] = [(None, False)]
        if method in SWEPT:
            bandwidths = [(h, False) for h in settings.h]
        if method in settings.tuning["methods"]:
            bandwidths.append((_tuned(method, estimator, sets, domain, settings), True))
        for h, tuned in bandwidths:
            at = law if h is None else law.with_bandwidth(h)
            for row in likelihood_rows(at.log_prob(y), inside, **settings.capped):
                yield {"method": method, "h": h, "tuned": tuned, **row}


def _tuned(
    method: str,
    estimator: nn.Module,
    sets: Mapping[str, Tensor],
    domain: Box,
    settings: Settings,
) -> float:
    """Bandwidth with the lowest NLL of the validation rows in the domain."""
    x, y = sets["x_validation"], sets["y_validation"]
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
