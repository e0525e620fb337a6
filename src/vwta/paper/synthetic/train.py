"""Second stage: networks trained on a problem, one for each seed."""

from __future__ import annotations

__all__ = ["Annealing", "FreshData", "FreshStack", "Settings", "train", "train_stack"]

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from vwta.io.storage import in_chunks, read_tensors, sha256
from vwta.nn import losses
from vwta.nn.networks import WTANetwork, initialise
from vwta.nn.starts import k_means_plus_plus, start_at
from vwta.paper.networks import NETWORKS, build
from vwta.paper.registry import named
from vwta.paper.synthetic.true_laws import Problem, inputs, problem
from vwta.paper.training import Job, Recipe, Run, taken
from vwta.seeds import generator
from vwta.training.loop import FixedData, Objective, Scheduled, write_fit
from vwta.training.stacking import Plan, Rows, StackedData, StackedFit, fit_stacked

logger = logging.getLogger(__name__)

LIMIT = 0.999  # a tanh reaches no further without its gradient vanishing


@dataclass(frozen=True)
class Settings:
    """Parameters of a training of the synthetic study besides data, model, K and seed.

    Attributes:
        epochs: number of passes over the data.
        batch_size: rows of a step.
        learning_rate: of Adam, constant unless the plan says otherwise.
        widths: widths of the trunk's layers.
        beta: weight of the scores in the loss.
        score_reduction: how the loss of the scores goes over k.
        epochs_see: whether all epochs see the same rows, or each draws fresh ones.
        clouds: whether fresh rows come from the law frozen to as many points, see
            :meth:`vwta.paper.synthetic.true_laws.Problem.frozen`.
        sharing: the `kind` of sharing a target among hypotheses, see
            :func:`vwta.nn.losses.wta`, and its parameters.
        start: whether hypotheses start at random, or at targets that k-means++ picks.
        bins: `grid`, `low` and `high` of a :class:`~vwta.nn.networks.HistogramNetwork`; None for
            other models.
        plan: fields of :class:`~vwta.training.stacking.Plan`, in place of those above.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    widths: list[int]
    beta: float
    score_reduction: Literal["sum", "mean"]
    epochs_see: Literal["the same rows", "fresh rows"]
    clouds: bool
    sharing: dict[str, Any]
    start: Literal["default", "k_means_plus_plus"]
    bins: dict[str, Any] | None = None
    plan: dict[str, Any] = field(default_factory=dict)

    def recorded(self) -> dict[str, Any]:
        """What a network's file says of them: all, but no plan where there is none."""
        return {name: value for name, value in asdict(self).items() if name != "plan" or value}


@dataclass(frozen=True)
class Annealing:
    """Annealed WTA in the synthetic study, with the temperature of each epoch."""

    plain: Callable[..., Tensor]
    initial: float
    decay: float
    lowest: float

    def at(self, epoch: int) -> Objective:
        value = losses.temperature(epoch, self.initial, self.decay, self.lowest)
        return partial(self.plain, sharing=partial(losses.annealed, temperature=value))


