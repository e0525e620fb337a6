"""Many small networks trained at once, as one tensor program: one for each split or restart.

Parameters of S networks of the same shape are stacked along a first axis, and so are their rows.
Each network sees its own rows in its own order, and no number of one enters another, so that a
network comes out as if it had been trained alone, up to rounding.
"""

from __future__ import annotations

__all__ = ["Plan", "Rows", "StackedFit", "StackedLinear", "fit_stacked", "stack", "unstack"]

import logging
import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from vwta.io.storage import below
from vwta.nn.heads import Atoms, Head
from vwta.seeds import generator
from vwta.training.checkpoints import Resumable, copy_of
from vwta.training.loop import Goals, Objective, Scheduled, at_least_one, objective_at

logger = logging.getLogger(__name__)


class StackedLinear(nn.Module):
    """Linear layers of a stack of S networks, :math:`y_s = x_s W_s^T + b_s`.

    Arguments:
        layers: one layer for each network, all of the same shape.
    """

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach() for layer in layers]))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs `(S, n, out)` of inputs `(S, n, in)`."""
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight.mT)


class StackedHead(StackedLinear):
    """Heads of a stack of S networks, whose outputs are read as atoms `(S, n, *)`.

    Arguments:
        heads: one head for each network, all of the same kind and shape.
    """

    def __init__(self, heads: Sequence[Head]) -> None:
        super().__init__(heads)
        self.read = heads[0].read

    def forward(self, x: Tensor) -> Atoms:  # type: ignore[override]
        """Atoms of features `(S, n, f)`."""
        return self.read(super().forward(x))


def stack(networks: Sequence[nn.Module]) -> nn.Module:
    """Stack of S networks as one, which maps inputs `(S, n, *)` to what each makes of its own.

    Arguments:
        networks: networks of the same architecture, whose only parameters are those of linear
            layers.

    Example:
        >>> from vwta.nn.networks import WTANetwork
        >>> nets = [WTANetwork(3, 1, hypotheses=5, widths=[50], bounded=False) for _ in range(20)]
        >>> stack(nets)(torch.rand(20, 7, 3)).points.shape
        torch.Size([20, 7, 5, 1])
    """
    together = deepcopy(networks[0])
    linear = [name for name, part in together.named_modules() if isinstance(part, nn.Linear)]
    for name in linear:
        layers = [network.get_submodule(name) for network in networks]
        parent, _, child = name.rpartition(".")
        kind = StackedHead if isinstance(layers[0], Head) else StackedLinear
        setattr(together.get_submodule(parent), child, kind(layers))  # type: ignore[arg-type]
    return together


def unstack(state: Mapping[str, Tensor], index: int) -> dict[str, Tensor]:
    """Weights of one network, as :func:`stack` was given it, among the stacked ones."""
    return {name: value[index].clone() for name, value in state.items()}


class Rows(NamedTuple):
    """Inputs `(S, n, d)` and targets `(S, n, e)` of each network of a stack."""

    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class Plan:
    """How long to train a stack of networks, and how fast.

    Attributes:
        epochs: passes over the rows.
        batch_size: rows of a step, of each network; all of them if there are fewer.
        learning_rate: of Adam, the highest one if it changes.
        rate: whether the learning rate is constant, or rises over the first 30 % of the steps and
            falls to nothing over the others, along half waves of a cosine.
        weight_decay: of AdamW; 0 is Adam.
        check_every: epochs between two evaluations of the criteria.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    rate: Literal["constant", "one_cycle"] = "constant"
    weight_decay: float = 0.0
    check_every: int = 1

    def __post_init__(self) -> None:
        at_least_one(epochs=self.epochs, batch_size=self.batch_size, check_every=self.check_every)

    def rate_at(self, step: int, steps: int) -> float:
        """Learning rate of a step out of all of them."""
        if self.rate == "constant":
            return self.learning_rate
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
        curves: for each criterion its values, with shape `(checks, S)`, in float64.
        last: the stacked weights after the last epoch, or after each network's own last one.
        diverged: epoch after which a criterion was not finite for the first time, 0 if it always
            was, with shape `(S,)`. The selected weights are from before.
        seconds: time spent, earlier attempts included.
    """

    weights: dict[str, dict[str, Tensor]]
    epochs: dict[str, Tensor]
    curves: dict[str, Tensor]
    last: dict[str, Tensor]
    diverged: Tensor
    seconds: float


def fit_stacked(
    networks: Sequence[nn.Module],
    loss: Objective | Scheduled,
    criteria: Mapping[str, Objective],
    train: Rows,
    held_out: Rows,
    plan: Plan,
    seeds: Sequence[int],
    checkpoint: Path | None = None,
    stops: Tensor | None = None,
) -> StackedFit:
    """Trains a stack of networks, and selects the weights of each one's best epoch.

    Arguments:
        networks: S networks to start from; they stay as they are.
        loss: function of the output and targets to minimise, a mean over a batch; or an object with
            a method `at` that gives such a function for each epoch.
        criteria: functions of the output and targets of one network, which :func:`torch.vmap` can
            follow; each selects the weights for which it is lowest on the held-out rows.
        train: rows to train on; training takes place on their device.
        held_out: rows to select the epoch by.
        plan: epochs, batch size, learning rate.
        seeds: seed of the order of each network's rows.
        checkpoint: file for unfinished work: read if it exists, written once a minute and when the
            process is asked to stop (:class:`~vwta.io.errors.Interrupted` is then raised).
        stops: each network's own last epoch, with shape `(S,)`; the plan's if there are none. The
            learning rate follows the plan in any case.
    """
    network = stack(networks).to(train.x.device)
    goals = Goals(loss, criteria)
    training = _StackedTraining(network, goals, train, held_out, plan, seeds, stops, checkpoint)
    training.run(save_when_done=True)
    return training.outcome()


class _StackedTraining(Resumable):
    """The training of a stack of networks."""

    def __init__(
        self,
        network: nn.Module,
        goals: Goals,
        train: Rows,
        held_out: Rows,
        plan: Plan,
        seeds: Sequence[int],
        stops: Tensor | None,
        checkpoint: Path | None,
    ) -> None:
        adam = torch.optim.AdamW(
            network.parameters(),
            lr=plan.learning_rate,
            weight_decay=plan.weight_decay,
            fused=True,
        )
        super().__init__(network, adam, plan.epochs, checkpoint)
        self.loss, self.train, self.held_out = goals.loss, train, held_out
        self.plan, self.seeds = plan, seeds
        self.criteria = {name: torch.vmap(criterion) for name, criterion in goals.criteria.items()}
        self.diverged = torch.zeros(len(seeds), dtype=torch.long)
        self.stops = torch.full_like(self.diverged, plan.epochs) if stops is None else stops
        self.last = copy_of(network)
        self.curves: dict[str, list[list[float]]] = {name: [] for name in goals.criteria}

    def train_epoch(self) -> None:
        rows, n = self.train, self.train.x.shape[1]
        orders = [
            torch.randperm(n, generator=generator(seed, "batches", self.epoch))
            for seed in self.seeds
        ]
        order = torch.stack(orders)[..., None].to(rows.x.device)
        x, y = rows.x.take_along_dim(order, 1), rows.y.take_along_dim(order, 1)
        steps = math.ceil(n / self.plan.batch_size)
        objective = objective_at(self.loss, self.epoch)
        self.network.train()
        for batch in self.batches(n, self.plan.batch_size):
            # The loss is a mean over networks too; their sum leaves each its own gradient.
            loss = objective(self.network(x[:, batch]), y[:, batch]) * len(self.seeds)
            step = self.epoch * steps + self.batch
            self.step(loss, self.plan.rate_at(step, self.plan.epochs * steps))

    def validate(self) -> None:
        done = self.epoch + 1
        self._take_last(done)
        if done % self.plan.check_every == 0 or done == self.plan.epochs:
            self._check()

    def _take_last(self, done: int) -> None:
        """Takes over the weights of the networks whose last epoch this was."""
        ends = self.stops == done
        if ends.any():
            for name, value in self.network.state_dict().items():
                self.last[name][ends] = value[ends]

    @torch.no_grad()
    def _check(self) -> None:
        """Evaluates the criteria, and selects the weights of networks that became better."""
        self.network.eval()
        out = self.network(self.held_out.x)
        for name, criterion in self.criteria.items():
            values = criterion(out, self.held_out.y).double().cpu()
            self._note_divergence(name, values)
            self.curves[name].append(values.tolist())
            self.select(name, values)

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
        means = (
            f"{name} {sum(curve[-1]) / len(curve[-1]):.4f}"
            for name, curve in self.curves.items()
            if curve
        )
        return ", ".join([f"{len(self.seeds)} networks", *means])

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        last = {f"last.{name}": value for name, value in self.last.items()}
        return {**last, "diverged": self.diverged}, {"curves": self.curves}

    def restore(self, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
        device = self.train.x.device
        self.last = {name: value.to(device) for name, value in below("last.", tensors).items()}
        self.diverged = tensors["diverged"]
        self.curves = place["curves"]

    def outcome(self) -> StackedFit:
        return StackedFit(
            weights={name: best.weights for name, best in self.selections.items()},
            epochs={name: best.epoch + 1 for name, best in self.selections.items()},
            curves={name: torch.tensor(c, dtype=torch.float64) for name, c in self.curves.items()},
            last=self.last,
            diverged=self.diverged,
            seconds=self.seconds,
        )
