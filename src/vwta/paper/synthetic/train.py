"""Second stage: networks trained on a problem, one for each seed."""

from __future__ import annotations

__all__ = ["Annealing", "FreshData", "Settings", "train"]

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from vwta.io.provenance import provenance
from vwta.io.storage import in_chunks, key, read_tensors, sha256
from vwta.nn import losses
from vwta.nn.networks import WTANetwork, initialise
from vwta.nn.starts import k_means_plus_plus, start_at
from vwta.paper.data.synthetic import Problem, inputs, problem
from vwta.seeds import generator
from vwta.training.loop import (
    Data,
    FixedData,
    Objective,
    Schedule,
    Scheduled,
    fit,
    pick_device,
    write_fit,
)

logger = logging.getLogger(__name__)

LIMIT = 0.999  # a tanh reaches no further without its gradient vanishing


@dataclass(frozen=True)
class Settings:
    """What a training depends on besides data, model, K and seed.

    Attributes:
        epochs: number of passes over the data.
        batch_size: rows of a step.
        learning_rate: of Adam, constant.
        widths: widths of the trunk's layers.
        beta: weight of the scores in the loss.
        score_reduction: how the loss of the scores goes over k.
        epochs_see: whether all epochs see the same rows, or each draws fresh ones.
        clouds: whether fresh rows come from the law frozen to as many points, see
            :meth:`vwta.paper.data.synthetic.Problem.frozen`.
        sharing: the `kind` of sharing a target among hypotheses, see
            :func:`vwta.nn.losses.wta`, and its parameters.
        start: whether hypotheses start where chance puts them, or spread over the targets.
        bins: `grid`, `low` and `high` of a :class:`~vwta.nn.networks.HistogramNetwork`; None for
            other models.
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
    start: Literal["default", "spread"]
    bins: dict[str, Any] | None = None


@dataclass(frozen=True)
class Annealing:
    """Annealed WTA, with the temperature of each epoch, see :func:`vwta.nn.losses.temperature`."""

    plain: Callable[..., Tensor]
    initial: float
    decay: float
    lowest: float

    def at(self, epoch: int) -> Objective:
        value = losses.temperature(epoch, self.initial, self.decay, self.lowest)
        return partial(self.plain, sharing=partial(losses.annealed, temperature=value))


@dataclass(frozen=True)
class FreshData:
    """New rows for each epoch, drawn from the problem: as many as the fixed sets have."""

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


def train(
    dataset: str,
    constants: Mapping[str, Any],
    model: str,
    K: int,
    data: Path,
    outputs: Mapping[int, Path],
    settings: Settings,
    unfinished: Path,
    device: str,
    code: str,
) -> None:
    """Trains one network for each seed.

    Outputs hold the kept weights: `loss.*` with the lowest validation loss, for WTA networks also
    `distance.*` with the lowest distance to the winner; and the `curve` of each epoch's losses.

    Arguments:
        dataset: name of the problem.
        constants: the problem's constants.
        model: name of the model.
        K: number of atoms.
        data: file of the fixed sets.
        outputs: file of each seed.
        settings: the protocol.
        unfinished: folder for unfinished work.
        device: `auto`, `cpu` or `cuda`.
        code: digest of the code.
    """
    law = problem(dataset, **constants)
    sets, _ = read_tensors(data)
    where = pick_device(device)
    specification, loss, criteria = _recipe(model, K, settings)
    facts = {"dataset": dataset, "model": model, "K": K, "code": code, "data": sha256(data)}
    # The device is part of the name: it changes the bits.
    name = key(**facts, settings=asdict(settings), device=where.type)

    def make(seed: int, path: Path) -> None:
        logger.info("%s on %s, K=%d, seed %d, on %s", model, dataset, K, seed, where)
        network = initialise(specification, seed)
        if settings.start == "spread" and isinstance(network, WTANetwork):
            inside = sets["y_train"].clamp(-LIMIT, LIMIT)
            start_at(network.heads, k_means_plus_plus(inside, K, generator(seed, "start")))
        rows = _data(law, sets, settings, seed)
        schedule = Schedule(settings.epochs, settings.batch_size, settings.learning_rate)
        checkpoint = path.with_suffix(".checkpoint")
        done = fit(network, loss, criteria, rows, schedule, seed, where, checkpoint)
        record = provenance(
            **facts, seed=seed, device=where.type, seconds=done.seconds, settings=asdict(settings)
        )
        write_fit(path, done, {"network": specification, "provenance": record})

    in_chunks(outputs, make, unfinished / name)


def _recipe(
    model: str, K: int, settings: Settings
) -> tuple[dict[str, Any], Objective | Scheduled, dict[str, Objective]]:
    """How to build a model's network, its loss, and the criteria of the kept weights."""
    trunk = {"kind": model, "inputs": 1, "widths": settings.widths}
    points = {"outputs": 2, "bounded": True}
    reduction = settings.score_reduction
    match model:
        case "wta":
            wta = partial(losses.wta, beta=settings.beta, score_reduction=reduction)
            criteria: dict[str, Objective] = {"loss": wta, "distance": losses.winner_distance}
            return {**trunk, **points, "hypotheses": K}, _shared(wta, settings.sharing), criteria
        case "hist":
            scoring = partial(losses.scoring, score_reduction=reduction)
            return {**trunk, **_bins(settings, K)}, scoring, {"loss": scoring}
        case "mdn":
            mixture = losses.mixture
            return {**trunk, **points, "components": K}, mixture, {"loss": mixture}
    raise ValueError(f"unknown model {model!r}: expected wta, hist or mdn")


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


def _bins(settings: Settings, K: int) -> dict[str, Any]:
    bins = settings.bins or {}
    if math.prod(bins.get("grid", [])) != K:
        raise ValueError(f"bins {settings.bins}: a histogram with K={K} needs a grid of {K} bins")
    return bins


def _data(law: Problem, sets: Mapping[str, Tensor], settings: Settings, seed: int) -> Data:
    training, validation = ((sets[f"x_{s}"], sets[f"y_{s}"]) for s in ("train", "validation"))
    if settings.epochs_see == "the same rows":
        return FixedData(training, validation)
    return FreshData(law, len(training[0]), len(validation[0]), seed, settings.clouds)