@dataclass(frozen=True)
class FreshData:
    """New rows for each epoch, drawn from a synthetic problem: as many as the fixed data have."""

    law: Problem
    rows: int
    held_out_rows: int
    seed: int
    clouds: bool

    def training(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self._draw("train", self.rows, epoch)

    def validation(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self._draw("validation", self.held_out_rows, epoch)

    def _draw(self, split: str, n: int, epoch: int) -> tuple[Tensor, Tensor]:
        law, source = self.law, generator(self.seed, "rows", split, epoch)
        if self.clouds:
            law = law.frozen(n, generator(self.seed, "cloud", split))
        x = inputs(n, source)
        return x, law.sample(x, 1, source).squeeze(0)


@dataclass(frozen=True)
class FreshStack:
    """New rows for each epoch and each of some networks."""

    members: Sequence[FreshData]

    def training(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self._stack([member.training(epoch) for member in self.members])

    def validation(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self._stack([member.validation(epoch) for member in self.members])

    @staticmethod
    def _stack(rows: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        x, y = zip(*rows, strict=True)
        return torch.stack(x), torch.stack(y)


def train(job: Job, data: Path, constants: Mapping[str, Any], settings: Settings) -> None:
    """Trains synthetic networks of all seeds as one stack.

    Outputs hold the weights selected by each criterion, `loss.*` and so on, and the `curve` of each
    epoch's losses.

    Arguments:
        job: what to train.
        data: file of the fixed data set.
        constants: the problem's constants.
        settings: the protocol.
    """
    law = problem(job.dataset, **constants)
    tensors, _ = read_tensors(data)
    recipe = _recipe(job.model, job.K, settings)
    common = {name: getattr(settings, name) for name in ("epochs", "batch_size", "learning_rate")}
    plan = Plan(**{**common, **settings.plan})
    rows = _data(law, tensors, settings, [*job.outputs])

    def start(network: nn.Module, seed: int) -> None:
        if settings.start == "k_means_plus_plus" and isinstance(network, WTANetwork):
            inside = tensors["y_train"].clamp(-LIMIT, LIMIT)
            start_at(network.heads, k_means_plus_plus(inside, job.K, generator(seed, "start")))

    run = job.begin(sha256(data), settings.recorded())
    train_stack(job, run, recipe, rows, plan, build, start)


def _recipe(model: str, K: int, settings: Settings) -> Recipe:
    """How to build a model's network, its loss, and the criteria of early stopping."""
    training = named(model, NETWORKS)
    sizes = {"inputs": 1, "widths": settings.widths, "outputs": 2, "bounded": True}
    sizes |= {"hypotheses": K, "components": K, **_bins(training.fixed, settings, K)}
    offered = {"beta": settings.beta, "score_reduction": settings.score_reduction}
    loss, criteria = training.functions(losses)
    plain = partial(loss, **taken(loss, offered))
    return Recipe(
        {"kind": model, **taken(training.network, sizes)},
        _shared(plain, settings.sharing) if taken(loss, {"sharing": None}) else plain,
        {"loss": plain, **criteria},
    )


def _shared(plain: Callable[..., Tensor], sharing: Mapping[str, Any]) -> Objective | Scheduled:
    """The WTA loss in which hypotheses share targets in some way."""
    parameters = {name: value for name, value in sharing.items() if name != "kind"}
    match sharing["kind"]:
        case "winner":
            return plain
        case "relaxed":
            return partial(plain, sharing=partial(losses.relaxed, **parameters))
        case "top":
            return partial(plain, sharing=partial(losses.top, **parameters))
        case "annealed":
            return Annealing(plain, **parameters)
    raise ValueError(f"sharing {sharing}: expected winner, relaxed, top or annealed")


def _bins(fixed: bool, settings: Settings, K: int) -> dict[str, Any]:
    """The bins of a network with fixed atoms, none for any other."""
    bins = settings.bins or {}
    if fixed and math.prod(bins.get("grid", [])) != K:
        raise ValueError(f"bins {settings.bins}: a histogram with K={K} needs a grid of {K} bins")
    return bins


def _data(
    law: Problem, tensors: Mapping[str, Tensor], settings: Settings, seeds: Sequence[int]
) -> StackedData:
    """The rows of each seed: the same for all, or fresh ones of its own."""
    training, validation = (
        Rows(*(tensors[f"{axis}_{split}"].expand(len(seeds), -1, -1) for axis in "xy"))
        for split in ("train", "validation")
    )
    if settings.epochs_see == "the same rows":
        return FixedData(training, validation)
    n, held_out = training.x.shape[1], validation.x.shape[1]
    return FreshStack([FreshData(law, n, held_out, seed, settings.clouds) for seed in seeds])


def train_stack(
    job: Job,
    run: Run,
    recipe: Recipe,
    rows: StackedData,
    plan: Plan,
    build: Callable[..., nn.Module],
    start: Callable[[nn.Module, int], None] | None = None,
) -> None:
    """Trains the networks of all seeds of the synthetic study at once.

    Arguments:
        job: what to train.
        run: its run.
        recipe: network, loss and criteria; losses have a value for each network.
        rows: the data of each seed.
        plan: epochs, batch size, learning rate.
        build: makes a network of a specification.
        start: sets the weights of a new network for a seed; None to leave them as they are.
    """
    seeds = [*job.outputs]
    names = job.model, job.dataset, job.K, ", ".join(map(str, seeds)), run.device
    logger.info("%s on %s, K=%d, seeds %s, on %s", *names)
    networks = [initialise(recipe.specification, seed, build) for seed in seeds]
    if start is not None:
        for network, seed in zip(networks, seeds, strict=True):
            start(network, seed)
    checkpoint = run.folder / "stack.checkpoint"
    loss, criteria = recipe.loss, recipe.criteria
    done = fit_stacked(networks, loss, criteria, rows, plan, seeds, run.device, checkpoint)
    _refuse_divergence(done, seeds, plan)

    def make(seed: int, path: Path) -> None:
        alone = done.of(seeds.index(seed))
        record = run.record(seed=seed, stack=len(seeds), seconds=alone.seconds)
        write_fit(path, alone, {"network": recipe.specification, "provenance": record})

    in_chunks(job.outputs, make, run.folder)


def _refuse_divergence(done: StackedFit, seeds: Sequence[int], plan: Plan) -> None:
    """Raises an error if a network diverged."""
    epochs = zip(seeds, done.diverged.tolist(), strict=True)
    if lost := [f"seed {seed} at epoch {epoch}" for seed, epoch in epochs if epoch]:
        raise FloatingPointError(
            f"{', '.join(lost)}: not finite; lower the learning rate (now {plan.learning_rate})"
        )
