"""Second stage: all networks of a data set and a model, trained side by side."""

from __future__ import annotations

__all__ = ["Settings", "train"]

import logging
import math
import time
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from vwta.io.storage import in_chunks, read_tensors, sha256, write_tensors
from vwta.nn.densities import Background
from vwta.nn.networks import initialise
from vwta.nn.stacks import unstack
from vwta.paper.registry import Loss
from vwta.paper.training import Job, taken
from vwta.paper.uci import losses
from vwta.paper.uci.boosting import Boosting, Sizes
from vwta.paper.uci.choice import LINE, choose
from vwta.paper.uci.datasets import official_splits
from vwta.paper.uci.networks import build, entry
from vwta.paper.uci.splits import Division, divide
from vwta.seeds import stream
from vwta.training.loop import FixedData, Objective
from vwta.training.stacking import Plan, Rows, StackedFit, fit_stacked

logger = logging.getLogger(__name__)

LAST = "last"  # weights that no criterion selects
BOOSTED = "ngboost"  # the model that is no network
SIZES = ("form", "background", "bins")  # arguments of networks among settings of their own
PUBLISHED_DIMENSION = 2  # of the normaliser in the published mixture loss, whatever the targets'


@dataclass(frozen=True)
class Settings:
    """Parameters of trainings of the UCI study besides data, model and K.

    Attributes:
        plan: the fields of :class:`vwta.training.stacking.Plan`.
        steps: at most so many steps are taken, in whole epochs; None for no such limit.
        widths: widths of the trunk's layers.
        restarts: networks for each split, of those that may be ensembled. They differ in their
            seeds, which are `seed`, `seed` + 1 and so on.
        seed: seed of the choice of validation rows and of the first networks.
        held_out: part of the training rows to validate on; None to validate on the test rows.
        betas: weights of the scores in the WTA loss that are tried; each split takes the one with
            the lowest validation NLL.
        score_reduction: how the loss of the scores goes over k; with `softmax` they are one.
        mixture_loss: the negative log-likelihood, or the published one with a wrong normaliser.
        selected_by: the weights of WTA networks that are taken: those with the lowest validation
            loss, or the lowest distance to the winner, or the last ones. The loss selects those of
            other networks, and the likelihood those with local kernels.
        retrained: whether networks are trained again on all training rows, for as many epochs as
            those that are selected were, to be tested in their place.
        bins: `low` and `high` of the histogram's K bins.
        own: settings that only this model has: the number of `bins` of a flow's spline; the fields
            of :class:`vwta.paper.uci.boosting.Sizes`; or `form`, `distance` and `background` of
            local kernels, see :func:`vwta.nn.densities.local`, and fields of their `plan`.
        weight_decays: those that are tried for networks whose scores have no weight to try; none
            for that of the plan alone.
    """

    plan: dict[str, Any]
    steps: int | None
    widths: list[int]
    restarts: int
    seed: int
    held_out: float | None
    betas: list[float]
    score_reduction: Literal["sum", "mean", "softmax"]
    mixture_loss: Literal["exact", "published"]
    selected_by: Literal["loss", "distance", "last"]
    retrained: bool
    bins: dict[str, float]
    own: dict[str, Any] = field(default_factory=dict)
    weight_decays: list[float] | None = None


def train(job: Job, data: Path, settings: Settings) -> None:
    """Trains the UCI networks of all splits as one tensor program, a restart after the other.

    The output of a split holds for each restart r the weights that each criterion c selects,
    `c.r.*`, the last ones, `last.r.*`, the curves `curve.c.r` of the criteria on the validation
    rows and, if networks are trained again on all training rows, their weights `final.r.*`.

    Arguments:
        job: what to train.
        data: file of the data set.
        settings: the protocol.
    """
    tensors, _ = read_tensors(data)
    run, count = job.begin(sha256(data), asdict(settings)), len(job.outputs)
    splits = official_splits(job.dataset, len(tensors["target"]), count)
    parts = divide(tensors["inputs"], tensors["target"], splits, settings.held_out, settings.seed)
    logger.info("%s on %s, %d splits, on %s", job.model, job.dataset, count, run.device)
    trainings: _Trainings | Boosting
    if job.model == BOOSTED:
        sizes = Sizes(**settings.own)
        trainings = Boosting(parts, sizes, settings.retrained, settings.seed)
    else:
        trainings = _Trainings(job, parts, settings, run.device, run.folder)
        trainings.run()
    shared = time.process_time() / count  # by all splits

    def make(split: int, path: Path) -> None:
        begun = time.process_time()
        tensors, found = trainings.of_split(split)
        share = round(shared + time.process_time() - begun, 1)
        record = run.record(split=split, seed=settings.seed, stack=count, cpu_seconds=share)
        write_tensors(path, tensors, {**found, "provenance": record})

    in_chunks(job.outputs, make, run.folder)


