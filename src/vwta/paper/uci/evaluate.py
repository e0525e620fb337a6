"""Fourth stage: metrics of the estimators of all networks trained on a data set."""

from __future__ import annotations

__all__ = ["Settings", "evaluate"]

import logging
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vwta.distributions.calibration import coverage, crps, dequantised, pit, pit_deviation, step_of
from vwta.distributions.line import cdf
from vwta.distributions.odds import odds_of
from vwta.io.provenance import provenance
from vwta.io.storage import read_tensors, sha256, write_table
from vwta.paper.estimators import ESTIMATORS, measured_in
from vwta.paper.metrics import MetricsFile, nll, risk, rmse, tidy
from vwta.paper.searches import Chosen, read_chosen, read_record
from vwta.paper.uci.laws import Law, law_of, mean_of_atoms
from vwta.paper.uci.trained import Selection, Trained, is_finite, methods, space_of, trained
from vwta.training.stacking import Rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings(Selection):
    """How estimators of the UCI study are measured.

    Attributes:
        level: of the central intervals whose coverage is measured.
    """

    level: float


def evaluate(
    networks: Mapping[str, Sequence[Path]],
    data: Path,
    searches: Path,
    settings: Settings,
    output: MetricsFile,
    K: int,
) -> None:
    """Writes the tidy metrics of a UCI data set, at the bandwidths that were found for it.

    Arguments:
        networks: for each model the files of its splits, in their order.
        data: file of the data set.
        searches: table of :func:`vwta.paper.uci.tune.tune`.
        settings: how to measure.
        output: table to write, in original units but for `h`, which is in standardised ones, and
            for local kernels the factor on all bandwidths. Its metadata have the `costs` of each
            method in CPU seconds: `training` of a split, and `prediction` of 1,000 log-densities;
            each a mean over splits.
        K: number of atoms.
    """
    tensors, facts = read_tensors(data)
    step = step_of(tensors["target"]) if facts["discrete"] else None
    chosen = read_chosen(searches)
    rows: list[dict[str, Any]] = []
    seconds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    trainings = []
    for one in trained(networks, data, output.dataset, settings):
        record = one.metadata["provenance"]
        if one.split == 0:  # one job trains all splits
            trainings.append(_of_job(record, len(networks[one.model])))
        for row in _measure(one, chosen, step, settings):
            if "seconds" in row:
                training = record["cpu_seconds"] * row["share"]
                seconds[row["method"]].append((training, row["seconds"]))
            else:
                rows.append({"split": one.split, **row})
    common = {"protocol": output.protocol, "dataset": output.dataset}
    table = tidy(rows, study="uci", K=K, **common)
    facts = {"discrete": facts["discrete"], "costs": _costs(seconds), **common}
    known = {"tuning": read_record(searches), "trainings": trainings}
    made = provenance(code=output.code, data=sha256(data), **known)
    write_table(output.path, table, {"provenance": made, **facts})


def _costs(seconds: Mapping[str, Sequence[tuple[float, float]]]) -> dict[str, dict[str, float]]:
    """Mean CPU seconds of each method, from those of training and of prediction."""
    return {
        method: {
            "training": sum(training for training, _ in each) / len(each),
            "prediction": sum(prediction for _, prediction in each) / len(each),
        }
        for method, each in seconds.items()
    }


def _of_job(record: Mapping[str, Any], splits: int) -> dict[str, Any]:
    """The record of a job that trains all splits, from that of one split."""
    shared = {name: value for name, value in record.items() if name != "split"}
    return {**shared, "cpu_seconds": splits * record["cpu_seconds"]}


