"""Third stage: trainings of one model and one K, one network for each seed."""

from __future__ import annotations

__all__ = ["Settings", "train"]

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from vwta.io.provenance import provenance
from vwta.io.storage import in_chunks, key, sha256
from vwta.nn import losses
from vwta.nn.networks import initialise
from vwta.nn.seldnet import bin_directions, build
from vwta.paper.audio.frames import AudioData, active, labels_of, read_fold
from vwta.paper.data.perturbation import Perturbation
from vwta.paper.data.spectrograms import FEATURES, FRAMES
from vwta.training.loop import Objective, Schedule, fit, pick_device, write_fit

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What a training depends on besides data, model, K and seed.

    Attributes:
        epochs: number of passes over the data.
        batch_size: chunks of a step.
        learning_rate: scale of the rate, see :class:`vwta.training.loop.Schedule`.
        warm_up: epochs until the rate is highest.
        trunk: `filters`, `pools`, `width` and `layers` of :class:`vwta.nn.seldnet.SELDnet`.
        noise: standard deviation on the angles of targets, in degrees, by class.
        grid: azimuths and elevations of a histogram; None for other models.
        beta: weight of the scores in the loss.
        score_reduction: how the loss of the scores goes over k.
        validation: whether validation targets are noised.
        modes: whether a mixture has K components, or a single one.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    warm_up: int
    trunk: dict[str, Any]
    noise: dict[str, float]
    grid: list[int] | None
    beta: float
    score_reduction: Literal["sum", "mean"]
    validation: Literal["noised", "clean"]
    modes: Literal["each", "single"]


def train(
    dataset: str,
    model: str,
    K: int,
    folds: Mapping[str, Sequence[Path]],
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
        dataset: where the scenes come from.
        model: `wta`, `hist` or `m_vmf`.
        K: number of atoms.
        folds: files of features of `train` and `validation`.
        outputs: file of each seed.
        settings: the protocol and the sizes.
        unfinished: folder for unfinished work.
        device: `auto`, `cpu` or `cuda`.
        code: digest of the code.
    """
    training, held_out = (read_fold(folds[name]) for name in ("train", "validation"))
    where = pick_device(device)
    bands = training.features[0:1].shape[-1]
    specification, loss, criteria = _recipe(model, K, bands, settings)
    labels = {labels_of(file) for name in ("train", "validation") for file in folds[name]}
    data = key(labels=[sha256(file) for file in sorted(labels)])
    facts = {"dataset": dataset, "model": model, "K": K, "code": code, "data": data}
    # The device is part of the name: it changes the bits.
    name = key(**facts, settings=asdict(settings), device=where.type)
    schedule = Schedule(
        settings.epochs,
        settings.batch_size,
        settings.learning_rate,
        settings.warm_up,
        validation_rows=settings.batch_size,
    )
    noise = Perturbation(settings.noise)

    def make(seed: int, path: Path) -> None:
        logger.info("%s on %s, K=%d, seed %d, on %s", model, dataset, K, seed, where)
        network = initialise(specification, seed, build)
        rows = AudioData(training, held_out, noise, seed, settings.validation)
        checkpoint = path.with_suffix(".checkpoint")
        done = fit(network, loss, criteria, rows, schedule, seed, where, checkpoint)
        record = provenance(
            **facts, seed=seed, device=where.type, seconds=done.seconds, settings=asdict(settings)
        )
        write_fit(path, done, {"network": specification, "provenance": record})

    in_chunks(outputs, make, unfinished / name)


def _recipe(
    model: str, K: int, bands: int, settings: Settings
) -> tuple[dict[str, Any], Objective, dict[str, Objective]]:
    """How to build a model's network, its loss, and the criteria of the kept weights."""
    sizes = {"channels": FEATURES, "frames": FRAMES, "bands": bands}
    trunk = {"kind": model, **sizes, **settings.trunk}
    reduction = settings.score_reduction
    match model:
        case "wta":
            wta = _active(partial(losses.sphere_wta, beta=settings.beta, score_reduction=reduction))
            criteria = {"loss": wta, "distance": _active(losses.sphere_winner_distance)}
            return {**trunk, "hypotheses": K}, wta, criteria
        case "hist":
            scoring = _active(partial(losses.sphere_scoring, score_reduction=reduction))
            centres = bin_directions(*(settings.grid or [])).tolist()
            return {**trunk, "centres": centres}, scoring, {"loss": scoring}
        case "m_vmf":
            mixture = _active(losses.sphere_mixture)
            modes = K if settings.modes == "each" else 1
            return {**trunk, "components": modes}, mixture, {"loss": mixture}
    raise ValueError(f"unknown model {model!r}: expected wta, hist or m_vmf")


def _active(loss: Callable[..., Tensor]) -> Objective:
    """The loss of those targets that there are."""
    return lambda out, y: loss(out, y, active=active(y))