class _Candidate(NamedTuple):
    """A way to train: the weight of the scores, and that of the decay."""

    beta: float
    weight_decay: float


class _Trainings:
    """The trainings of all S splits: candidates, the choice among them, and the final ones."""

    def __init__(
        self,
        job: Job,
        parts: Division,
        settings: Settings,
        device: torch.device,
        folder: Path,
    ) -> None:
        self.parts, self.settings = parts, settings
        self.device, self.folder = device, folder
        training = entry(job.model)
        self.loss, criteria = training.functions(losses)
        nothing = torch.empty(0, device=device)  # criteria do not weigh scores
        self.criteria = {name: _set(other, settings, nothing) for name, other in criteria.items()}
        self.selected = training.criterion(settings.selected_by)
        self.splits = range(len(parts.scale))
        self.restarts = range(settings.restarts if training.ensembled else 1)
        sizes = _sizes(parts.inputs.shape[1], job.K, settings)
        sizes |= training.sizes
        self.plan = _plan(settings, rows=parts.train_rows.shape[1])
        self.network = {"kind": job.model, **taken(training.network, sizes)}
        self.candidates = _candidates(self.loss, settings, self.plan.weight_decay)
        self.held_out = _on(parts.validation, device)
        self.fits: list[list[StackedFit]] = []  # of each candidate, its restarts
        self.chosen = [0 for _ in self.splits]
        self.final: dict[int, list[dict[str, Tensor]]] = {split: [] for split in self.splits}
        self.final_diverged: dict[int, list[int]] = {split: [] for split in self.splits}

    def run(self) -> None:
        """Trains everything."""
        rows, every = _on(self.parts.train, self.device), list(self.splits)
        for candidate in self.candidates:
            name = _name(candidate)
            self.fits.append([self._fit(name, rows, candidate, every, r) for r in self.restarts])
        if len(self.candidates) > 1:
            self.chosen = [self._choose(split) for split in self.splits]
        if self.settings.retrained:
            self._retrain(_on(self.parts.whole, self.device))

    def of_split(self, split: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Weights and curves of a split, and what else is to be known of them."""
        candidate, fits = self.candidates[self.chosen[split]], self.fits[self.chosen[split]]
        tensors: dict[str, Tensor] = {}
        for restart, done in enumerate(fits):
            for selection, weights in {**done.weights, LAST: done.last}.items():
                for name, value in unstack(weights, split).items():
                    tensors[f"{selection}.{restart}.{name}"] = value
            for criterion, curve in done.curves.items():
                tensors[f"curve.{criterion}.{restart}"] = curve[:, split]
        for restart, final in enumerate(self.final[split]):
            for name, value in final.items():
                tensors[f"final.{restart}.{name}"] = value
        return tensors, {
            "network": self.network,
            "selected": self.selected,
            "retrained": bool(self.final[split]),
            "restarts": len(fits),
            "beta": candidate.beta,
            "weight_decay": candidate.weight_decay,
            "epochs": {
                criterion: [int(done.epochs[criterion][split]) for done in fits]
                for criterion in fits[0].epochs
            },
            "diverged": [int(done.diverged[split]) for done in fits] + self.final_diverged[split],
        }

    def _retrain(self, rows: Rows) -> None:
        """Trains the chosen candidates on all rows; networks of one weight decay are one stack."""
        decays = [self.candidates[choice].weight_decay for choice in self.chosen]
        for number, decay in enumerate(dict.fromkeys(decays)):
            splits = [split for split in self.splits if decays[split] == decay]
            name = "final" if len(splits) == len(decays) else f"final{number}"
            for restart in self.restarts:
                done = self._fit(name, rows, None, splits, restart, self._stops(restart, splits))
                for place, split in enumerate(splits):
                    self.final[split].append(unstack(done.last, place))
                    self.final_diverged[split].append(int(done.diverged[place]))

    def _fit(
        self,
        name: str,
        rows: Rows,
        candidate: _Candidate | None,
        splits: list[int],
        restart: int,
        stops: Tensor | None = None,
    ) -> StackedFit:
        """Trains a stack of networks of some splits: a candidate, or what each split chose."""
        logger.info("%s, restart %d of %d", name, restart + 1, len(self.restarts))
        seeds = [stream(self.settings.seed + restart, "network", split) for split in splits]
        ways = [candidate or self.candidates[self.chosen[split]] for split in splits]
        betas = torch.tensor([[way.beta] for way in ways])
        loss = _set(self.loss, self.settings, betas.to(self.device))
        return fit_stacked(
            [initialise(self.network, seed, build) for seed in seeds],
            loss,
            {"loss": loss, **self.criteria},
            FixedData(_of(rows, splits), _of(self.held_out, splits)),
            replace(self.plan, weight_decay=ways[0].weight_decay),
            seeds,
            self.device,
            self.folder / f"{name}_{restart}.checkpoint",
            stops,
        )

    def _choose(self, split: int) -> int:
        ways = [
            (self.network, [unstack(self._selected(done), split) for done in fits])
            for fits in self.fits
        ]
        x, y = (part[split] for part in self.parts.validation)
        return choose(ways, x, y)

    def _selected(self, done: StackedFit) -> dict[str, Tensor]:
        return done.last if self.selected == LAST else done.weights[self.selected]

    def _stops(self, restart: int, splits: list[int]) -> Tensor | None:
        """How long each split's selected network was trained; None if to the end."""
        if self.selected == LAST:
            return None
        epochs = [fits[restart].epochs[self.selected] for fits in self.fits]
        return torch.stack([epochs[self.chosen[split]][split] for split in splits])


def _candidates(loss: Loss, settings: Settings, weight_decay: float) -> list[_Candidate]:
    """What is tried: weights of the scores if a network has any, else weights of the decay."""
    beta = settings.betas[0]
    if taken(loss, {"beta": None}):
        return [_Candidate(beta, weight_decay) for beta in settings.betas]
    return [_Candidate(beta, decay) for decay in settings.weight_decays or [weight_decay]]


def _name(candidate: _Candidate) -> str:
    """Name of a candidate's checkpoint."""
    return f"beta{candidate.beta}_decay{candidate.weight_decay}"


def _of(rows: Rows, splits: list[int]) -> Rows:
    """Rows of some splits; no copy if they are all."""
    if len(splits) == len(rows.x):
        return rows
    return Rows(*(part[splits] for part in rows))


def _plan(settings: Settings, rows: int) -> Plan:
    """The plan, with as many epochs as the limit of steps allows, at least one."""
    plan = Plan(**{**settings.plan, **settings.own.get("plan", {})})
    if settings.steps is None:
        return plan
    whole = max(1, settings.steps // math.ceil(rows / plan.batch_size))
    return replace(plan, epochs=min(plan.epochs, whole))


def _sizes(inputs: int, K: int, settings: Settings) -> dict[str, Any]:
    """Arguments that any of the networks may need."""
    scores = "softmax" if settings.score_reduction == "softmax" else "sigmoid"
    bins = {"grid": [K], **{end: [settings.bins[end]] for end in ("low", "high")}}
    trunk = {"inputs": inputs, "widths": settings.widths, "scores": scores}
    own = {name: settings.own[name] for name in SIZES if name in settings.own}
    sizes = {"outputs": 1, "bounded": False, "hypotheses": K, "components": K}
    return {**trunk, **sizes, **bins, **own}


def _set(loss: Loss, settings: Settings, beta: Tensor) -> Objective:
    """A loss with its parameters; the weight of the scores broadcasts against rows."""
    dimension = PUBLISHED_DIMENSION if settings.mixture_loss == "published" else None
    offered: dict[str, Any] = {
        "beta": beta,
        "score_reduction": settings.score_reduction,
        "dimension": dimension,
    }
    if "distance" in settings.own:
        wide = settings.own["background"]
        offered |= {"space": LINE.on(beta.device), "distance": settings.own["distance"]}
        offered["background"] = None if wide is None else Background(**wide)
    return partial(loss, **taken(loss, offered))


def _on(rows: Rows, device: torch.device) -> Rows:
    return Rows(*(part.to(device, torch.float32) for part in rows))
