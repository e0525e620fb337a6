"""One training loop: the best weights are kept, and an interruption changes no bit."""

from __future__ import annotations

__all__ = [
    "Data",
    "Fit",
    "FixedData",
    "Kept",
    "Objective",
    "Rows",
    "Schedule",
    "Scheduled",
    "fit",
    "pick_device",
    "write_fit",
]

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from vwta.io.storage import below, write_tensors
from vwta.seeds import generator
from vwta.training.checkpoints import Keeper, read_checkpoint, write_checkpoint
from vwta.training.signals import Interruption

logger = logging.getLogger(__name__)

REPORT_EVERY = 5.0  # seconds between lines in the log


Objective = Callable[[Any, Tensor], Tensor]


@runtime_checkable
class Scheduled(Protocol):
    """A loss that changes from epoch to epoch."""

    def at(self, epoch: int) -> Objective: ...


class Rows(Protocol):
    """Rows of inputs: a tensor, or what reads them from a disk.

    Rows in another order, `rows[order]`, are rows again; those of a slice are a tensor.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, which: Any, /) -> Any: ...

    def to(self, device: torch.device, /) -> Any: ...


class Data(Protocol):
    """Where the rows of an epoch come from; each method gives inputs and targets."""

    def training(self, epoch: int) -> tuple[Rows, Tensor]: ...

    def validation(self, epoch: int) -> tuple[Rows, Tensor]: ...


@dataclass(frozen=True)
class FixedData:
    """The same rows in every epoch: inputs `(n, *)` and targets `(n, *)` for each split."""

    train: tuple[Tensor, Tensor]
    held_out: tuple[Tensor, Tensor]

    def training(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self.train

    def validation(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self.held_out


@dataclass(frozen=True)
class Schedule:
    r"""How long and how fast.

    Adam's rate is constant. With a `warm_up` of w epochs it rises, then falls: in epoch e, counted
    from 1, it is :math:`\text{learning\_rate} \, \min(e^{-1/2}, e \, w^{-3/2})`.

    Arguments:
        epochs: number of passes over the data.
        batch_size: rows of a step.
        learning_rate: the rate, or its scale.
        warm_up: epochs until the rate is highest; 0 for a constant rate.
        validation_rows: rows evaluated at once, at most.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    warm_up: int = 0
    validation_rows: int = 1024

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch, counted from 0."""
        if not self.warm_up:
            return self.learning_rate
        number = epoch + 1
        return self.learning_rate * min(
            1 / math.sqrt(number), number / math.sqrt(self.warm_up) ** 3
        )


@dataclass(frozen=True)
class Kept:
    """The network's weights after the epoch, counted from 0, with the lowest criterion."""

    epoch: int
    weights: dict[str, Tensor]


@dataclass(frozen=True)
class Fit:
    """Outcome of a training.

    Attributes:
        kept: the weights that each criterion keeps.
        curve: for each epoch the loss on the training rows (the mean over its batches, while the
            weights move), then each criterion on the validation rows, with shape
            `(epochs, 1 + criteria)`, in float64.
        seconds: time spent, earlier attempts included.
    """

    kept: dict[str, Kept]
    curve: Tensor
    seconds: float


def fit(
    network: nn.Module,
    loss: Objective | Scheduled,
    criteria: Mapping[str, Objective],
    data: Data,
    schedule: Schedule,
    seed: int,
    device: torch.device | str = "cpu",
    checkpoint: Path | None = None,
) -> Fit:
    """Trains a network and keeps the weights of its best epoch, by one criterion or several.

    Everything random in an epoch follows from the seed and the epoch's index, so that a training
    that was stopped and resumed gives the same bits as one that was not.

    Arguments:
        network: network to train, in place.
        loss: what training minimises: mean over a batch, from the network's output and targets;
            or what gives such a loss for each epoch.
        criteria: kept weights have the lowest one on the validation rows; often the loss alone.
        data: the rows of each epoch.
        schedule: epochs, batch size, learning rate.
        seed: seed of the order of the rows.
        device: where to train.
        checkpoint: file for unfinished work: read if it exists, written once a minute and when the
            process is asked to stop (:class:`~vwta.training.signals.Interrupted` is then raised).
    """
    device = torch.device(device)
    run = _Run(network.to(device), loss, criteria, schedule, seed, device, checkpoint)
    if checkpoint is not None and run.resume(checkpoint):
        logger.info("resumed at epoch %d, batch %d", run.epoch + 1, run.batch + 1)
    with Interruption() as interruption:
        while run.epoch < schedule.epochs:
            run.train_epoch(data, interruption)
            run.validate(data, interruption)
            run.report()
        run.keeper.heed(interruption, run.epoch, run.batch)
    return Fit(run.kept, torch.tensor(run.curve, dtype=torch.float64), run.seconds)


def write_fit(path: Path, done: Fit, metadata: Mapping[str, Any]) -> None:
    """Writes the outcome of a training: weights by criterion, `loss.*` and so on, and the `curve`.

    Arguments:
        path: file to write.
        done: the outcome.
        metadata: what else the file says of itself, besides the epochs that each criterion `kept`.
    """
    tensors = {"curve": done.curve}
    for criterion, best in done.kept.items():
        tensors |= {f"{criterion}.{weight}": value for weight, value in best.weights.items()}
    kept = {criterion: best.epoch for criterion, best in done.kept.items()}
    write_tensors(path, tensors, {**metadata, "kept": kept})


