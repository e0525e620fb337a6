"""Fourth stage: the true law, and the estimators of trained networks, on the test points."""

from __future__ import annotations

__all__ = ["Settings", "beyond", "evaluate"]

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from vwta.distributions.atoms import safe_log
from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors, sha256
from vwta.paper.estimators import measured_in
from vwta.paper.metrics import MetricsFile, likelihood_rows, nll, risk
from vwta.paper.searches import Chosen, read_chosen, read_record
from vwta.paper.synthetic.estimators import estimators
from vwta.paper.synthetic.trained import load_network
from vwta.paper.synthetic.true_laws import Problem, inputs
from vwta.seeds import generator

logger = logging.getLogger(__name__)
CHUNK = 10_000  # points that are measured at once


@dataclass(frozen=True)
class Settings:
    """How estimators of the synthetic study are measured.

    Attributes:
        h: bandwidths.
        capped: `epsilon` and `cap` of :func:`vwta.paper.metrics.nll_capped`.
        tuned: methods that are also measured at the bandwidth that was found for each network, as
            local kernels always are.
        low: lower corner of the domain.
        high: upper corner.
        selected_by: criterion of the weights to take, see
            :func:`vwta.paper.synthetic.trained.load_network`.
        large: `rows` and `seed` of a second, larger set of test points.
        outside: what a cut Gaussian kernel gives to points outside the domain: `zero`; or `kernel`,
            as in the published code, see :func:`beyond`.
        factors: on all bandwidths of local kernels, at which these are measured as well.
    """

    h: list[float]
    capped: dict[str, float]
    tuned: list[str]
    low: list[float]
    high: list[float]
    selected_by: str
    large: dict[str, int]
    outside: Literal["zero", "kernel"]
    factors: list[float] = field(default_factory=list)


def evaluate(
    networks: Sequence[Path],
    data: Path,
    searches: Path,
    law: Problem,
    settings: Settings,
    output: MetricsFile,
) -> None:
    """Writes the tidy metrics of a synthetic problem: of its true law, then of trained networks.

    Arguments:
        networks: files of trained networks, of whatever kind, K and seed.
        data: file of the data set.
        searches: table of :func:`vwta.paper.synthetic.tune.tune`.
        law: the true law of the test points.
        settings: how to measure.
        output: file to write.
    """
    tensors = {name: rows.double() for name, rows in read_tensors(data)[0].items()}
    tests = [_test_points("", law, tensors["x_test"], tensors["y_test"], settings)]
    source = generator(settings.large["seed"], output.dataset, "large test set")
    x = inputs(settings.large["rows"], source)
    y = law.sample(x, 1, source).squeeze(0)
    tests.append(_test_points("_large", law, x.double(), y.double(), settings))
    rows, trainings = [row for points in tests for row in _truth(points, settings)], []
    chosen = read_chosen(searches)
    for index, file in enumerate(networks, 1):
        network, metadata = load_network(file, settings.selected_by)
        training = metadata["provenance"]
        facts = {"K": training["K"], "seed": training["seed"]}
        kind = metadata["network"]["kind"]
        logger.info("%s, K=%d, seed %d (%d/%d)", kind, *facts.values(), index, len(networks))
        found = {
            name: one for (name, *numbers), one in chosen.items() if numbers == [*facts.values()]
        }
        bandwidths = _bandwidths(kind, found, settings)
        rows += [
            {**facts, **row} for row in _temperatures(bandwidths, len(tensors["y_validation"]))
        ]
        for points in tests:
            measured = _measure(kind, network, points, bandwidths, settings)
            rows += [{**facts, **row} for row in measured]
        trainings.append(training)
    tuning = read_record(searches)
    output.write(rows, data=sha256(data), tuning=tuning, trainings=trainings)


class Targets(NamedTuple):
    """Points that estimators are measured on.

    Attributes:
        name: what the names of metrics end with.
        x: inputs, with shape `(n, 1)`.
        y: targets, with shape `(n, 2)`.
        inside: which of them lie in the domain, with shape `(n,)`.
        truth: their log-densities under the true law, with shape `(n,)`.
    """

    name: str
    x: Tensor
    y: Tensor
    inside: Tensor
    truth: Tensor


