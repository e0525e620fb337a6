"""How an estimator is fitted: train, select epochs, choose a head and its number, train again."""

from __future__ import annotations

__all__ = ["Fitted", "Recipe", "fit_heads", "law_of"]

import hashlib
import logging
import math
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from vwta.distributions.average import Average
from vwta.distributions.bandwidth import Minimum, golden_section
from vwta.distributions.robust import Robust
from vwta.estimator.heads import HEADS, TRAININGS, Sizes
from vwta.geometry.spaces import Space
from vwta.io.progress import Bar
from vwta.io.storage import key
from vwta.nn.networks import Network, initialise, restore
from vwta.nn.stacks import unstack
from vwta.seeds import generator, stream
from vwta.training.loop import Objective
from vwta.training.stacking import Plan, StackedFit, fit_stacked

logger = logging.getLogger(__name__)

CHECKS = 60  # at most so many epochs are candidates
EPOCHS = 600  # at most
MOST_ROWS = 2**16  # of an epoch; of more rows each epoch takes a random part
HELD_OUT = 4096  # rows on which epochs are selected, at most
TUNING = {1: 4096, 2: 2048}  # rows on which s is searched, at most, by dimension
TUNING_SOLID = 128  # in three and more dimensions, where volumes cost more
STEP = 0.01  # how closely log s is found
BORDER = 1.05  # s is at the border of its interval if it is nearer to it than this factor


