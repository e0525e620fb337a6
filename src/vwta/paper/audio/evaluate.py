"""Sixth stage: the true law, and the estimators of trained networks, on noised test targets."""

from __future__ import annotations

__all__ = ["Settings", "evaluate"]

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vwta.geometry.angles import angle_between
from vwta.nn.models import select
from vwta.paper.audio import dispersion, perfect
from vwta.paper.audio.estimators import estimators
from vwta.paper.audio.frames import read_fold
from vwta.paper.audio.monte_carlo import volume_rows
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.predict import DirectionAtoms, Predictions, read_predictions
from vwta.paper.audio.targets import Targets
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.metrics import MetricsFile, nll
from vwta.paper.searches import Chosen, read_chosen, read_record
from vwta.seeds import generator

logger = logging.getLogger(__name__)

BLOCK = 5000  # targets whose cells are held at once


@dataclass(frozen=True)
class Settings:
    """How estimators of the audio study are measured.

    Attributes:
        seed: of the noise on targets, and of whatever else is drawn.
        h: bandwidths.
        tuned: methods that are also measured at the bandwidth that was found for each network.
        monte_carlo: `points` for the paper's volumes, and on how many test `targets`.
        noise: standard deviation on the angles of targets, in degrees, by class.
        perfect: fields of :class:`vwta.paper.audio.perfect.Settings` for a perfect learner; None
            for none.
        interval: `low`, `high` and `tolerance` of its search for a bandwidth.
    """

    seed: int
    h: list[float]
    tuned: list[str]
    monte_carlo: dict[str, int]
    noise: dict[str, float]
    perfect: dict[str, int] | None = None
    interval: tuple[float, float, float] = (0.01, 2.0, 0.01)


@torch.no_grad()
def evaluate(
    predictions: Sequence[Path],
    fold: Sequence[Path],
    searches: Path,
    settings: Settings,
    output: MetricsFile,
) -> None:
    """Writes the tidy metrics of the audio study: of the true law, then of trained networks.

    Arguments:
        predictions: files of :func:`vwta.paper.audio.predict.predict`.
        fold: files of features of the test fold.
        searches: table of :func:`vwta.paper.audio.tune.tune`.
        settings: how to measure.
        output: file to write.
    """
    noise = Perturbation(settings.noise)
    labels = read_fold(fold, checked=False)
    targets = Targets.of(labels, noise, generator(settings.seed, "noise", "test"))
    _, direction, kind = dispersion.single_sources(targets)
    truth = dispersion.dispersions(noise.mean(direction, kind), kind)
    rows: list[Mapping[str, Any]] = [
        {"method": "truth", **row}
        for row in (
            _likelihood(_true_log_prob(targets, noise)),
            *dispersion.dispersion_rows(truth),
        )
    ]
    trainings, chosen = [], read_chosen(searches)
    for index, file in enumerate(predictions, 1):
        found = read_predictions(file, "test")
        training = found.training
        facts = {"K": training["K"], "seed": training["seed"]}
        logger.info(
            "%s, K=%d, seed %d (%d/%d)", found.model, *facts.values(), index, len(predictions)
        )
        tuned = {
            name: one for (name, *numbers), one in chosen.items() if numbers == [*facts.values()]
        }
        measured = [*_measure(found, targets, tuned, settings, truth)]
        measured += _over_all_places(measured, labels.kind.numel())
        measured += _divergence(found.model, training)
        rows += [{**facts, **row} for row in measured]
        trainings.append(training)
    if settings.perfect is not None:
        how = perfect.Settings(**settings.perfect)
        for K in sorted({training["K"] for training in trainings}):
            logger.info("perfect learner, K=%d", K)
            found_rows = perfect.perfect_rows(
                targets, noise, K, settings.h, settings.interval, settings.seed, how
            )
            rows += found_rows
    output.write(rows, tuning=read_record(searches), trainings=trainings)


def _true_log_prob(targets: Targets, noise: Perturbation) -> Tensor:
    """Log-density `(n,)` of the true law of targets: any source of the frame is equally likely."""
    values = []
    for start in range(0, len(targets.y), BLOCK):
        frame = targets.frame[start : start + BLOCK]
        kind, y = targets.kind[frame], targets.y[start : start + BLOCK, None]
        log_p = noise.log_density(y, targets.direction[frame], kind.clamp_min(0))
        log_p = torch.where(kind >= 0, log_p, -math.inf).logsumexp(-1)
        values.append(log_p - kind.ge(0).sum(-1).double().log())
    return torch.cat(values)


