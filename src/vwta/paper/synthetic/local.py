"""Second stage, for networks with local kernels: trained by the exact likelihood in the domain."""

from __future__ import annotations

__all__ = ["Settings", "train"]

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors, sha256
from vwta.nn.densities import Background
from vwta.nn.losses import winner_distance
from vwta.paper import local
from vwta.paper.registry import named
from vwta.paper.synthetic.train import train_stack
from vwta.paper.training import Job, Recipe, taken
from vwta.training.loop import FixedData
from vwta.training.stacking import Plan, Rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """Parameters of a training of local kernels in the synthetic study, besides data, K and seed.

    Attributes:
        plan: the fields of :class:`vwta.training.stacking.Plan`.
        widths: widths of the trunk's layers.
        form: see :class:`vwta.nn.local.LocalHead`.
        log_scale: log-width to start from.
        distance: weight of the squared distance to the winner in the loss.
        background: `share` and `h` of :class:`vwta.nn.densities.Background`; None for none.
        low: lower corner of the domain.
        high: upper corner.
        covariance: whether kernels have any covariance, or are isotropic.
    """

    plan: dict[str, Any]
    widths: list[int]
    form: str
    log_scale: float
    distance: float
    background: dict[str, float] | None
    low: list[float]
    high: list[float]
    covariance: bool


def train(job: Job, data: Path, settings: Settings) -> None:
    """Trains synthetic networks with local kernels, those of all seeds as one stack.

    Rows outside the domain have no likelihood there, as in the evaluation, and are left out.

    Arguments:
        job: what to train.
        data: file of the fixed data set.
        settings: the protocol.
    """
    tensors, _ = read_tensors(data)
    box, count = Box(settings.low, settings.high), len(job.outputs)
    training, validation = (
        Rows(*(part.expand(count, -1, -1) for part in _inside(tensors, split, box)))
        for split in ("train", "validation")
    )
    run = job.begin(sha256(data), asdict(settings))
    plan = Plan(**settings.plan)
    recipe = _recipe(job.model, job.K, settings, box.on(run.device))
    train_stack(job, run, recipe, FixedData(training, validation), plan, local.build)


def _inside(tensors: Mapping[str, Tensor], split: str, box: Box) -> tuple[Tensor, Tensor]:
    """Inputs and targets of the rows whose target lies in the domain."""
    x, y = tensors[f"x_{split}"], tensors[f"y_{split}"]
    inside = box.contains(y)
    logger.info("%s: %d of %d rows lie in the domain", split, int(inside.sum()), len(y))
    return x[inside], y[inside]


def _recipe(model: str, K: int, settings: Settings, box: Box) -> Recipe:
    """How to build the network, its loss, and the criteria of early stopping."""
    training = named(model, local.NETWORKS)
    wide = settings.background
    sizes = {"inputs": 1, "widths": settings.widths, "outputs": len(settings.low)}
    sizes |= {"hypotheses": K, "form": settings.form, "log_scale": settings.log_scale}
    sizes["covariance"] = settings.covariance
    background = None if wide is None else Background(**wide)
    offered = {"space": box, "distance": settings.distance, "background": background}
    plain, others = training.functions(local)
    loss = partial(plain, **taken(plain, offered))
    criteria = {name: partial(other, **taken(other, offered)) for name, other in others.items()}
    specification = {"kind": model, **sizes, "bounded": True, "background": wide}
    # The loss is a sum of both, and its likelihood would be computed once more.
    return Recipe(specification, loss, {**criteria, "distance": winner_distance})
