"""Trainings that can be stopped and resumed, and the files they are saved in."""

from __future__ import annotations

__all__ = [
    "Resumable",
    "Selection",
    "Smoothing",
    "copy_of",
    "read_checkpoint",
    "take_over",
    "write_checkpoint",
]

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vwta.io.errors import Damaged, Interrupted
from vwta.io.storage import below, read_tensors, write_tensors
from vwta.training.signals import Interruption

logger = logging.getLogger(__name__)

SAVE_EVERY = 60.0  # seconds between checkpoints
REPORT_EVERY = 5.0  # seconds between lines in the log


@dataclass
class Selection:
    """The weights with the lowest value of a criterion so far: of a network, or of each of S.

    Attributes:
        lowest: that value, infinite at first, with shape `()` or `(S,)`, in float64.
        epoch: the epoch after which it was met, counted from 0, with the same shape.
        weights: the weights then, by name; those of S networks are stacked.
    """

    lowest: Tensor
    epoch: Tensor
    weights: dict[str, Tensor]

    def update(self, values: Tensor, epoch: int, weights: Mapping[str, Tensor]) -> None:
        """Takes over the weights of those networks whose value is lower than before.

        Arguments:
            values: the criterion, with shape `()` or `(S,)`, in float64 on the CPU.
            epoch: the epoch, counted from 0.
            weights: the weights after it.
        """
        better = values < self.lowest
        if better.any():
            self.lowest[better] = values[better]
            self.epoch[better] = epoch
            take_over(self.weights, weights, better)


@dataclass(frozen=True)
class Smoothing:
    r"""How a training is made smooth: a bound on gradients, and an average of weights.

    After step t, counted from 0, the average moves by :math:`1 / (1 + \alpha t)` of the way to the
    weights: it forgets those of the first steps, and for :math:`\alpha = 1` it is the mean of all.

    Attributes:
        clip: largest norm of the gradient of each network; 0 for no bound. A gradient that is not
            finite counts as 0.
        average: :math:`\alpha`; 0 for no average. Criteria are then evaluated for the average, and
            select its weights.
        stacked: whether the weights are those of a stack of networks, along their first axis.
    """

    clip: float = 0.0
    average: float = 0.0
    stacked: bool = False

    def __post_init__(self) -> None:
        if not (self.clip >= 0 and 0 <= self.average <= 1):
            raise ValueError(
                f"clip {self.clip} and average {self.average}: expected a bound of 0 or more, and "
                "a number from 0 to 1"
            )

    @torch.no_grad()
    def bound(self, network: nn.Module) -> None:
        """Scales down gradients, of each network of a stack, whose norm is above the bound."""
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        first = 1 if self.stacked else 0
        squares = [gradient.flatten(first).square().sum(-1) for gradient in gradients]
        norm = torch.stack(squares).sum(0).sqrt()
        factor = (self.clip / norm.clamp_min(self.clip)).masked_fill(~norm.isfinite(), 0.0)
        for gradient in gradients:
            scale = factor.view(-1, *(1,) * (gradient.dim() - 1)) if self.stacked else factor
            gradient.mul_(scale).nan_to_num_(0.0, 0.0, 0.0)  # asking for it would wait for a GPU

    @torch.no_grad()
    def add(self, average: nn.Module, network: nn.Module, step: int) -> None:
        """Moves an average of weights towards those of a network, after a step from 0."""
        share = 1 / (1 + self.average * step)
        for mean, value in zip(average.parameters(), network.parameters(), strict=True):
            mean.lerp_(value, share)
        for kept, buffer in zip(average.buffers(), network.buffers(), strict=True):
            kept.copy_(buffer)


