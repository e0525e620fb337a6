"""Third stage: trainings of one model and one K, one network for each seed."""

from __future__ import annotations

__all__ = ["Settings", "train", "train_any"]

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from vwta.geometry.grids import bin_directions
from vwta.io.storage import key, sha256
from vwta.nn import losses
from vwta.paper.audio import unstable
from vwta.paper.audio.frames import AudioData, active, labels_of, read_fold
from vwta.paper.audio.networks import NETWORKS, build
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.signed import SIGNED
from vwta.paper.audio.spectrograms import FEATURES, FRAMES
from vwta.paper.audio.symmetries import AugmentedData
from vwta.paper.registry import Loss, Training, named
from vwta.paper.training import Job, Recipe, taken, train_seeds
from vwta.training.loop import Objective, Schedule


@dataclass(frozen=True)
class Settings:
    """Parameters of a training of the audio study besides data, model, K and seed.

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
        augmented: whether each chunk of an epoch is seen under a random symmetry, see
            :mod:`vwta.paper.audio.symmetries`.
        signed: arguments of :class:`vwta.paper.audio.signed.SignedChannels` if networks see signed
            channels, None if they see magnitudes and phases.
        local: of networks with local kernels, `log_scale` to start from, the weight `distance` of
            the squared distance in the loss, and `clip`, the largest norm of a gradient.
        likelihood: of mixtures: one of the published formulas, with which a training that diverges
            ends, see :mod:`vwta.paper.audio.unstable`; None for a form that does neither overflow
            nor cancel.
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
    augmented: bool | None = None
    signed: dict[str, Any] | None = None
    local: dict[str, float] | None = None
    likelihood: unstable.Formula | None = None


def train(job: Job, folds: Mapping[str, Sequence[Path]], settings: Settings) -> None:
    """Trains audio networks, one for each seed, see :func:`vwta.paper.training.train_seeds`.

    Arguments:
        job: what to train.
        folds: files of features of `train` and `validation`.
        settings: the protocol and the sizes.
    """
    if settings.likelihood is None:
        train_any(job, folds, settings, NETWORKS, losses)
    else:
        train_any(job, folds, settings, NETWORKS, unstable, unstable.train_while_finite)


def train_any(
    job: Job,
    folds: Mapping[str, Sequence[Path]],
    settings: Settings,
    table: Mapping[str, Training],
    functions: ModuleType,
    train_all: Callable[..., None] = train_seeds,
) -> None:
    """:func:`train` for networks of some table, whose losses are functions of a module.

    What trains the networks of all seeds may be another function than
    :func:`vwta.paper.training.train_seeds`.
    """
    training, held_out = (read_fold(folds[name]) for name in ("train", "validation"))
    bands = training.features[0:1].shape[-1]
    recipe = _recipe(named(job.model, table), functions, job, bands, settings)
    labels = {labels_of(file) for name in ("train", "validation") for file in folds[name]}
    data = key(labels=[sha256(file) for file in sorted(labels)])
    schedule = Schedule(
        settings.epochs,
        settings.batch_size,
        settings.learning_rate,
        settings.warm_up,
        validation_rows=settings.batch_size,
        clip=(settings.local or {}).get("clip", 0.0) if job.model == "local" else 0.0,
    )
    noise = Perturbation(settings.noise)

    def rows(seed: int) -> AudioData:
        kind = AugmentedData if settings.augmented else AudioData
        return kind(training, held_out, noise, seed, settings.validation)

    making = partial(build, table=table)
    train_all(job, job.begin(data, asdict(settings)), recipe, making, rows, schedule)


def _recipe(
    training: Training, functions: ModuleType, job: Job, bands: int, settings: Settings
) -> Recipe:
    """How to build a model's network, its loss, and the criteria of early stopping."""
    K, local = job.K, settings.local or {}
    channels = FEATURES if settings.signed is None else SIGNED
    trunk = {"channels": channels, "frames": FRAMES, "bands": bands, **settings.trunk}
    heads: dict[str, Any] = {"hypotheses": K, "components": K if settings.modes == "each" else 1}
    heads |= {name: local[name] for name in local if name == "log_scale"}
    if training.fixed:
        heads["centres"] = bin_directions(*(settings.grid or [])).tolist()
    specification = {"kind": job.model, **trunk, **taken(training.network, heads)}
    if settings.signed is not None:
        specification["signed"] = settings.signed
    offered: dict[str, Any] = {"beta": settings.beta, "likelihood": settings.likelihood, **local}
    offered["score_reduction"] = settings.score_reduction
    plain, others = training.functions(functions)
    loss = _active(partial(plain, **taken(plain, offered)))
    criteria = {name: _active(criterion) for name, criterion in others.items()}
    return Recipe(specification, loss, {"loss": loss, **criteria})


def _active(loss: Loss) -> Objective:
    """The loss of those targets that there are."""
    return lambda out, y: loss(out, y, active=active(y))
