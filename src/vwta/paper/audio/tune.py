"""Fifth stage: bandwidths of the estimators of trained networks, on noised validation targets."""

from __future__ import annotations

__all__ = ["Settings", "tune"]

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from vwta.distributions import bandwidth
from vwta.nn.models import select
from vwta.paper.audio.estimators import estimators
from vwta.paper.audio.frames import read_fold
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.predict import Predictions, read_predictions
from vwta.paper.audio.targets import Targets
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.searches import SearchFile, adjusted_rows, at_border, search_rows, write_searches
from vwta.seeds import generator

logger = logging.getLogger(__name__)

FACTORS = (0.25, 4.0)  # on bandwidths of local kernels, and temperatures of their scores


@dataclass(frozen=True)
class Settings:
    """How bandwidths of the audio study are searched.

    Attributes:
        seed: of the noise on targets, and of the choice of some of them.
        tuning: `methods` whose bandwidth is searched, `low`, `high` and `tolerance` of
            :func:`vwta.distributions.bandwidth.tune`, and how many validation `targets` it uses.
        noise: standard deviation on the angles of targets, in degrees, by class.
    """

    seed: int
    tuning: dict[str, Any]
    noise: dict[str, float]


def tune(
    predictions: Sequence[Path], fold: Sequence[Path], settings: Settings, output: SearchFile
) -> None:
    """Writes the searches for h of networks of the audio study.

    Arguments:
        predictions: files of :func:`vwta.paper.audio.predict.predict`.
        fold: files of features of the validation fold.
        settings: how to search.
        output: table to write.
    """
    noise = Perturbation(settings.noise)
    labels = read_fold(fold, checked=False)
    targets = Targets.of(labels, noise, generator(settings.seed, "noise", "validation"))
    rows = []
    for file in predictions:
        found = read_predictions(file, "validation")
        facts = {name: found.training[name] for name in ("K", "seed")}
        rows += [{**facts, **row} for row in searched(found, targets, settings)]
    heated = ["temperature"] if any("temperature" in row for row in rows) else []
    write_searches(output, rows, ["K", "seed", *heated])


@torch.no_grad()
def searched(
    predictions: Predictions, targets: Targets, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Rows of the searches for h of an audio network, by the NLL of some validation targets."""
    some = targets.some(settings.tuning["targets"], generator(settings.seed, "tuning"))
    search = {name: settings.tuning[name] for name in ("low", "high", "tolerance")}
    for method, estimator in estimators(predictions.model).items():
        if ESTIMATORS[method].adjusted:
            law = estimator(select(predictions.atoms, some.frame))
            adjusted = bandwidth.adjust(law, some.y, *FACTORS, search["tolerance"])
            about = adjusted.factor, adjusted.temperature, adjusted.value
            logger.info("%s: factor %.4f, temperature %.4f, NLL %.4f", method, *about)
            for row in adjusted_rows(adjusted, *FACTORS):
                yield {"method": method, **row}
        if method not in settings.tuning["methods"]:
            continue
        found = bandwidth.tune(estimator(select(predictions.atoms, some.frame)), some.y, **search)
        logger.info("%s: h = %.4f, validation NLL %.4f", method, found.at, found.value)
        border = at_border(found.interval, search["low"], search["high"])
        for row in search_rows(found.tried, found.at, border):
            yield {"method": method, **row}