class Resumable(ABC):
    """A training that can stop between any two batches and goes on with the same bits.

    It is saved once a minute, and when the process is asked to stop.

    Arguments:
        network: the network, which is trained in place.
        optimizer: an optimiser of its weights.
        epochs: number of epochs.
        checkpoint: file for unfinished work, read if it exists; None for none.
        smoothing: bound on gradients, and average of weights.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        epochs: int,
        checkpoint: Path | None,
        smoothing: Smoothing | None = None,
    ) -> None:
        self.network, self.optimizer = network, optimizer
        self.epochs, self.checkpoint = epochs, checkpoint
        self.epoch = self.batch = self.steps = 0
        self.smoothing = smoothing or Smoothing()
        self.averaged = (
            deepcopy(network).requires_grad_(False) if self.smoothing.average else network
        )
        self.selections: dict[str, Selection] = {}
        self.seconds = 0.0
        self._interruption = Interruption()
        self._clock = self._saved = self._reported = time.monotonic()

    @abstractmethod
    def train_epoch(self) -> None:
        """Takes the remaining steps of the epoch, over :meth:`batches`."""

    @abstractmethod
    def validate(self) -> None:
        """Evaluates the criteria after the epoch's last step, and selects weights by them."""

    @abstractmethod
    def progress(self) -> str:
        """Summary of the last epoch for the log."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Further state to save: tensors by name, and values that JSON can hold by name."""

    @abstractmethod
    def restore(self, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
        """Restores the further state that :meth:`state` gave."""

    def run(self, save_when_done: bool = False) -> None:
        """Trains for the remaining epochs; raises :class:`Interrupted` if asked to stop.

        Arguments:
            save_when_done: whether the finished training is saved as well, which a job with several
                trainings needs.
        """
        if self._resume():
            logger.info("resumed at epoch %d, batch %d", self.epoch + 1, self.batch + 1)
        # Without a file there is nothing to save on a signal, so that signals act as usual.
        with nullcontext() if self.checkpoint is None else self._interruption:
            while self.epoch < self.epochs:
                self.train_epoch()
                self.validate()
                self.epoch, self.batch = self.epoch + 1, 0
                self._report()
            if save_when_done:
                self._save()
            self.may_stop()
        self._tick()

    def batches(self, rows: int, size: int) -> Iterator[slice]:
        """Slices of the epoch's rows, one for each batch that is left."""
        for start in range(self.batch * size, rows, size):
            self.may_stop()
            yield slice(start, start + size)
            self.batch += 1

    def step(self, loss: Tensor, rate: float) -> None:
        """Takes one step against the gradient of a loss, with a learning rate."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        loss.backward()
        if self.smoothing.clip:
            self.smoothing.bound(self.network)
        self.optimizer.step()
        if self.smoothing.average:
            self.smoothing.add(self.averaged, self.network, self.steps)
        self.steps += 1

    def select(self, criterion: str, values: Tensor) -> None:
        """Selects the weights, see :meth:`Selection.update`, by a criterion of some name."""
        if criterion not in self.selections:
            lowest = torch.full_like(values, math.inf)
            epoch = torch.zeros_like(values, dtype=torch.long)
            self.selections[criterion] = Selection(lowest, epoch, copy_of(self.averaged))
        self.selections[criterion].update(values, self.epoch, self.averaged.state_dict())

    def may_stop(self) -> None:
        """Saves if it is time to; raises :class:`Interrupted` if the process is asked to stop."""
        reason = self._interruption.reason
        if reason or time.monotonic() - self._saved > SAVE_EVERY:
            self._save()
        if reason:
            where = f"epoch {self.epoch + 1}, batch {self.batch + 1}"
            saved = f"saved in {self.checkpoint}; run again to continue"
            raise Interrupted(f"{reason} at {where}: {saved}")

    def _report(self) -> None:
        """Writes a line to the log, if the last one is some time ago."""
        self._tick()
        ends = self.epoch in (1, self.epochs)
        if ends or self._clock - self._reported > REPORT_EVERY:
            self._reported = self._clock
            left = self.seconds / self.epoch * (self.epochs - self.epoch)
            line = "epoch %d/%d: %s, about %.0f s left"
            logger.info(line, self.epoch, self.epochs, self.progress(), left)

    def _save(self) -> None:
        """Writes all that the rest of the training depends on."""
        if self.checkpoint is None:
            return
        self._tick()
        tensors, place = self.state()
        tensors |= {f"network.{name}": value for name, value in copy_of(self.network).items()}
        if self.smoothing.average:
            average = copy_of(self.averaged)
            tensors |= {f"average.{name}": value for name, value in average.items()}
            place |= {"steps": self.steps}
        for name, best in self.selections.items():
            tensors |= {f"selected.{name}.{key}": value for key, value in best.weights.items()}
            tensors |= {f"lowest.{name}": best.lowest, f"epoch.{name}": best.epoch}
        for index, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{index}.{name}": value for name, value in moments.items()}
        place |= {"epoch": self.epoch, "batch": self.batch, "seconds": self.seconds}
        write_checkpoint(self.checkpoint, tensors, {**place, "selected": [*self.selections]})
        self._saved = time.monotonic()

    def _resume(self) -> bool:
        """Takes up the state that was saved last; whether there is one."""
        found = None if self.checkpoint is None else read_checkpoint(self.checkpoint)
        if found is None:
            return False
        tensors, place = found
        self.network.load_state_dict(below("network.", tensors))
        if self.smoothing.average:
            self.averaged.load_state_dict(below("average.", tensors))
            self.steps = place["steps"]
        device = next(self.network.parameters()).device
        for name in place["selected"]:
            weights = below(f"selected.{name}.", tensors)
            self.selections[name] = Selection(
                tensors[f"lowest.{name}"],
                tensors[f"epoch.{name}"],
                {key: value.to(device) for key, value in weights.items()},
            )
        self._restore_moments(below("adam.", tensors))
        self.epoch, self.batch, self.seconds = place["epoch"], place["batch"], place["seconds"]
        self.restore(tensors, place)
        return True

    def _restore_moments(self, tensors: Mapping[str, Tensor]) -> None:
        """Gives the optimiser its state back."""
        parameters = list(self.network.parameters())
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            index, _, field = name.partition(".")
            weight = parameters[int(index)]
            if value.shape == weight.shape:  # in the order of the weight's axes in memory
                value = torch.empty_like(weight).copy_(value)
            moments.setdefault(int(index), {})[field] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})

    def _tick(self) -> None:
        now = time.monotonic()
        self.seconds += now - self._clock
        self._clock = now


def take_over(weights: dict[str, Tensor], others: Mapping[str, Tensor], which: Tensor) -> None:
    """Replaces the weights of some networks by others.

    Arguments:
        weights: the weights, by name, which change; those of S networks are stacked.
        others: the weights to take over.
        which: for which networks, bool with shape `()` or `(S,)`, on the CPU.
    """
    which = which.to(next(iter(others.values())).device)
    for name, value in others.items():
        taken = which.view((*which.shape, *(1 for _ in value.shape[which.dim() :])))
        weights[name] = torch.where(taken, value, weights[name])


def copy_of(network: nn.Module) -> dict[str, Tensor]:
    """A copy of the weights and buffers of a network in training, by name."""
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
    """Writes a checkpoint: tensors and a place (any JSON) with their hash; the last one stays.

    Whatever happens in between, one of the two is complete.
    """
    if path.exists():
        path.replace(_previous(path))
    write_tensors(path, tensors, place)


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Tensors and place of the newest undamaged file of :func:`write_checkpoint`, if there is one.

    A damaged file is named in the log and removed, so that it never replaces the previous one,
    which is then read.
    """
    for file in (path, _previous(path)):
        if not file.exists():
            continue
        try:
            return read_tensors(file, hashed=True)
        except OSError as error:
            logger.warning("%s cannot be read (%s): it is not used", file, error)
        except Damaged as error:
            logger.warning("%s is damaged (%s): it is not used", file, error.why)
            file.unlink(missing_ok=True)
    return None


def _previous(path: Path) -> Path:
    return path.with_name(f"{path.name}.previous")