@torch.no_grad()
def _measure(
    one: Trained,
    chosen: Mapping[tuple[Any, ...], Chosen],
    step: float | None,
    settings: Settings,
) -> Iterator[dict[str, Any]]:
    """Rows of metrics of all methods of the networks of a split.

    Rows of a network have its seed, those of an ensemble the first one. Bandwidths `chosen` are
    those of method, seed and split.
    """
    kind, test, deviation = one.metadata["network"]["kind"], one.rows.test, one.rows.scale
    for method, part in methods(kind, len(one.final), settings.ensembles):
        tested, networks = one.final[part], [*one.validated[part], *one.final[part]]
        common = {"method": method, "seed": settings.seed + part.start}
        if not all(map(is_finite, networks)):
            logger.warning("%s: weights are not finite, so its metrics are not either", method)
            for metric in ("nll", "rmse"):
                yield {**common, "metric": metric, "value": math.nan, "n": len(test.y)}
            continue
        space = space_of(one.rows, networks, settings.domain)
        searched = ESTIMATORS[method].swept or ESTIMATORS[method].adjusted
        h = chosen[(*common.values(), one.split)].h if searched else None
        law = law_of(method, tested, test.x, space, h)
        of_law = ESTIMATORS[method].kernel in ("law", "local")
        mean = law.mean if of_law else mean_of_atoms(tested, test.x)
        for row in _rows(law, mean, test.y, deviation, step, settings.level):
            yield {**common, "h": h, "tuned": h is not None, "n": len(test.y), **row}
        if len(tested) == 1:
            for row in _odds(law, tested[0], test):
                yield {**common, "h": h, "tuned": h is not None, **row}
        begun = time.process_time()
        law_of(method, tested, test.x, space, h).log_prob(test.y)
        taken = 1000 / len(test.y) * (time.process_time() - begun)
        yield {**common, "share": len(tested) / len(one.final), "seconds": taken}
    yield from _risks(one.final, test, deviation, kind, settings.seed)
    own = ("local", "own", "law")
    if any(recipe.kernel in own for recipe in measured_in("uci", kind).values()):
        diverged = sum(epoch > 0 for epoch in one.metadata["diverged"])
        count = len(one.metadata["diverged"])
        common = {"method": kind, "seed": settings.seed}
        yield {**common, "metric": "diverged", "value": diverged, "n": count}


def _odds(law: Law, network: nn.Module, test: Rows) -> Iterator[dict[str, Any]]:
    """How far the law's masses of the cells of a network's atoms are from how often they win."""
    points = getattr(network(test.x), "points", None)
    if points is None or points.shape[1] == 1:
        return
    atoms = points[..., 0].sort(-1).values
    borders = (atoms[:, 1:] + atoms[:, :-1]) / 2
    below = cdf(law, borders.T).T
    ends = [torch.zeros_like(below[:, :1]), below, torch.ones_like(below[:, :1])]
    masses = torch.cat(ends, -1).diff()
    winner = torch.searchsorted(borders, test.y)
    won = winner == torch.arange(points.shape[1], device=winner.device)
    predicted, event = (each.flatten().cpu().numpy() for each in (masses, won))
    yield {"metric": "odds", "value": odds_of(predicted, event).error, "n": len(test.y)}


def _risks(
    networks: Sequence[nn.Module], test: Rows, deviation: float, kind: str, seed: int
) -> Iterator[dict[str, Any]]:
    """Quantisation risk of each network that has atoms, in original units."""
    for restart, network in enumerate(networks):
        points = getattr(network(test.x), "points", None)
        if points is not None and is_finite(network):
            value = deviation**2 * risk(points, test.y)
            common = {"method": kind, "seed": seed + restart}
            yield {**common, "metric": "risk", "value": value, "n": len(test.y)}


def _rows(
    law: Law, mean: Tensor, y: Tensor, deviation: float, step: float | None, level: float
) -> Iterator[dict[str, Any]]:
    """Metrics of the test rows, in original units."""
    shift = math.log(deviation)
    values = pit(law, y)
    yield {"metric": "nll", "value": nll(law.log_prob(y)) + shift}
    yield {"metric": "rmse", "value": deviation * rmse(mean, y)}
    yield {"metric": "crps", "value": deviation * crps(law, y).mean().item()}
    yield {"metric": f"coverage{round(100 * level)}", "value": coverage(values, level)}
    yield {"metric": "pit", "value": pit_deviation(values)}
    if step is not None:
        smooth = dequantised(law, y, step / deviation)
        yield {"metric": "nll_dequantised", "value": nll(smooth) + shift}
