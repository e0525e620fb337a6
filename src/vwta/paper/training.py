"""Common parts of the trainings of all studies: a job, and networks trained seed by seed."""

from __future__ import annotations

__all__ = ["Job", "Recipe", "Run", "taken", "train_seeds"]

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from vwta.io.provenance import provenance
from vwta.io.storage import in_chunks, key
from vwta.nn.networks import initialise
from vwta.training.loop import Data, Objective, Schedule, Scheduled, fit, pick_device, write_fit

logger = logging.getLogger(__name__)


class Recipe(NamedTuple):
    """Recipe of a training of any study: network, loss, and the criteria of early stopping."""

    specification: dict[str, Any]
    loss: Objective | Scheduled
    criteria: dict[str, Objective]


@dataclass(frozen=True)
class Job:
    """A training job of any study.

    Attributes:
        dataset: name of the data set.
        model: name of the network.
        K: number of atoms.
        outputs: file of each seed, or of each split, numbered from 0.
        unfinished: folder for unfinished work.
        device: `auto`, `cpu` or `cuda`.
        code: digest of the code.
        tier: scale of the reproduction that the networks belong to.
        protocol: protocol that they belong to.
    """

    dataset: str
    model: str
    K: int
    outputs: Mapping[int, Path]
    unfinished: Path
    device: str
    code: str
    tier: str = ""
    protocol: str = ""

    def begin(self, data: str, settings: dict[str, Any]) -> Run:
        """The job's run on data of this hash, with the settings of a protocol."""
        owner = {"tier": self.tier, "protocol": self.protocol}
        names = {"dataset": self.dataset, "model": self.model, "K": self.K}
        facts = {**owner, **names, "code": self.code, "data": data}
        device = pick_device(self.device)
        # The device and the size of a stack are part of the name: they change the bits.
        name = key(**facts, outputs=[*self.outputs], settings=settings, device=device.type)
        return Run(facts, settings, device, self.unfinished / name)


@dataclass(frozen=True)
class Run:
    """A training job of any study that has begun.

    Attributes:
        facts: what is trained on what.
        settings: those of the protocol.
        device: where.
        folder: for the unfinished work of just these settings and code.
    """

    facts: dict[str, Any]
    settings: dict[str, Any]
    device: torch.device
    folder: Path

    def record(self, **more: Any) -> dict[str, Any]:
        """The record of a network: the run's facts, and more."""
        device = self.device.type
        return provenance(**self.facts, **more, device=device, settings=self.settings)


def taken(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Of the settings that a study offers, those that a network's class or its loss names.

    Example:
        >>> taken(lambda out, y, beta: ..., {"beta": 1.0, "score_reduction": "sum"})
        {'beta': 1.0}
    """
    names = inspect.signature(function).parameters
    return {name: value for name, value in offered.items() if name in names}


def train_seeds(
    job: Job,
    run: Run,
    recipe: Recipe,
    build: Callable[..., nn.Module],
    rows: Callable[[int], Data],
    schedule: Schedule,
) -> None:
    """Trains a network of any study for each seed, one after the other.

    Outputs hold the weights selected by each criterion, `loss.*` and so on, and the `curve` of each
    epoch's losses.

    Arguments:
        job: what to train.
        run: its run.
        recipe: network, loss and criteria.
        build: makes a network of a specification.
        rows: the data of a seed.
        schedule: epochs, batch size, learning rate.
    """

    def make(seed: int, path: Path) -> None:
        names = job.model, job.dataset, job.K, seed, run.device
        logger.info("%s on %s, K=%d, seed %d, on %s", *names)
        network = initialise(recipe.specification, seed, build)
        checkpoint = path.with_suffix(".checkpoint")
        loss, criteria = recipe.loss, recipe.criteria
        done = fit(network, loss, criteria, rows(seed), schedule, seed, run.device, checkpoint)
        record = run.record(seed=seed, seconds=done.seconds)
        write_fit(path, done, {"network": recipe.specification, "provenance": record})

    in_chunks(job.outputs, make, run.folder)