def _test_points(name: str, law: Problem, x: Tensor, y: Tensor, settings: Settings) -> Targets:
    inside = Box(settings.low, settings.high).contains(y)
    return Targets(name, x, y, inside, law.log_density(x, y))


def _truth(points: Targets, settings: Settings) -> Iterator[Mapping[str, Any]]:
    """Rows of the true law, what the best estimator could reach.

    `outside` is the number of points outside the domain, which no method's `nll` counts.
    """
    yield from _likelihood(points.truth, points, settings, method="truth")
    outside = int((~points.inside).sum())
    about = {"metric": f"outside{points.name}", "value": outside, "n": len(points.y)}
    yield {"method": "truth", **about}


def _likelihood(
    log_prob: Tensor, points: Targets, settings: Settings, **about: Any
) -> Iterator[Mapping[str, Any]]:
    """Rows of the likelihood of points, and its mean excess over that of the true law."""
    for row in likelihood_rows(log_prob, points.inside, **settings.capped):
        yield {**about, **row, "metric": f"{row['metric']}{points.name}"}
    if about["method"] != "truth":
        value = nll((log_prob - points.truth)[points.inside])
        count = int(points.inside.sum())
        yield {**about, "metric": f"excess{points.name}", "value": value, "n": count}


class Setting(NamedTuple):
    """What a law of the synthetic study is measured at.

    Attributes:
        h: the bandwidth; of local kernels the factor on all bandwidths; None for the law as it is.
        tuned: whether it was chosen on the validation rows.
        temperature: of the scores of local kernels.
    """

    h: float | None = None
    tuned: bool = False
    temperature: float | None = None

    def of(self, law: Any) -> Any:
        """The law at this setting."""
        if self.h is None:
            return law
        if self.temperature is None:
            return law.with_bandwidth(self.h)
        return law.with_width_factor(self.h).with_temperature(self.temperature)


def _bandwidths(
    kind: str, chosen: Mapping[str, Chosen], settings: Settings
) -> dict[str, list[Setting]]:
    """What each method is measured at."""
    found: dict[str, list[Setting]] = {}
    for method, recipe in measured_in("synthetic", kind).items():
        found[method] = [Setting(h) for h in settings.h] if recipe.swept else [Setting()]
        if recipe.adjusted:
            found[method] += [Setting(factor, False, 1.0) for factor in settings.factors]
        if method in settings.tuned or recipe.adjusted:
            h, temperature = chosen[method]
            found[method].append(Setting(h, True, temperature))
    return found


def _temperatures(found: Mapping[str, Sequence[Setting]], n: int) -> Iterator[Mapping[str, Any]]:
    """Rows of the temperatures that were chosen."""
    for method, settings in found.items():
        for h, tuned, value in settings:
            if tuned and value is not None:
                about = {"method": method, "h": h, "tuned": tuned, "n": n}
                yield {**about, "metric": "temperature", "value": value}


@torch.no_grad()
def _measure(
    kind: str,
    network: nn.Module,
    points: Targets,
    bandwidths: Mapping[str, Sequence[Setting]],
    settings: Settings,
) -> Iterator[Mapping[str, Any]]:
    """Rows of metrics: one set for each method and bandwidth."""
    chunks = list(zip(*(part.split(CHUNK) for part in points[1:4]), strict=True))
    error = sum(risk(network(x).points, y) * len(y) for x, y, _ in chunks) / len(points.y)
    yield {"method": kind, "metric": f"risk{points.name}", "value": error, "n": len(points.y)}
    laws = estimators(kind, network, Box(settings.low, settings.high))
    found: dict[tuple[str, Setting], list[Tensor]] = defaultdict(list)
    for x, y, inside in chunks:
        for method, estimator in laws.items():
            law = estimator(x)
            for setting in bandwidths[method]:
                at = setting.of(law)
                log_prob = at.log_prob(y)
                goes_on = isinstance(at, VoronoiMixture) and setting.h is not None
                if settings.outside == "kernel" and goes_on:
                    log_prob[~inside] = beyond(at, y, ~inside)
                found[method, setting].append(log_prob)
    for (method, (h, tuned, _)), parts in found.items():
        yield from _likelihood(torch.cat(parts), points, settings, method=method, h=h, tuned=tuned)


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
