r"""M-vMF by the published formulas of its likelihood, whose training may diverge, and then ends.

The text has the density of a component, :math:`\kappa e^{\kappa \mu \cdot y} / (4 \pi \sinh
\kappa)`, and for its logarithm :math:`\log \sinh t = t + \log(1 - e^{-2 t}) - \log 2`. In float32
the first overflows where :math:`\kappa > 89`, which noise below 6 degrees asks for, the second
where :math:`\log \kappa > 88` or :math:`\kappa < 10^{-8}`. :func:`vwta.nn.losses.sphere_mixture` is
the same function without these limits.
"""

from __future__ import annotations

__all__ = ["Formula", "sphere_mixture", "train_while_finite"]

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from vwta.io.storage import in_chunks
from vwta.nn.heads import Components
from vwta.nn.networks import initialise
from vwta.paper.audio.frames import AudioData, MappedRows
from vwta.paper.training import Job, Recipe, Run
from vwta.training.checkpoints import copy_of
from vwta.training.loop import Fit, Schedule, Selected, fit, write_fit

logger = logging.getLogger(__name__)

Formula = Literal["printed", "log_sinh"]


def sphere_mixture(
    components: Components, y: Tensor, active: Tensor, likelihood: Formula
) -> Tensor:
    """Loss of audio mixtures by a published formula, over active targets.

    Arguments:
        components: mean directions `(*, K, 3)`, logits, and log-variances `(*, K)`.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them exist, bool with shape `(*, S)`.
        likelihood: density by density as printed, or by its logarithm and that of sinh.
    """
    frame = active.nonzero(as_tuple=True)[:-1]
    means, logits, log_variances = (part[frame] for part in components)
    kappa = (-log_variances).exp()
    exponent = kappa * (means * y[active].unsqueeze(-2)).sum(-1)
    if likelihood == "printed":
        each = kappa / (4 * math.pi * kappa.sinh()) * exponent.exp()
        log_density = (logits.softmax(-1) * each).sum(-1).log()
    else:
        log_sinh = kappa + (1 - (-2 * kappa).exp()).log() - math.log(2)
        log_each = kappa.log() - math.log(4 * math.pi) - log_sinh + exponent
        log_density = (logits.log_softmax(-1) + log_each).logsumexp(-1)
    return -log_density.sum() / max(len(log_density), 1)


def train_while_finite(
    job: Job,
    run: Run,
    recipe: Recipe,
    build: Callable[..., nn.Module],
    rows: Callable[[int], AudioData],
    schedule: Schedule,
) -> None:
    """Trains audio networks as :func:`vwta.paper.training.train_seeds`, until they diverge.

    If the losses of an epoch are not finite, the training ends with the epoch before, and weights
    are selected among the epochs until then; those of the start if there are none. The record of
    each network says in which epoch, counted from 1, it diverged (`diverged_at`), or None.

    Arguments:
        job: what to train.
        run: its run.
        recipe: network, loss and criteria.
        build: makes a network of a specification.
        rows: the data of a seed.
        schedule: epochs, batch size, learning rate.
    """

    def make(seed: int, path: Path) -> None:
        logger.info(
            "%s on %s, K=%d, seed %d, on %s", job.model, job.dataset, job.K, seed, run.device
        )
        data, checkpoint = _Watched(rows(seed)), path.with_suffix(".checkpoint")

        def until(epochs: int) -> Fit:
            network = initialise(recipe.specification, seed, build)
            if not epochs:
                start = Selected(-1, copy_of(network))
                names = recipe.criteria
                return Fit(dict.fromkeys(names, start), torch.zeros(0, 1 + len(names)), 0.0)
            short = replace(schedule, epochs=epochs)
            goals = recipe.loss, recipe.criteria
            return fit(network, *goals, data, short, seed, run.device, checkpoint)

        diverged_at = None
        try:
            done = until(schedule.epochs)
        except FloatingPointError as error:
            logger.warning("the training ends before %s", error)
            diverged_at = data.epoch + 1
            done = until(data.epoch)
        record = run.record(seed=seed, seconds=done.seconds, diverged_at=diverged_at)
        write_fit(path, done, {"network": recipe.specification, "provenance": record})

    in_chunks(job.outputs, make, run.folder)


class _Watched:
    """Data of an audio training that know which epoch is being trained."""

    def __init__(self, data: AudioData) -> None:
        self.data, self.epoch = data, 0

    def training(self, epoch: int) -> tuple[MappedRows, Tensor]:
        self.epoch = epoch
        return self.data.training(epoch)

    def validation(self, epoch: int) -> tuple[MappedRows, Tensor]:
        return self.data.validation(epoch)

    def weight(self, y: Tensor) -> Tensor:
        return self.data.weight(y)
