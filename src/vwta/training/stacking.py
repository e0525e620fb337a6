"""Many small networks trained at once, as one tensor program: one for each split or restart.

Parameters of S networks of the same shape are stacked along a first axis, and so are their rows.
Each network sees its own rows in its own order, and no number of one enters another, so that a
network comes out as if it had been trained alone, up to rounding.
"""

from __future__ import annotations

__all__ = ["Plan", "Rows", "StackedFit", "StackedLinear", "fit_stacked", "stack", "unstack"]

import logging
import math
import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from vwta.io.storage import below
from vwta.nn.heads import Atoms, Head
from vwta.seeds import generator
from vwta.training.checkpoints import Keeper, read_checkpoint, write_checkpoint
from vwta.training.loop import Objective, Scheduled
from vwta.training.signals import Interruption

logger = logging.getLogger(__name__)

REPORT_EVERY = 5.0  # seconds between lines in the log


class StackedLinear(nn.Module):
    r"""Linear layers of S networks, :math:`y_s = x_s W_s^T + b_s`.

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
    """Heads of S networks, whose outputs are read as atoms `(S, n, *)`.

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
    """One network that maps inputs `(S, n, *)` to what each of S networks makes of its own.

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
    """Inputs `(S, n, d)` and targets `(S, n, e)` of each network."""

    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class Plan:
    """How long and how fast.

    Attributes:
        epochs: passes over the rows.
        batch_size: rows of a step, of each network; all of them if there are fewer.
        learning_rate: of Adam, the highest one if it changes.
        rate: whether the learning rate is constant, or rises over the first 30 % of the steps and
            falls to nothing over the others, along half waves of a cosine.
        weight_decay: of AdamW; 0 is Adam.
        check_every: epochs between two looks at the criteria.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    rate: Literal["constant", "one_cycle"] = "constant"
    weight_decay: float = 0.0
    check_every: int = 1

    def rate_at(self, step: int, steps: int) -> float:
        """Learning rate of a step out of all of them."""
        if self.rate == "constant":
            return self.learning_rate
        done, rise = (step + 0.5) / steps, 0.3
        place = done / rise if done < rise else 1 - (done - rise) / (1 - rise)
        return self.learning_rate * (1 - math.cos(math.pi * place)) / 2


