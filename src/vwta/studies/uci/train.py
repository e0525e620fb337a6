"""Second stage: all networks of a set and a model, trained side by side."""

from __future__ import annotations

__all__ = ["Settings", "train"]

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from vwta import losses
from vwta.data.uci import official_splits
from vwta.networks import build
from vwta.provenance import provenance
from vwta.seeds import stream
from vwta.stacking import Plan, Rows, StackedFit, fit_stacked, unstack
from vwta.storage import in_pieces, key, read_tensors, sha256, write_tensors
from vwta.studies.uci.rows import divide
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
        score_reduction: how the loss of the scores goes over k.
        mixture_loss: the negative log-likelihood, or the published one with a wrong normaliser.
        bins: `low` and `high` of the histogram's K bins.
    """

    plan: dict[str, Any]
    widths: list[int]
    restarts: int
    seed: int
    held_out: float | None
    beta: float
    score_reduction: Literal["sum", "mean"]
    mixture_loss: Literal["exact", "published"]
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

    The output of a split holds for each restart r the weights `r.*` kept by the lowest validation
    loss and the curve `curve.r` of that loss.

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
    training, held_out = (_on(rows, where) for rows in (parts.train, parts.validation))
    specification = _specification(model, tensors["inputs"].shape[1], K, settings)
    fits = []
    for restart in range(settings.restarts):
        logger.info("%s, %s, restart %d on %s", dataset, model, restart, where)
        seeds = [stream(settings.seed, "network", split, restart) for split in outputs]
        loss = _loss(model, settings)
        fits.append(
            fit_stacked(
                [_initialise(specification, seed) for seed in seeds],
                loss,
                {"loss": loss},
                training,
                held_out,
                Plan(**settings.plan),
                seeds,
                folder / f"restart{restart}.checkpoint",
            )
        )

    def make(split: int, path: Path) -> None:
        record = provenance(
            **facts,
            split=split,
            seed=settings.seed,
            device=where.type,
            stack=len(outputs),
            seconds=sum(done.seconds for done in fits),
            settings=asdict(settings),
        )
        tensors, kept = _of_split(fits, split)
        write_tensors(path, tensors, {"network": specification, **kept, "provenance": record})

    in_pieces(outputs, make, folder)


def _of_split(fits: Sequence[StackedFit], place: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Weights and curves of one network of each stack, and the epochs they were kept at."""
    tensors: dict[str, Tensor] = {}
    for restart, done in enumerate(fits):
        weights = unstack(done.weights["loss"], place)
        tensors |= {f"{restart}.{name}": value for name, value in weights.items()}
        tensors[f"curve.{restart}"] = done.curves["loss"][:, place]
    return tensors, {
        "kept": [int(done.epochs["loss"][place]) for done in fits],
        "diverged": [int(done.diverged[place]) for done in fits],
    }


def _specification(model: str, inputs: int, K: int, settings: Settings) -> dict[str, Any]:
    """How to build a model's network."""
    trunk = {"kind": model, "inputs": inputs, "widths": settings.widths}
    match model:
        case "wta":
            return {**trunk, "outputs": 1, "bounded": False, "hypotheses": K}
        case "hist":
            low, high = settings.bins["low"], settings.bins["high"]
            return {**trunk, "grid": [K], "low": [low], "high": [high]}
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


def _initialise(specification: Mapping[str, Any], seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream(seed, "weights"))
        return build(**specification)


def _on(rows: Rows, device: torch.device) -> Rows:
    return Rows(*(part.to(device, torch.float32) for part in rows))
