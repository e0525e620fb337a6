"""Many small networks trained at once, as one tensor program: one for each seed or split.

Parameters of S networks of the same shape are stacked along a first axis, and so are their rows.
Each network sees its own rows in its own order, and no number of one enters another, so that a
network comes out as if it had been trained alone, up to rounding.
"""

from __future__ import annotations

__all__ = ["Plan", "Rows", "StackedData", "StackedFit", "fit_stacked"]

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from vwta.io.storage import below
from vwta.nn.stacks import stack, unstack
from vwta.seeds import generator
from vwta.training.checkpoints import Resumable, Smoothing, copy_of, take_over
from vwta.training.loop import (
    Fit,
    Goals,
    Objective,
    Scheduled,
    Selected,
    at_least_one,
    objective_at,
)

logger = logging.getLogger(__name__)


class Rows(NamedTuple):
    """Inputs `(S, n, d)` and targets `(S, n, e)` of each network of a stack."""

    x: Tensor
    y: Tensor


class StackedData(Protocol):
    """Where the rows of an epoch come from, such as :class:`~vwta.training.loop.FixedData`.

    Each method gives inputs `(S, n, d)` and targets `(S, n, e)`.
    """

    def training(self, epoch: int) -> tuple[Tensor, Tensor]: ...

    def validation(self, epoch: int) -> tuple[Tensor, Tensor]: ...