@dataclass(frozen=True)
class StackedFit:
    """Outcome of a training.

    Attributes:
        weights: for each criterion the stacked weights after the epoch with the lowest value, each
            network at its own best epoch.
        epochs: for each criterion that epoch, counted from 1, with shape `(S,)`.
        curves: for each criterion its values, with shape `(checks, S)`, in float64.
        last: the stacked weights after the last epoch, or after each network's own last one.
        diverged: epoch after which a criterion was no finite number for the first time, 0 if it
            always was one, with shape `(S,)`. What is kept is from before.
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
    """Trains networks side by side and keeps the weights of each one's best epoch.

    Arguments:
        networks: S networks to start from; they stay as they are.
        loss: mean over a batch, from a network's output and targets; or what gives such a loss for
            each epoch.
        criteria: kept weights have the lowest one on the held-out rows; functions of the output and
            targets of one network, which :func:`torch.vmap` can follow.
        train: rows to train on; training takes place where they are.
        held_out: rows to choose the epoch by.
        plan: epochs, batch size, learning rate.
        seeds: seed of the order of each network's rows.
        checkpoint: file for unfinished work: read if it exists, written once a minute and when the
            process is asked to stop (:class:`~vwta.training.signals.Interrupted` is then raised).
        stops: each network's own last epoch, with shape `(S,)`; the plan's if there are none. The
            learning rate follows the plan in any case.
    """
    run = _Run(stack(networks).to(train.x.device), loss, criteria, plan, seeds, stops, checkpoint)
    if checkpoint is not None and run.resume(checkpoint):
        logger.info("resumed at epoch %d, batch %d", run.epoch + 1, run.batch + 1)
    reported = time.monotonic()
    with Interruption() as interruption:
        while run.epoch < plan.epochs:
            run.train_epoch(train, interruption)
            run.keep_last()
            if run.epoch % plan.check_every == 0 or run.epoch == plan.epochs:
                run.check(held_out)
            now = time.monotonic()
            if now - reported > REPORT_EVERY or run.epoch == plan.epochs:
                reported = now
                run.report()
        if checkpoint is not None:  # a job may have several trainings, and this one is done
            run.save(checkpoint)
        run.keeper.heed(interruption, run.epoch, run.batch)
    return run.outcome()


class _Run:
    """State of a training, which can be saved between any two batches."""

    def __init__(
        self,
        network: nn.Module,
        loss: Objective | Scheduled,
        criteria: Mapping[str, Objective],
        plan: Plan,
        seeds: Sequence[int],
        stops: Tensor | None,
        checkpoint: Path | None,
    ) -> None:
        self.keeper = Keeper(checkpoint, self.save)
        self.network, self.loss, self.plan, self.seeds = network, loss, plan, seeds
        self.criteria = {name: torch.vmap(criterion) for name, criterion in criteria.items()}
        self.optimizer = torch.optim.AdamW(
            network.parameters(),
            lr=plan.learning_rate,
            weight_decay=plan.weight_decay,
            fused=True,
        )
        self.epoch, self.batch, self.seconds = 0, 0, 0.0
        self.clock = time.monotonic()
        self.weights: dict[str, dict[str, Tensor]] = {}
        self.epochs: dict[str, Tensor] = {}
        self.best: dict[str, Tensor] = {}
        self.diverged = torch.zeros(len(seeds), dtype=torch.long)
        self.stops = torch.full_like(self.diverged, plan.epochs) if stops is None else stops
        self.last = {name: value.clone() for name, value in network.state_dict().items()}
        self.curves: dict[str, list[list[float]]] = {name: [] for name in criteria}

    def train_epoch(self, rows: Rows, interruption: Interruption) -> None:
        """Takes the remaining steps of the epoch."""
        n, size = rows.x.shape[1], self.plan.batch_size
        orders = [
            torch.randperm(n, generator=generator(seed, "batches", self.epoch))
            for seed in self.seeds
        ]
        order = torch.stack(orders)[..., None].to(rows.x.device)
        x, y = rows.x.take_along_dim(order, 1), rows.y.take_along_dim(order, 1)
        batches = math.ceil(n / size)
        loss_of = self.loss.at(self.epoch) if isinstance(self.loss, Scheduled) else self.loss
        self.network.train()
        for start in range(self.batch * size, n, size):
            self.keeper.heed(interruption, self.epoch, self.batch)
            step = self.epoch * batches + self.batch
            for group in self.optimizer.param_groups:
                group["lr"] = self.plan.rate_at(step, self.plan.epochs * batches)
            out = self.network(x[:, start : start + size])
            # The loss is a mean over networks too; their sum leaves each its own gradient.
            loss = loss_of(out, y[:, start : start + size]) * len(self.seeds)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.batch += 1
        self.epoch, self.batch = self.epoch + 1, 0

    def keep_last(self) -> None:
        """Keeps the weights of the networks whose last epoch this is."""
        ends = self.stops == self.epoch
        if ends.any():
            for name, value in self.network.state_dict().items():
                self.last[name][ends] = value[ends]

    @torch.no_grad()
    def check(self, rows: Rows) -> None:
        """Notes the criteria and keeps the weights of networks that are better than before."""
        self.network.eval()
        out, state = self.network(rows.x), self.network.state_dict()
        for name, criterion in self.criteria.items():
            values = criterion(out, rows.y).double().cpu()
            self._note_divergence(name, values)
            self.curves[name].append(values.tolist())
            best = self.best.setdefault(name, torch.full_like(values, math.inf))
            better = values < best
            best[better] = values[better]
            kept = self.weights.setdefault(name, {k: v.clone() for k, v in state.items()})
            for key, value in state.items():
                kept[key][better] = value[better]
            epochs = self.epochs.setdefault(name, torch.zeros(len(values), dtype=torch.long))
            epochs[better] = self.epoch

    def _note_divergence(self, name: str, values: Tensor) -> None:
        lost = ~values.isfinite() & (self.diverged == 0)
        if not lost.any():
            return
        which = ", ".join(str(int(index)) for index in lost.nonzero())
        rate = self.plan.learning_rate
        if not self.curves[name]:
            raise FloatingPointError(
                f"epoch {self.epoch}: {name} of network {which} is no finite number, and was none "
                f"before; lower the learning rate (now {rate})"
            )
        logger.warning("epoch %d: network %s diverged (%s)", self.epoch, which, name)
        self.diverged[lost] = self.epoch

    def report(self) -> None:
        self._tick()
        left = self.seconds / self.epoch * (self.plan.epochs - self.epoch)
        means = (
            f"{name} {sum(curve[-1]) / len(curve[-1]):.4f}"
            for name, curve in self.curves.items()
            if curve
        )
        logger.info(
            "epoch %d/%d of %d networks: %s, about %.0f s left",
            self.epoch,
            self.plan.epochs,
            len(self.seeds),
            ", ".join(means),
            left,
        )

    def save(self, path: Path) -> None:
        self._tick()
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"last.{name}": value for name, value in self.last.items()}
        for criterion, kept in self.weights.items():
            tensors |= {f"kept.{criterion}.{name}": value for name, value in kept.items()}
            tensors[f"epochs.{criterion}"] = self.epochs[criterion]
            tensors[f"best.{criterion}"] = self.best[criterion]
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{index}.{name}": value for name, value in state.items()}
        tensors["diverged"] = self.diverged
        place = {
            "epoch": self.epoch,
            "batch": self.batch,
            "seconds": self.seconds,
            "curves": self.curves,
        }
        write_checkpoint(path, tensors, place)

    def resume(self, path: Path) -> bool:
        """Takes up the state that :meth:`save` wrote last; whether there is one."""
        found = read_checkpoint(path)
        if found is None:
            return False
        tensors, place = found
        self.network.load_state_dict(below("network.", tensors))
        device = next(self.network.parameters()).device
        self.last = {name: value.to(device) for name, value in below("last.", tensors).items()}
        self.epochs, self.best = below("epochs.", tensors), below("best.", tensors)
        self.diverged = tensors["diverged"]
        self.weights = {
            name: {key: value.to(device) for key, value in below(f"kept.{name}.", tensors).items()}
            for name in self.epochs
        }
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in below("adam.", tensors).items():
            index, _, field = name.partition(".")
            moments.setdefault(int(index), {})[field] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.epoch, self.batch = place["epoch"], place["batch"]
        self.seconds, self.curves = place["seconds"], place["curves"]
        return True

    def outcome(self) -> StackedFit:
        self._tick()
        curves = {name: torch.tensor(c, dtype=torch.float64) for name, c in self.curves.items()}
        return StackedFit(self.weights, self.epochs, curves, self.last, self.diverged, self.seconds)

    def _tick(self) -> None:
        now = time.monotonic()
        self.seconds += now - self.clock
        self.clock = now
