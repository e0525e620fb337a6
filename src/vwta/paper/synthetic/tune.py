"""Third stage: bandwidths of the estimators of trained networks."""

from __future__ import annotations

__all__ = ["Settings", "tune"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vwta.distributions import bandwidth
from vwta.distributions.average import Average
from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors, sha256
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.searches import SearchFile, adjusted_rows, at_border, search_rows, write_searches
from vwta.paper.synthetic.estimators import estimators
from vwta.paper.synthetic.trained import load_network

logger = logging.getLogger(__name__)
FACTORS = (0.25, 4.0)  # on the bandwidths of local kernels, and temperatures: lowest and highest


@dataclass(frozen=True)
class Settings:
    """How bandwidths of the synthetic study are searched.

    Attributes:
        tuning: `methods` whose bandwidth is searched, and `low`, `high` and `tolerance` of
            :func:`vwta.distributions.bandwidth.tune`. Local kernels are adjusted to as close a
            tolerance, see :func:`vwta.distributions.bandwidth.adjust`.
        low: lower corner of the domain.
        high: upper corner.
        selected_by: criterion of the weights to take, see
            :func:`vwta.paper.synthetic.trained.load_network`.
    """

    tuning: dict[str, Any]
    low: list[float]
    high: list[float]
    selected_by: str


def tune(networks: Sequence[Path], data: Path, settings: Settings, output: SearchFile) -> None:
    """Writes the searches for h of networks of a synthetic problem, on its validation rows.

    Arguments:
        networks: files of trained networks, of whatever kind, K and seed.
        data: file of the data set.
        settings: how to search.
        output: table to write.
    """
    tensors = {name: rows.double() for name, rows in read_tensors(data)[0].items()}
    rows = []
    for file in networks:
        network, metadata = load_network(file, settings.selected_by)
        facts = {name: metadata["provenance"][name] for name in ("K", "seed")}
        found = searched(metadata["network"]["kind"], network, tensors, settings)
        rows += [{**facts, **row} for row in found]
    write_searches(output, rows, ("K", "seed", "temperature"), data=sha256(data))


@torch.no_grad()
def searched(
    kind: str, network: nn.Module, tensors: Mapping[str, Tensor], settings: Settings
) -> Iterator[dict[str, Any]]:
    """Rows of the searches for h of a synthetic network, by the NLL of the rows in the domain."""
    domain = Box(settings.low, settings.high)
    x, y = tensors["x_validation"], tensors["y_validation"]
    inside = domain.contains(y)
    search = {key: settings.tuning[key] for key in ("low", "high", "tolerance")}
    for method, estimator in estimators(kind, network, domain).items():
        if ESTIMATORS[method].adjusted:
            for row in _adjusted(method, estimator(x[inside]), y[inside], search["tolerance"]):
                yield {"method": method, **row}
        if method not in settings.tuning["methods"]:
            continue
        found = bandwidth.tune(estimator(x[inside]), y[inside], **search)
        logger.info(
            "%s: h = %.4f after %d evaluations, validation NLL %.4f",
            method,
            found.at,
            found.evaluations,
            found.value,
        )
        border = at_border(found.interval, search["low"], search["high"])
        for row in search_rows(found.tried, found.at, border):
            yield {"method": method, **row}


def _adjusted(method: str, law: Any, y: Tensor, tolerance: float) -> Iterator[dict[str, Any]]:
    """Rows of the search for a factor on bandwidths of local kernels, and for a temperature."""
    assert isinstance(law, VoronoiMixture | Average)
    found = bandwidth.adjust(law, y, FACTORS[0], FACTORS[1], tolerance)
    logger.info(
        "%s: factor %.4f, temperature %.4f, validation NLL %.4f, %.4f as trained",
        method,
        found.factor,
        found.temperature,
        found.value,
        found.by_factor.tried[0][1],
    )
    return adjusted_rows(found, *FACTORS)
