"""Second stage: all networks of a set and a model, trained side by side."""

from __future__ import annotations

__all__ = ["Settings", "train"]

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from vwta import losses
from vwta.data.uci import official_splits
from vwta.networks import initialise
from vwta.provenance import provenance
from vwta.seeds import stream
from vwta.stacking import Plan, Rows, StackedFit, fit_stacked, unstack
from vwta.storage import in_pieces, key, read_tensors, sha256, write_tensors
from vwta.studies.uci.rows import Division, divide
from vwta.training import Objective, pick_device

logger = logging.getLogger(__name__)

PUBLISHED_DIMENSION = 2  # of the normaliser in the published mixture loss, whatever the targets'


@dataclass(frozen=True)
class Settings:
    """What trainings depend on besides data, model and K.

    Attributes:
        plan: the fields of :class:`vwta.stacking.Plan`.
        widths: widths of the trunk's layers.
        restarts: networks for each split, which differ in their seed.
        seed: seed of the choice of validation rows and of the networks.
        held_out: part of the training rows to validate on; None to validate on the test rows.
        beta: weight of the scores in the WTA loss.
        score_reduction: how the loss of the scores goes over k; with `softmax` they are one.
        mixture_loss: the negative log-likelihood, or the published one with a wrong normaliser.
        kept: the weights with the lowest validation loss, or those after the last epoch.
        retrained: whether networks are trained anew on all training rows, for as many epochs, to be
            tested in place of those that were validated.
        bins: `low` and `high` of the histogram's K bins.
    """

    plan: dict[str, Any]
    widths: list[int]
    restarts: int
    seed: int
    held_out: float | None
    beta: float
    score_reduction: Literal["sum", "mean", "softmax"]
    mixture_loss: Literal["exact", "published"]
    kept: Literal["lowest loss", "last"]
    retrained: bool
    bins: dict[str, float]


def train(
    dataset: str,
    model: str,
    K: int,
    data: Path,
    outputs: Mapping[int, Path],
    settings: Settings,
    unfinished: Path,
    device: str,
    code: str,
) -> None:
    """Trains the networks of all splits as one tensor program, a restart after the other.

    The output of a split holds for each restart r the kept weights `validated.r.*`, the curve
    `curve.r` of the validation loss and, if networks are trained anew on all training rows, their
    weights `final.r.*`.

    Arguments:
        dataset: name of the set.
        model: name of the model.
        K: number of atoms.
        data: file of the set.
        outputs: file of each split, numbered from 0.
        settings: the protocol.
        unfinished: folder for unfinished work.
        device: `auto`, `cpu` or `cuda`.
        code: digest of the code.
    """
    tensors, _ = read_tensors(data)
    where = pick_device(device)
    facts = {"dataset": dataset, "model": model, "K": K, "code": code, "data": sha256(data)}
    folder = unfinished / key(**facts, settings=asdict(settings), device=where.type)
    splits = official_splits(dataset, len(tensors["target"]), len(outputs))
    parts = divide(tensors["inputs"], tensors["target"], splits, settings.held_out, settings.seed)
    specification = _specification(model, tensors["inputs"].shape[1], K, settings)
    fits = _fit_all(specification, _loss(model, settings), parts, settings, where, folder)

    def make(split: int, path: Path) -> None:
        record = provenance(
            **facts,
            split=split,
            seed=settings.seed,
            device=where.type,
            stack=len(outputs),
            cpu_seconds=round(time.process_time() / len(outputs), 1),  # its share of the job
            seconds=sum(done.seconds for stage in fits.values() for done in stage),
            settings=asdict(settings),
        )
        tensors, kept = _of_split(fits, split, settings.kept)
        write_tensors(path, tensors, {"network": specification, **kept, "provenance": record})

    in_pieces(outputs, make, folder)


def _fit_all(
    specification: Mapping[str, Any],
    loss: Objective,
    parts: Division,
    settings: Settings,
    device: torch.device,
    folder: Path,
) -> dict[str, list[StackedFit]]:
    """Trainings of all splits, for each stage a list of restarts."""
    stages = {"validated": parts.train}
    if settings.retrained:
        stages["final"] = parts.whole
    held_out, fits = _on(parts.validation, device), defaultdict(list)
    for stage, rows in stages.items():
        for restart in range(settings.restarts):
            logger.info("%s, restart %d of %d", stage, restart + 1, settings.restarts)
            splits = range(len(parts.scale))
            seeds = [stream(settings.seed, "network", split, restart) for split in splits]
            done = fit_stacked(
                [initialise(specification, seed) for seed in seeds],
                loss,
                {"loss": loss},
                _on(rows, device),
                held_out,
                Plan(**settings.plan),
                seeds,
                folder / f"{stage}{restart}.checkpoint",
            )
            fits[stage].append(done)
    return dict(fits)


def _of_split(
    fits: Mapping[str, Sequence[StackedFit]], place: int, kept: str
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Weights and curves of one network of each stack, and what else is to be known of them."""
    tensors: dict[str, Tensor] = {}
    for stage, stacks in fits.items():
        for restart, done in enumerate(stacks):
            weights = unstack(done.last if kept == "last" else done.weights["loss"], place)
            tensors |= {f"{stage}.{restart}.{name}": value for name, value in weights.items()}
    validated = fits["validated"]
    for restart, done in enumerate(validated):
        tensors[f"curve.{restart}"] = done.curves["loss"][:, place]
    return tensors, {
        "stages": list(fits),
        "restarts": len(validated),
        "lowest": [int(done.epochs["loss"][place]) for done in validated],
        "diverged": [int(done.diverged[place]) for done in validated],
    }


def _specification(model: str, inputs: int, K: int, settings: Settings) -> dict[str, Any]:
    """How to build a model's network."""
    trunk = {"kind": model, "inputs": inputs, "widths": settings.widths}
    scores = {"scores": "softmax" if settings.score_reduction == "softmax" else "sigmoid"}
    match model:
        case "wta":
            return {**trunk, **scores, "outputs": 1, "bounded": False, "hypotheses": K}
        case "hist":
            low, high = settings.bins["low"], settings.bins["high"]
            return {**trunk, **scores, "grid": [K], "low": [low], "high": [high]}
        case "mdn":
            return {**trunk, "outputs": 1, "bounded": False, "components": K}
    raise ValueError(f"unknown model {model!r}: expected wta, hist or mdn")


def _loss(model: str, settings: Settings) -> Objective:
    reduction = settings.score_reduction
    match model:
        case "wta":
            return partial(losses.wta, beta=settings.beta, score_reduction=reduction)
        case "hist":
            return partial(losses.scoring, score_reduction=reduction)
        case _:
            dimension = PUBLISHED_DIMENSION if settings.mixture_loss == "published" else None
            return partial(losses.mixture, dimension=dimension)


def _on(rows: Rows, device: torch.device) -> Rows:
    return Rows(*(part.to(device, torch.float32) for part in rows))
