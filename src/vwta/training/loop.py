"""The training loop: it selects the best weights, and an interruption changes no bit."""

from __future__ import annotations

__all__ = [
    "Data",
    "Fit",
    "FixedData",
    "Goals",
    "Inputs",
    "Objective",
    "Schedule",
    "Scheduled",
    "Selected",
    "Weighted",
    "at_least_one",
    "fit",
    "objective_at",
    "pick_device",
    "write_fit",
]

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from vwta.io.storage import write_tensors
from vwta.seeds import generator
from vwta.training.checkpoints import Resumable, Smoothing

Objective = Callable[[Any, Tensor], Tensor]


@runtime_checkable
class Scheduled(Protocol):
    """A loss of a training that changes from epoch to epoch."""

    def at(self, epoch: int) -> Objective: ...


class Goals(NamedTuple):
    """What a training minimises, and the criteria that select weights."""

    loss: Objective | Scheduled
    criteria: Mapping[str, Objective]


class Inputs(Protocol):
    """Inputs of the rows of a training's epoch: a tensor, or an object that reads them from a disk.

    `inputs[order]` has the same rows in another order and is of this type again; `inputs[slice]` is
    a tensor.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, which: Any, /) -> Any: ...

    def to(self, device: torch.device, /) -> Any: ...


class Data(Protocol):
    """Data of a training: where the rows of an epoch come from, inputs and targets."""

    def training(self, epoch: int) -> tuple[Inputs, Tensor]: ...

    def validation(self, epoch: int) -> tuple[Inputs, Tensor]: ...


@runtime_checkable
class Weighted(Protocol):
    """Data of a training whose rows do not all weigh the same in validation."""

    def weight(self, y: Tensor) -> Tensor:
        """What a batch of targets weighs: how many of them there are, on their device."""


@dataclass(frozen=True)
class FixedData:
    """Data of a training with the same rows in every epoch: inputs and targets for each split."""

    train: tuple[Tensor, Tensor]
    held_out: tuple[Tensor, Tensor]

    def __post_init__(self) -> None:
        for part in (*self.train, *self.held_out):
            if not isinstance(part, Tensor):
                raise TypeError(
                    f"FixedData has tensors, found {type(part).__name__}. Remedy: torch.as_tensor"
                )

    def training(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self.train

    def validation(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self.held_out


@dataclass(frozen=True)
class Schedule:
    r"""How long to train a network, and how fast.

    Adam's learning rate is constant. With a `warm_up` of w epochs it rises, then falls: in epoch e,
    counted from 1, it is :math:`\text{learning\_rate} \, \min(e^{-1/2}, e \, w^{-3/2})`.

    Arguments:
        epochs: number of passes over the data.
        batch_size: rows of a step.
        learning_rate: the rate, or its scale.
        warm_up: epochs until the rate is highest; 0 for a constant rate.
        validation_rows: rows evaluated at once, at most.
        clip: largest norm of the gradient; 0 for no bound.
        average: how fast an average of the weights forgets, see
            :class:`~vwta.training.checkpoints.Smoothing`; 0 for no average.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    warm_up: int = 0
    validation_rows: int = 1024
    clip: float = 0.0
    average: float = 0.0

    def __post_init__(self) -> None:
        at_least_one(
            epochs=self.epochs, batch_size=self.batch_size, validation_rows=self.validation_rows
        )

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch, counted from 0."""
        if not self.warm_up:
            return self.learning_rate
        number = epoch + 1
        return self.learning_rate * min(
            1 / math.sqrt(number), number / math.sqrt(self.warm_up) ** 3
        )


@dataclass(frozen=True)
class Selected:
    """The network's weights after the epoch, counted from 0, with the lowest criterion."""

    epoch: int
    weights: dict[str, Tensor]


@dataclass(frozen=True)
class Fit:
    """Outcome of the training of a network.

    Attributes:
        selected: the weights that each criterion selects.
        curve: for each epoch the loss on the training rows (the mean over its batches, while the
            weights move), then each criterion on the validation rows, with shape
            `(epochs, 1 + criteria)`, in float64.
        seconds: time spent, earlier attempts included.
    """

    selected: dict[str, Selected]
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
    """Trains a network and selects the weights of its best epoch, by one criterion or several.

    Everything random in an epoch follows from the seed and the epoch's index, so that a training
    that was stopped and resumed gives the same bits as one that was not.

    Arguments:
        network: network to train, in place.
        loss: function of the network's output and targets to minimise, a mean over a batch, or
            means over parts of the same size; or an object with a method `at` that gives such a
            function for each epoch.
        criteria: functions likewise; each selects the weights for which it is lowest on the
            validation rows. Often the loss alone.
        data: the rows of each epoch.
        schedule: epochs, batch size, learning rate.
        seed: seed of the order of the rows.
        device: where to train.
        checkpoint: file for unfinished work: read if it exists, written once a minute and when the
            process is asked to stop (:class:`~vwta.io.errors.Interrupted` is then raised).

    Example:
        >>> from functools import partial
        >>> from vwta.nn import losses
        >>> from vwta.nn.networks import WTANetwork
        >>> x, y = torch.rand(64, 1), torch.rand(64, 2)
        >>> data = FixedData((x[:48], y[:48]), (x[48:], y[48:]))
        >>> network = WTANetwork(inputs=1, outputs=2, hypotheses=4, widths=[8], bounded=True)
        >>> loss = partial(losses.wta, beta=1.0, score_reduction="sum")
        >>> done = fit(network, loss, {"loss": loss}, data, Schedule(2, 16, 1e-3), seed=0)
        >>> network.load_state_dict(done.selected["loss"].weights)
        <All keys matched successfully>
    """
    device = torch.device(device)
    network = network.to(device)
    goals = Goals(loss, criteria)
    training = _Training(network, goals, data, schedule, seed, device, checkpoint)
    training.run()
    return training.outcome()