def pick_device(name: str) -> torch.device:
    """Device of a name, where `auto` is the GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(
            "device 'cuda': torch sees no GPU here. Remedy: set `device` to 'auto' or 'cpu'"
        )
    return torch.device(name)


class _Run:
    """State of a training, which can be saved between any two batches."""

    def __init__(
        self,
        network: nn.Module,
        loss: Objective | Scheduled,
        criteria: Mapping[str, Objective],
        schedule: Schedule,
        seed: int,
        device: torch.device,
        checkpoint: Path | None,
    ) -> None:
        self.network, self.loss, self.criteria = network, loss, criteria
        self.schedule, self.seed = schedule, seed
        self.device, self.keeper = device, Keeper(checkpoint, self.save)
        parameters = list(network.parameters())
        self.optimizer = torch.optim.Adam(parameters, lr=schedule.learning_rate, fused=True)
        self.epoch = self.batch = self.rows = 0
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self.curve: list[list[float]] = []
        self.kept: dict[str, Kept] = {}
        self.seconds = 0.0
        self._clock = self._reported = time.monotonic()

    def train_epoch(self, data: Data, interruption: Interruption) -> None:
        """Takes the remaining steps of the epoch."""
        x, y = data.training(self.epoch)
        self.rows = len(x)
        order = torch.randperm(self.rows, generator=generator(self.seed, "batches", self.epoch))
        size = self.schedule.batch_size
        x, y = x[order].to(self.device), y[order].to(self.device)
        objective = self._objective()
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.rate(self.epoch)
        self.network.train()
        for start in range(self.batch * size, self.rows, size):
            self.keeper.heed(interruption, self.epoch, self.batch)
            u, v = x[start : start + size], y[start : start + size]
            loss = objective(self.network(u), v)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.total += loss.detach() * len(u)
            self.batch += 1

    @torch.no_grad()
    def validate(self, data: Data, interruption: Interruption) -> None:
        """Ends the epoch: notes the losses and keeps the weights if they are the best so far."""
        x, y = (rows.to(self.device) for rows in data.validation(self.epoch))
        self.network.eval()
        totals = self.total.new_zeros(len(self.criteria))
        size = self.schedule.validation_rows
        for start in range(0, len(x), size):
            self.keeper.heed(interruption, self.epoch, self.batch)  # validation then starts anew
            u, v = x[start : start + size], y[start : start + size]
            out = self.network(u)
            values = [criterion(out, v) for criterion in self.criteria.values()]
            totals += torch.stack(values) * len(u)
        losses = [self.total.item() / self.rows, *(totals / len(x)).tolist()]
        if not all(map(math.isfinite, losses)):
            raise FloatingPointError(
                f"epoch {self.epoch + 1}: training loss {losses[0]}, validation {losses[1:]}; "
                f"lower the learning rate (now {self.schedule.learning_rate})"
            )
        for column, name in enumerate(self.criteria, 1):
            best = self.kept.get(name)
            if best is None or losses[column] < self.curve[best.epoch][column]:
                self.kept[name] = Kept(self.epoch, _copy(self.network))
        self.curve.append(losses)
        self.epoch, self.batch = self.epoch + 1, 0
        self.total.zero_()

    def report(self) -> None:
        """Writes a line of progress, if the last one is some time ago."""
        self._tick()
        last = self.epoch == self.schedule.epochs
        if last or self.epoch == 1 or self._clock - self._reported > REPORT_EVERY:
            self._reported = self._clock
            left = self.seconds / self.epoch * (self.schedule.epochs - self.epoch)
            training, *values = self.curve[-1]
            validation = ", ".join(
                f"{name} {value:.5f} (lowest at {self.kept[name].epoch + 1})"
                for name, value in zip(self.criteria, values, strict=True)
            )
            logger.info(
                "epoch %d/%d: training %.5f, validation %s, about %.0f s left",
                self.epoch,
                self.schedule.epochs,
                training,
                validation,
                left,
            )

    def save(self, path: Path) -> None:
        """Writes all that the rest of the training depends on."""
        self._tick()
        tensors = {f"network.{name}": value for name, value in _copy(self.network).items()}
        for name, best in self.kept.items():
            tensors |= {f"kept.{name}.{weight}": value for weight, value in best.weights.items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{index}.{name}": value for name, value in state.items()}
        place = {
            "epoch": self.epoch,
            "batch": self.batch,
            "kept": {name: best.epoch for name, best in self.kept.items()},
            "seconds": self.seconds,
            "total": self.total.item(),
            "curve": self.curve,
        }
        write_checkpoint(path, tensors, place)

    def resume(self, path: Path) -> bool:
        """Takes up the state that :meth:`save` wrote last; whether there is one."""
        found = read_checkpoint(path)
        if found is None:
            return False
        tensors, place = found
        self.network.load_state_dict(below("network.", tensors))
        for name, epoch in place["kept"].items():
            weights = below(f"kept.{name}.", tensors)
            self.kept[name] = Kept(epoch, {k: v.to(self.device) for k, v in weights.items()})
        moments: dict[int, dict[str, Tensor]] = {}
        weights_by_index = list(self.network.parameters())
        for name, value in below("adam.", tensors).items():
            index, _, field = name.partition(".")
            weight = weights_by_index[int(index)]
            if value.shape == weight.shape:  # in the order of the weight's axes in memory
                value = torch.empty_like(weight).copy_(value)
            moments.setdefault(int(index), {})[field] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.epoch, self.batch = place["epoch"], place["batch"]
        self.seconds, self.curve = place["seconds"], place["curve"]
        self.total.fill_(place["total"])
        return True

    def _objective(self) -> Objective:
        return self.loss.at(self.epoch) if isinstance(self.loss, Scheduled) else self.loss

    def _tick(self) -> None:
        now = time.monotonic()
        self.seconds += now - self._clock
        self._clock = now


def _copy(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}