def _measure(
    found: Predictions,
    test: Targets,
    chosen: Mapping[str, Chosen],
    settings: Settings,
    truth: dispersion.Dispersions,
) -> Iterator[Mapping[str, Any]]:
    """Rows of metrics: those of each method and bandwidth, then those of the atoms."""
    model, atoms = found.model, found.atoms
    some = test.some(settings.monte_carlo["targets"], generator(settings.seed, "monte carlo"))
    for method, estimator in estimators(model).items():
        recipe = ESTIMATORS[method]
        given: list[float | None] = [*settings.h] if recipe.swept else [None]
        bandwidths = [(None if h is None else Chosen(h), False) for h in given]
        if method in settings.tuned or recipe.adjusted:
            bandwidths.append((chosen[method], True))
        values = _log_probs(estimator, atoms, test, [one for one, _ in bandwidths])
        for (one, tuned), value in zip(bandwidths, values, strict=True):
            h = None if one is None else one.h
            yield {"method": method, "h": h, "tuned": tuned, **_likelihood(value)}
        if getattr(estimator, "space", None) is not None and not recipe.adjusted:
            points = settings.monte_carlo["points"]
            for row in volume_rows(estimator, atoms, some, given, points, settings.seed):
                yield {"method": method, **row}
    frames, _, kind = dispersion.single_sources(test)
    dispersions = dispersion.dispersions(dispersion.mean_vectors(atoms, frames), kind)
    for row in (
        _risk(atoms, test),
        *dispersion.dispersion_rows(dispersions),
        dispersion.correlation_row(dispersions, truth),
    ):
        yield {"method": model, **row}


def _log_probs(
    estimator: nn.Module,
    atoms: DirectionAtoms,
    targets: Targets,
    bandwidths: Sequence[Chosen | None],
) -> Tensor:
    """Log-densities of all targets at some bandwidths, `(H, n)`; cells serve all of them."""
    blocks = []
    for start in range(0, len(targets.y), BLOCK):
        y = targets.y[start : start + BLOCK]
        law = estimator(select(atoms, targets.frame[start : start + BLOCK]))
        laws = (_at(law, one) for one in bandwidths)
        blocks.append(torch.stack([one.log_prob(y) for one in laws]))
    return torch.cat(blocks, -1)


def _at(law: Any, chosen: Chosen | None) -> Any:
    """A law at a bandwidth; one with local kernels at a factor and a temperature; or as it is."""
    if chosen is None:
        return law
    if chosen.temperature is None:
        return law.with_bandwidth(chosen.h)
    return law.with_width_factor(chosen.h).with_temperature(chosen.temperature)


def _likelihood(log_prob: Tensor) -> dict[str, Any]:
    return {"metric": "nll", "value": nll(log_prob), "n": len(log_prob)}


def _over_all_places(rows: Sequence[Mapping[str, Any]], places: int) -> Iterator[Mapping[str, Any]]:
    """The NLL of mixtures as the published code has it: divided by all places, taken or not."""
    for row in rows:
        if row["metric"] == "nll" and ESTIMATORS[row["method"]].kernel == "own":
            value = row["value"] * row["n"] / places
            yield {**row, "metric": "nll_all_places", "value": value, "n": places}


def _divergence(model: str, training: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Whether a training diverged, 1 or 0, if it was one that ends where it does."""
    if "diverged_at" in training:
        diverged = training["diverged_at"] is not None
        yield {"method": model, "metric": "diverged", "value": float(diverged), "n": 1}


def _risk(atoms: DirectionAtoms, targets: Targets) -> dict[str, Any]:
    """Mean squared angle from targets to the nearest atom."""
    total = 0.0
    for start in range(0, len(targets.y), BLOCK):
        points = atoms.points[targets.frame[start : start + BLOCK]]
        nearest = angle_between(points, targets.y[start : start + BLOCK, None]).amin(-1)
        total += nearest.square().sum().item()
    return {"metric": "risk", "value": total / len(targets.y), "n": len(targets.y)}