def objective_at(loss: Objective | Scheduled, epoch: int) -> Objective:
    """The loss of a training in an epoch, counted from 0."""
    return loss.at(epoch) if isinstance(loss, Scheduled) else loss


def at_least_one(**counts: int) -> None:
    """Raises an error that names a count of a training, such as its epochs, if it is below 1."""
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} is {count}: expected at least 1")


def write_fit(path: Path, done: Fit, metadata: Mapping[str, Any]) -> None:
    """Writes the outcome of a training: weights by criterion, `loss.*` and so on, and the `curve`.

    Arguments:
        path: file to write.
        done: the outcome.
        metadata: what else the file says of itself, besides the epoch that each criterion selected
            (`selected`).
    """
    tensors = {"curve": done.curve}
    for criterion, best in done.selected.items():
        tensors |= {f"{criterion}.{weight}": value for weight, value in best.weights.items()}
    epochs = {criterion: best.epoch for criterion, best in done.selected.items()}
    write_tensors(path, tensors, {**metadata, "selected": epochs})


def pick_device(name: str) -> torch.device:
    """Device to train on, by name: `auto` is the GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(
            "device 'cuda': torch sees no GPU here. Remedy: set `device` to 'auto' or 'cpu'"
        )
    return torch.device(name)


class _Training(Resumable):
    """The training of one network."""

    def __init__(
        self,
        network: nn.Module,
        goals: Goals,
        data: Data,
        schedule: Schedule,
        seed: int,
        device: torch.device,
        checkpoint: Path | None,
    ) -> None:
        parameters = list(network.parameters())
        adam = torch.optim.Adam(parameters, lr=schedule.learning_rate, fused=True)
        smoothing = Smoothing(schedule.clip, schedule.average)
        super().__init__(network, adam, schedule.epochs, checkpoint, smoothing)
        self.loss, self.criteria = goals
        self.data, self.schedule, self.seed, self.device = data, schedule, seed, device
        self.rows = 0
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self.curve: list[list[float]] = []

    def train_epoch(self) -> None:
        x, y = self.data.training(self.epoch)
        self.rows = len(x)
        at_least_one(training_rows=self.rows)
        order = torch.randperm(self.rows, generator=generator(self.seed, "batches", self.epoch))
        x, y = x[order].to(self.device), y[order].to(self.device)
        objective, rate = objective_at(self.loss, self.epoch), self.schedule.rate(self.epoch)
        self.network.train()
        for batch in self.batches(self.rows, self.schedule.batch_size):
            u, v = x[batch], y[batch]
            loss = objective(self.network(u), v).mean()
            self.step(loss, rate)
            self.total += loss.detach() * len(u)

    @torch.no_grad()
    def validate(self) -> None:
        x, y = (rows.to(self.device) for rows in self.data.validation(self.epoch))
        at_least_one(validation_rows=len(x))
        self.averaged.eval()
        totals = self.total.new_zeros(len(self.criteria))
        weights = self.total.new_zeros(())
        size = self.schedule.validation_rows
        for start in range(0, len(x), size):
            self.may_stop()  # validation then starts anew
            u, v = x[start : start + size], y[start : start + size]
            out = self.averaged(u)
            values = [criterion(out, v).mean() for criterion in self.criteria.values()]
            weight = self.data.weight(v) if isinstance(self.data, Weighted) else len(u)
            totals += torch.stack(values) * weight
            weights += weight
        means = (totals / weights.clamp_min(1)).cpu()
        losses = [self.total.item() / self.rows, *means.tolist()]
        if not all(map(math.isfinite, losses)):
            raise FloatingPointError(
                f"epoch {self.epoch + 1}: training loss {losses[0]}, validation {losses[1:]}; "
                f"lower the learning rate (now {self.schedule.learning_rate})"
            )
        for name, value in zip(self.criteria, means, strict=True):
            self.select(name, value)
        self.curve.append(losses)
        self.total.zero_()

    def progress(self) -> str:
        training, *values = self.curve[-1]
        validation = (
            f"{name} {value:.5f} (lowest at {int(self.selections[name].epoch) + 1})"
            for name, value in zip(self.criteria, values, strict=True)
        )
        return f"training {training:.5f}, validation {', '.join(validation)}"

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return {}, {"total": self.total.item(), "curve": self.curve}

    def restore(self, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
        self.total.fill_(place["total"])
        self.curve = place["curve"]

    def outcome(self) -> Fit:
        selected = {
            name: Selected(int(best.epoch), best.weights) for name, best in self.selections.items()
        }
        return Fit(selected, torch.tensor(self.curve, dtype=torch.float64), self.seconds)
