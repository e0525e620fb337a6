"""Third stage: the true law, and the estimators of trained networks, on the test points."""

from __future__ import annotations

__all__ = ["Settings", "beyond", "evaluate"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from vwta.distributions.atoms import safe_log
from vwta.distributions.bandwidth import tune
from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.spaces import Box
from vwta.io.provenance import provenance
from vwta.io.storage import read_tensors, sha256, write_table
from vwta.paper.data.synthetic import Problem
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.metrics import likelihood_rows, risk, tidy
from vwta.paper.synthetic.estimators import estimators
from vwta.paper.synthetic.trained import load_network

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How estimators are measured.

    Attributes:
        h: bandwidths.
        capped: `epsilon` and `cap` of :func:`vwta.paper.metrics.nll_capped`.
        tuning: `methods` whose bandwidth is also tuned on the validation rows, and `low`, `high`
            and `tolerance` of :func:`vwta.distributions.bandwidth.tune`.
        low: lower corner of the domain.
        high: upper corner.
        selected_by: criterion of the weights to take, see
            :func:`vwta.paper.synthetic.trained.load_network`.
        outside: what a cut Gaussian kernel gives to points outside the domain: `zero`; or `kernel`,
            as in the published code, see :func:`beyond`.
    """

    h: list[float]
    capped: dict[str, float]
    tuning: dict[str, Any]
    low: list[float]
    high: list[float]
    selected_by: str
    outside: Literal["zero", "kernel"]


def evaluate(
    networks: Sequence[Path],
    data: Path,
    path: Path,
    law: Problem,
    settings: Settings,
    code: str,
    protocol: str,
    dataset: str,
) -> None:
    """Writes the tidy metrics of a problem: those of its true law, then of trained networks.

    Arguments:
        networks: files of trained networks, of whatever kind, K and seed.
        data: file of the data set.
        path: file to write.
        law: the true law of the test points.
        settings: how to measure.
        code: digest of the code.
        protocol: name of the protocol.
        dataset: name of the problem.
    """
    sets = {name: rows.double() for name, rows in read_tensors(data)[0].items()}
    rows, trainings = list(_truth(law, sets, settings)), []
    for index, file in enumerate(networks, 1):
        network, metadata = load_network(file, settings.selected_by)
        training = metadata["provenance"]
        facts = {"K": training["K"], "seed": training["seed"]}
        kind = metadata["network"]["kind"]
        logger.info("%s, K=%d, seed %d (%d/%d)", kind, *facts.values(), index, len(networks))
        rows += [{**facts, **row} for row in _measure(kind, network, sets, settings)]
        trainings.append(training)
    common = {"study": "synthetic", "protocol": protocol, "dataset": dataset}
    record = provenance(code=code, data=sha256(data), trainings=trainings)
    write_table(path, tidy(rows, **common), {"provenance": record})


def _truth(
    law: Problem, sets: Mapping[str, Tensor], settings: Settings
) -> Iterator[Mapping[str, Any]]:
    """Rows of the true law, what the best estimator could reach.

    `outside` is the number of points outside the domain, which no method's `nll` counts.
    """
    x, y = sets["x_test"], sets["y_test"]
    inside = Box(settings.low, settings.high).contains(y)
    for row in likelihood_rows(law.log_density(x, y), inside, **settings.capped):
        yield {"method": "truth", **row}
    outside = int((~inside).sum())
    yield {"method": "truth", "metric": "outside", "value": outside, "n": len(y)}


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
        if ESTIMATORS[method].swept:
            bandwidths = [(h, False) for h in settings.h]
        if method in settings.tuning["methods"]:
            bandwidths.append((_tuned(method, estimator, sets, domain, settings), True))
        for h, tuned in bandwidths:
            at = law if h is None else law.with_bandwidth(h)
            found = at.log_prob(y)
            if settings.outside == "kernel" and isinstance(at, VoronoiMixture) and h is not None:
                found[~inside] = beyond(at, y, ~inside)
            for row in likelihood_rows(found, inside, **settings.capped):
                yield {"method": method, "h": h, "tuned": tuned, **row}


def beyond(law: VoronoiMixture, y: Tensor, outside: Tensor) -> Tensor:
    r"""Log-densities outside the domain as the published code has them, with shape `(m,)`.

    .. math:: \log \gamma_k - \log V_k + \log k_h(y - z_k)

    of the nearest atom k, whose kernel is normalised in its cell, and goes on beyond the domain. So
    the integral over the plane exceeds 1.

    Arguments:
        law: the law at n inputs.
        y: targets, with shape `(n, d)`.
        outside: which of them are meant, m in all, with shape `(n,)`.
    """
    there = VoronoiMixture(law.points[outside], law.masses[outside], law.kernel, law.space)
    w = (there.points - y[outside].unsqueeze(-2)).square().sum(-1) / 2
    nearest = w.argmin(-1, keepdim=True)
    scale = safe_log(there.masses) - there.log_cell_mass
    found = scale + law.kernel.log_density(w, y.shape[-1])
    return found.gather(-1, nearest).squeeze(-1)


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