@dataclass(frozen=True)
class Plan:
    """How long to train a stack of networks, and how fast.

    Attributes:
        epochs: passes over the rows.
        batch_size: rows of a step, of each network; all of them if there are fewer.
        learning_rate: of Adam, the highest one if it changes.
        rate: whether the learning rate is constant; or rises over the first 30 % of the steps and
            falls to nothing over the others, along half waves of a cosine; or (`warm_cosine`) rises
            linearly over the first 3 %, and falls to 10 % over all along half a wave.
        weight_decay: of AdamW; 0 is Adam.
        check_every: epochs between two evaluations of the criteria.
        clip: largest norm of the gradient of each network; 0 for no bound.
        average: how fast an average of the weights forgets, see
            :class:`~vwta.training.checkpoints.Smoothing`; 0 for no average.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    rate: Literal["constant", "one_cycle", "warm_cosine"] = "constant"
    weight_decay: float = 0.0
    check_every: int = 1
    clip: float = 0.0
    average: float = 0.0

    def __post_init__(self) -> None:
        at_least_one(epochs=self.epochs, batch_size=self.batch_size, check_every=self.check_every)

    def rate_at(self, step: int, steps: int) -> float:
        """Learning rate of a step out of all of them."""
        if self.rate == "constant":
            return self.learning_rate
        if self.rate == "warm_cosine":
            wave = (1 + math.cos(math.pi * step / steps)) / 2
            return self.learning_rate * min(1.0, (step + 1) / (0.03 * steps)) * (0.1 + 0.9 * wave)
        done, rise = (step + 0.5) / steps, 0.3
        place = done / rise if done < rise else 1 - (done - rise) / (1 - rise)
        return self.learning_rate * (1 - math.cos(math.pi * place)) / 2


@dataclass(frozen=True)
class StackedFit:
    """Outcome of the training of a stack of networks.

    Attributes:
        weights: for each criterion the stacked weights after the epoch with the lowest value, each
            network at its own best epoch.
        epochs: for each criterion that epoch, counted from 1, with shape `(S,)`.
        training: the loss on the training rows of the epochs before checks (the mean over batches,
            while the weights move), with shape `(checks, S)`, in float64.
        curves: for each criterion its values, with shape `(checks, S)`, in float64.
        last: the stacked weights after the last epoch, or after each network's own last one.
        diverged: epoch after which a criterion was not finite for the first time, 0 if it always
            was, with shape `(S,)`. The selected weights are from before.
        seconds: time spent, earlier attempts included.
    """

    weights: dict[str, dict[str, Tensor]]
    epochs: dict[str, Tensor]
    training: Tensor
    curves: dict[str, Tensor]
    last: dict[str, Tensor]
    diverged: Tensor
    seconds: float

    def of(self, index: int) -> Fit:
        """Outcome of one network, with its share of the time."""
        selected = {
            name: Selected(int(self.epochs[name][index]) - 1, unstack(weights, index))
            for name, weights in self.weights.items()
        }
        curve = torch.stack([self.training, *self.curves.values()], -1)[:, index]
        return Fit(selected, curve, self.seconds / len(self.diverged))


def fit_stacked(
    networks: Sequence[nn.Module],
    loss: Objective | Scheduled,
    criteria: Mapping[str, Objective],
    data: StackedData,
    plan: Plan,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
    checkpoint: Path | None = None,
    stops: Tensor | None = None,
) -> StackedFit:
    """Trains a stack of networks, and selects the weights of each one's best epoch.

    Arguments:
        networks: S networks to start from; they stay as they are.
        loss: function of the output and targets to minimise, a mean over the rows of each network,
            with shape `(S,)`; or an object with a method `at` that gives such a function for each
            epoch.
        criteria: functions likewise; each selects the weights for which it is lowest on the
            validation rows.
        data: the rows of each epoch.
        plan: epochs, batch size, learning rate.
        seeds: seed of the order of each network's rows.
        device: where to train.
        checkpoint: file for unfinished work: read if it exists, written once a minute and when the
            process is asked to stop (:class:`~vwta.io.errors.Interrupted` is then raised).
        stops: each network's own last epoch, with shape `(S,)`; the plan's if there are none. The
            learning rate follows the plan in any case.
    """
    if len(seeds) != len(networks):
        raise ValueError(f"{len(seeds)} seeds for {len(networks)} networks: expected one for each")
    device = torch.device(device)
    network = stack(networks).to(device)
    goals = Goals(loss, criteria)
    training = _StackedTraining(network, goals, data, plan, seeds, device, stops, checkpoint)
    training.run(save_when_done=True)
    return training.outcome()


class _StackedTraining(Resumable):
    """The training of a stack of networks."""

    def __init__(
        self,
        network: nn.Module,
        goals: Goals,
        data: StackedData,
        plan: Plan,
        seeds: Sequence[int],
        device: torch.device,
        stops: Tensor | None,
        checkpoint: Path | None,
    ) -> None:
        adam = torch.optim.AdamW(
            network.parameters(),
            lr=plan.learning_rate,
            weight_decay=plan.weight_decay,
            fused=True,
        )
        smoothing = Smoothing(plan.clip, plan.average, stacked=True)
        super().__init__(network, adam, plan.epochs, checkpoint, smoothing)
        self.loss, self.criteria = goals
        self.data = data
        self.plan, self.seeds, self.device = plan, seeds, device
        self.rows = 0
        self.total = torch.zeros(len(seeds), dtype=torch.float64, device=device)
        self.training: list[list[float]] = []
        self.diverged = torch.zeros(len(seeds), dtype=torch.long)
        self.stops = torch.full_like(self.diverged, plan.epochs) if stops is None else stops
        self.last = copy_of(network)
        self.curves: dict[str, list[list[float]]] = {name: [] for name in goals.criteria}

    def train_epoch(self) -> None:
        x, y = self._shuffled(*self.data.training(self.epoch))
        self.rows = x.shape[1]
        steps = math.ceil(self.rows / self.plan.batch_size)
        objective = objective_at(self.loss, self.epoch)
        self.network.train()
        for batch in self.batches(self.rows, self.plan.batch_size):
            u, v = x[:, batch], y[:, batch]
            losses = objective(self.network(u), v)
            step = self.epoch * steps + self.batch
            # Their sum leaves each network its own gradient.
            self.step(losses.sum(), self.plan.rate_at(step, self.plan.epochs * steps))
            self.total += losses.detach() * u.shape[1]

    def _shuffled(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of each network in an order that follows from its seed and the epoch."""
        n = x.shape[1]
        at_least_one(training_rows=n)
        orders = [
            torch.randperm(n, generator=generator(seed, "batches", self.epoch))
            for seed in self.seeds
        ]
        order = torch.cat([order + n * index for index, order in enumerate(orders)])
        x, y = (
            rows.flatten(0, 1).index_select(0, order.to(rows.device)).view_as(rows)
            for rows in (x, y)
        )
        return x.to(self.device), y.to(self.device)

    def validate(self) -> None:
        done = self.epoch + 1
        self._take_last(done)
        if done % self.plan.check_every == 0 or done == self.plan.epochs:
            self._check()
        self.total.zero_()

    def _take_last(self, done: int) -> None:
        """Takes over the weights of the networks whose last epoch this was."""
        ends = self.stops == done
        if ends.any():
            take_over(self.last, self.averaged.state_dict(), ends)

    @torch.no_grad()
    def _check(self) -> None:
        """Evaluates the criteria, and selects the weights of networks that became better."""
        x, y = (rows.to(self.device) for rows in self.data.validation(self.epoch))
        at_least_one(validation_rows=x.shape[1])
        self.averaged.eval()
        out = self.averaged(x)
        for name, criterion in self.criteria.items():
            values = criterion(out, y).double().cpu()
            self._note_divergence(name, values)
            self.curves[name].append(values.tolist())
            self.select(name, values)
        self.training.append((self.total / self.rows).tolist())

    def _note_divergence(self, name: str, values: Tensor) -> None:
        lost = ~values.isfinite() & (self.diverged == 0)
        if not lost.any():
            return
        which = ", ".join(str(int(index)) for index in lost.nonzero())
        done, rate = self.epoch + 1, self.plan.learning_rate
        if not self.curves[name]:
            raise FloatingPointError(
                f"epoch {done}: {name} of network {which} is not finite, at the first check; lower "
                f"the learning rate (now {rate})"
            )
        logger.warning("epoch %d: network %s diverged (%s)", done, which, name)
        self.diverged[lost] = done

    def progress(self) -> str:
        networks = len(self.seeds)
        curves = {"training": self.training, **self.curves}
        means = [f"{name} {sum(rows[-1]) / networks:.5f}" for name, rows in curves.items() if rows]
        over = f", means over {networks} networks" if networks > 1 else ""
        return ", ".join(means) + over

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        last = {f"last.{name}": value for name, value in self.last.items()}
        tensors = {**last, "diverged": self.diverged, "total": self.total}
        return tensors, {"training": self.training, "curves": self.curves}

    def restore(self, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
        last = below("last.", tensors)
        self.last = {name: value.to(self.device) for name, value in last.items()}
        self.diverged, self.total = tensors["diverged"], tensors["total"].to(self.device)
        self.training, self.curves = place["training"], place["curves"]

    def outcome(self) -> StackedFit:
        return StackedFit(
            weights={name: best.weights for name, best in self.selections.items()},
            epochs={name: best.epoch + 1 for name, best in self.selections.items()},
            training=torch.tensor(self.training, dtype=torch.float64),
            curves={name: torch.tensor(c, dtype=torch.float64) for name, c in self.curves.items()},
            last=self.last,
            diverged=self.diverged,
            seconds=self.seconds,
        )