@dataclass(frozen=True)
class Recipe:
    """How networks of an estimator are trained.

    Attributes:
        members: networks of an ensemble, whose densities are averaged.
        steps: of the optimiser, at most; fewer for few rows, as there are at most 600 epochs.
        batch_size: rows of a step.
        learning_rate: the highest one of AdamW; it rises and falls over the steps.
        weight_decay: of AdamW.
        refit: whether the chosen networks are trained again on all rows.
    """

    members: int
    steps: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    refit: bool

    def plan(self, rows: int) -> Plan:
        """The plan for a number of training rows."""
        steps = math.ceil(min(rows, MOST_ROWS) / self.batch_size)
        epochs = max(1, min(EPOCHS, self.steps // steps))
        return Plan(
            epochs=epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            rate="one_cycle",
            weight_decay=self.weight_decay,
            check_every=math.ceil(epochs / CHECKS),
        )


class Fitted(NamedTuple):
    """A trained head of an estimator.

    Attributes:
        head: its name.
        networks: its members, in float64.
        number: s, the bandwidth or the factor on all widths.
        nll: NLL of held-out rows, of scaled targets.
        border: -1 if s is the lowest number of the interval that was searched, 1 if it is the
            highest, 0 otherwise.
        variant: which of the training's variants held-out rows chose.
        epochs: after how many each member was best, `(M,)`.
    """

    head: str
    networks: list[nn.Module]
    number: float
    nll: float
    border: int
    variant: int
    epochs: Tensor


class Rows(NamedTuple):
    """Inputs `(n, c)` and scaled targets `(n, d)`, in float32."""

    x: Tensor
    y: Tensor

    def part(self, index: Tensor) -> Rows:
        return Rows(self.x[index], self.y[index])


@dataclass(frozen=True)
class _Data:
    """The same rows for each of S networks; of very many each epoch takes a random part."""

    train: Rows
    held_out: Rows
    stack: int
    seed: int

    def training(self, epoch: int) -> tuple[Tensor, Tensor]:
        rows, count = self.train, len(self.train.y)
        if count > MOST_ROWS:
            source = generator(self.seed, "rows", epoch)
            rows = rows.part(torch.randint(count, (MOST_ROWS,), generator=source))
        return self._stacked(rows)

    def validation(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self._stacked(self.held_out)

    def _stacked(self, rows: Rows) -> tuple[Tensor, Tensor]:
        x, y = (part.expand(self.stack, *part.shape) for part in rows)
        return x, y


class _Shown:
    """A loss that shows the progress of its training."""

    def __init__(self, loss: Objective, bar: Bar) -> None:
        self.loss, self.bar = loss, bar

    def at(self, epoch: int) -> Objective:
        self.bar.update(epoch)
        return self.loss


def fit_heads(
    heads: Sequence[str],
    rows: Rows,
    held_out: Tensor,
    domain: Space,
    sizes: Sizes,
    recipe: Recipe,
    seed: int,
    device: torch.device,
    checkpoint: Path | None = None,
    progress: bool | None = None,
) -> tuple[Fitted, dict[str, float]]:
    """Fits heads, and returns the best one and the NLL of held-out rows of each.

    Arguments:
        heads: names of the heads.
        rows: all rows, inputs and scaled targets.
        held_out: which of them select epochs, s and the head, bool `(n,)`.
        domain: domain of scaled targets.
        sizes: sizes of the networks.
        recipe: how they are trained.
        seed: of everything random.
        device: where to train.
        checkpoint: folder for unfinished work, read if it has that of the same fit.
        progress: whether a bar is drawn; None draws it on a terminal.
    """
    work = _Work(rows, held_out, domain, sizes, recipe, seed, device, progress)
    if checkpoint is not None:
        work.folder = checkpoint / work.key()
    found: list[Fitted] = []
    for training in dict.fromkeys(HEADS[head].training for head in heads):
        done = work.train(training)
        for head in heads:
            if HEADS[head].training == training:
                found.append(work.best_variant(head, done))
                logger.info("%s: NLL %.4f on held-out rows", head, found[-1].nll)
    best = min(found, key=lambda each: each.nll)
    if recipe.refit:
        best = best._replace(networks=work.train_again(best))
    if work.folder is not None:
        shutil.rmtree(work.folder, ignore_errors=True)
    return best, {each.head: each.nll for each in found}


def law_of(head: str, atoms: Sequence[Any], number: float, domain: Space) -> Distribution:
    """Law of scaled targets from the atoms that each member gives, at a number s."""
    kind = HEADS[head]
    return _together([kind.at(kind.law(each, domain), number) for each in atoms])


class _Work:
    """The trainings of one fit."""

    def __init__(
        self,
        rows: Rows,
        held_out: Tensor,
        domain: Space,
        sizes: Sizes,
        recipe: Recipe,
        seed: int,
        device: torch.device,
        progress: bool | None,
    ) -> None:
        self.all, self.train_rows = rows, rows.part(~held_out)
        self.held_out = rows.part(held_out.nonzero()[:HELD_OUT, 0])
        self.domain, self.sizes, self.recipe = domain, sizes, recipe
        self.seed, self.device, self.progress = seed, device, progress
        self.folder: Path | None = None

    def key(self) -> str:
        """Names the fit by its data and settings, so that no other fit takes up its work."""
        content = hashlib.sha256()
        for part in (*self.all, *self.held_out):
            content.update(part.contiguous().numpy().data)
        return key(
            data=content.hexdigest(),
            recipe=asdict(self.recipe),
            sizes=self.sizes._asdict(),
            domain=repr(self.domain),
            seed=self.seed,
        )

    def train(self, name: str) -> StackedFit:
        """Trains all members of all variants as one stack, variant after variant."""
        variants = TRAININGS[name].variants
        weights = torch.tensor(variants).repeat_interleave(self.recipe.members)
        return self._fit(name, name, self.train_rows, weights, None)

    def best_variant(self, head: str, done: StackedFit) -> Fitted:
        """The variant whose members together have the lowest NLL of held-out rows."""
        name, members = HEADS[head].training, self.recipe.members
        candidates = []
        for variant in range(len(TRAININGS[name].variants)):
            which = range(variant * members, (variant + 1) * members)
            networks = [self._network(name, done.weights["nll"], index) for index in which]
            found, border = self._search(head, networks)
            epochs = done.epochs["nll"][list(which)]
            candidates.append(
                Fitted(head, networks, found.at, found.value, border, variant, epochs)
            )
        return min(candidates, key=lambda each: each.nll)

    def train_again(self, best: Fitted) -> list[nn.Module]:
        """Members trained on all rows, for as many epochs as were best."""
        name = HEADS[best.head].training
        weights = torch.full((self.recipe.members,), TRAININGS[name].variants[best.variant])
        done = self._fit(name, f"{name} again", self.all, weights, best.epochs)
        return [self._network(name, done.last, index) for index in range(self.recipe.members)]

    def _fit(
        self, name: str, title: str, rows: Rows, weights: Tensor, stops: Tensor | None
    ) -> StackedFit:
        training, members = TRAININGS[name], self.recipe.members
        plan = replace(self.recipe.plan(len(self.train_rows.y)), **training.plan)
        seeds = [stream(self.seed, "member", index % members) for index in range(len(weights))]
        networks = [self._start(name, each) for each in seeds]
        loss = training.loss(self.sizes, self.domain, weights.to(self.device))
        criterion = training.criterion(self.sizes, self.domain)
        bar = Bar(f"training {title}", plan.epochs, self.progress)
        file = None if self.folder is None else self.folder / f"{title}.checkpoint"
        data = _Data(rows, self.held_out, len(networks), self.seed)
        shown = _Shown(loss, bar)
        try:
            return fit_stacked(
                networks, shown, {"nll": criterion}, data, plan, seeds, self.device, file, stops
            )
        finally:
            bar.end()

    def _start(self, name: str, seed: int) -> nn.Module:
        training = TRAININGS[name]
        network = initialise({"sizes": self.sizes}, seed, training.build)
        assert isinstance(network, Network)
        source = generator(seed, "start")
        y = self.train_rows.y
        y = y[torch.randperm(len(y), generator=source)[:HELD_OUT]]
        training.start(network, y, source)
        return network

    def _network(self, name: str, weights: dict[str, Tensor], index: int) -> nn.Module:
        values = {key: value.cpu() for key, value in unstack(weights, index).items()}
        return restore({"sizes": self.sizes}, values, TRAININGS[name].build)

    @torch.no_grad()
    def _search(self, head: str, networks: Sequence[nn.Module]) -> tuple[Minimum, int]:
        """The number s with the lowest NLL of held-out rows, and at which border it is."""
        kind, count = HEADS[head], TUNING.get(self.domain.dim(self.sizes.outputs), TUNING_SOLID)
        x, y = (part[:count].double() for part in self.held_out)
        y = self.domain.project(y)
        laws = [kind.law(network(x), self.domain) for network in networks]
        low, high = kind.search(self.domain)

        def nll(log_number: float) -> float:
            law = _together([kind.at(law, math.exp(log_number)) for law in laws])
            return -law.log_prob(y).mean().item()

        found = golden_section(nll, math.log(low), math.log(high), STEP)
        number = math.exp(found.at)
        border = int(number > high / BORDER) - int(number < low * BORDER)
        return found._replace(at=number), border


def _together(laws: Sequence[Distribution]) -> Distribution:
    """The average of members' laws; those with a background share one."""
    robust = [law for law in laws if isinstance(law, Robust)]
    if len(laws) == 1:
        return laws[0]
    if not robust:
        return Average(laws)
    own, background = zip(*(law.laws for law in robust), strict=True)
    weights = [weight / len(laws) for law in robust for weight in (law.weights or ())[:1]]
    return Average([*own, background[0]], weights=[*weights, 1 - sum(weights)])
