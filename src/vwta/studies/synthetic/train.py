"""Second stage: networks trained on a problem, one for each seed."""

from __future__ import annotations

__all__ = ["FreshData", "Settings", "initialise", "train"]

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from vwta import losses
from vwta.data.synthetic import Problem, inputs, problem
from vwta.networks import build
from vwta.provenance import provenance
from vwta.seeds import generator, stream
from vwta.storage import in_pieces, key, read_tensors, sha256, write_tensors
from vwta.training import Data, FixedData, Objective, Schedule, fit, pick_device

logger = logging.getLogger(__name__)


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
        kept_by: what the kept weights minimise on the validation rows: the loss, or the distance
            to the winner alone.
        epoch_data: whether all epochs see the same rows, or each draws fresh ones.
        bins: `grid`, `low` and `high` of a :class:`~vwta.networks.HistogramNetwork`; None for
            other models.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    widths: list[int]
    beta: float
    score_reduction: Literal["sum", "mean"]
    kept_by: Literal["loss", "distance"]
    epoch_data: Literal["fixed", "fresh"]
    bins: dict[str, Any] | None = None


@dataclass(frozen=True)
class FreshData:
    """New rows for each epoch, drawn from the problem: as many as the fixed sets have."""

    law: Problem
    rows: int
    held_out_rows: int
    seed: int

    def training(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self._draw("train", self.rows, epoch)

    def validation(self, epoch: int) -> tuple[Tensor, Tensor]:
        return self._draw("validation", self.held_out_rows, epoch)

    def _draw(self, split: str, n: int, epoch: int) -> tuple[Tensor, Tensor]:
        source = generator(self.seed, "rows", split, epoch)
        x = inputs(n, source)
        return x, self.law.sample(x, 1, source).squeeze(0)


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

    Each output holds the kept weights as `network.*` and the losses of each epoch as `curve`; its
    metadata say how to build the network.

    Arguments:
        dataset: name of the problem.
        constants: the problem's constants.
        model: name of the model.
        K: number of atoms.
        data: file of the fixed sets.
        outputs: file of each seed.
        settings: the protocol.
        unfinished: folder for the work of attempts that did not end.
        device: `auto`, `cpu` or `cuda`.
        code: digest of the code.
    """
    law = problem(dataset, **constants)
    sets, _ = read_tensors(data)
    where = pick_device(device)
    specification, loss, criterion = _recipe(model, K, settings)
    facts = {"dataset": dataset, "model": model, "K": K, "code": code, "data": sha256(data)}
    # The device is part of the name: it changes the bits.
    name = key(**facts, settings=asdict(settings), device=where.type)

    def make(seed: int, path: Path) -> None:
        logger.info("%s on %s, K=%d, seed %d, on %s", model, dataset, K, seed, where)
        network = initialise(specification, seed)
        rows = _data(law, sets, settings, seed)
        schedule = Schedule(settings.epochs, settings.batch_size, settings.learning_rate)
        checkpoint = path.with_suffix(".checkpoint")
        done = fit(network, loss, criterion, rows, schedule, seed, where, checkpoint)
        tensors = {f"network.{weight}": value for weight, value in done.weights.items()}
        record = provenance(
            **facts, seed=seed, device=where.type, seconds=done.seconds, settings=asdict(settings)
        )
        metadata = {
            "network": specification,
            "kept_epoch": done.kept_epoch,
            "provenance": record,
        }
        write_tensors(path, {**tensors, "curve": done.curve}, metadata)

    in_pieces(outputs, make, unfinished / name)


def initialise(specification: Mapping[str, Any], seed: int) -> torch.nn.Module:
    """Network with the initial weights of a seed, whatever the state of torch's own generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream(seed, "weights"))
        return build(**specification)


def _recipe(model: str, K: int, settings: Settings) -> tuple[dict[str, Any], Objective, Objective]:
    """How to build a model's network, its loss, and the criterion of the kept weights."""
    trunk = {"kind": model, "inputs": 1, "widths": settings.widths}
    points = {"outputs": 2, "bounded": True}
    reduction = settings.score_reduction
    match model:
        case "wta":
            wta = partial(losses.wta, beta=settings.beta, score_reduction=reduction)
            criterion = losses.winner_distance if settings.kept_by == "distance" else wta
            return {**trunk, **points, "hypotheses": K}, wta, criterion
        case "hist":
            scoring = partial(losses.scoring, score_reduction=reduction)
            return {**trunk, **_bins(settings, K)}, scoring, scoring
        case "mdn":
            return {**trunk, **points, "components": K}, losses.mixture, losses.mixture
    raise ValueError(f"unknown model {model!r}: expected wta, hist or mdn")


def _bins(settings: Settings, K: int) -> dict[str, Any]:
    bins = settings.bins or {}
    if math.prod(bins.get("grid", [])) != K:
        raise ValueError(f"bins {settings.bins}: a histogram with K={K} needs a grid of {K} bins")
    return bins


def _data(law: Problem, sets: Mapping[str, Tensor], settings: Settings, seed: int) -> Data:
    training, validation = ((sets[f"x_{s}"], sets[f"y_{s}"]) for s in ("train", "validation"))
    if settings.epoch_data == "fixed":
        return FixedData(training, validation)
    return FreshData(law, len(training[0]), len(validation[0]), seed)
