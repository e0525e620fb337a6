"""Third stage: bandwidths and metrics of the estimators of all networks trained on a data set."""

from __future__ import annotations

__all__ = ["SEARCH_COLUMNS", "Settings", "evaluate"]

import logging
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import torch
from torch import Tensor, nn

from vwta.distributions.calibration import coverage, crps, dequantised, pit, pit_deviation, step_of
from vwta.distributions.mixtures import KernelMixture
from vwta.distributions.transported import Transported
from vwta.geometry.spaces import Box
from vwta.io.errors import restored_from
from vwta.io.provenance import provenance
from vwta.io.storage import below, read_tensors, sha256, write_table
from vwta.nn.networks import restore
from vwta.paper.estimators import ESTIMATORS, measured_in
from vwta.paper.metrics import nll, risk, rmse, tidy
from vwta.paper.uci.choice import LINE
from vwta.paper.uci.datasets import official_splits
from vwta.paper.uci.laws import Law, law_of, mean_of_atoms
from vwta.paper.uci.networks import build, entry
from vwta.paper.uci.search import Found, Search, find, find_factor
from vwta.paper.uci.splits import divide
from vwta.training.stacking import Rows

logger = logging.getLogger(__name__)

SEARCH_COLUMNS = {
    "protocol": "str",
    "dataset": "str",
    "method": "str",
    "seed": "Int64",
    "split": "Int64",
    "h": "float64",
    "nll": "float64",
    "chosen": "bool",
    "border": "bool",
}


@dataclass(frozen=True)
class Settings:
    """How estimators of the UCI study are measured.

    Attributes:
        seed: seed of the choice of validation rows and of the first networks; those of restart r
            have `seed` + r.
        held_out: as in training.
        selected_by: which of the stored weights of WTA networks are taken: `loss`, `distance`,
            `last`; None for those that their training took.
        search: the fields of :class:`vwta.paper.uci.search.Search`.
        domain: where cells are cut: the whole line, or the interval of the published code.
        ensembles: whether the averages of all restarts are measured, besides each alone.
        level: of the central intervals whose coverage is measured.
        factor: `low`, `high` and `tolerance` of the search for a factor on the bandwidths of local
            kernels; None if there are none.
    """

    seed: int
    held_out: float | None
    selected_by: Literal["loss", "distance", "last"] | None
    search: dict[str, Any]
    domain: Literal["line", "published"]
    ensembles: bool
    level: float
    factor: dict[str, float] | None = None


def evaluate(
    networks: Mapping[str, Sequence[Path]],
    data: Path,
    metrics: Path,
    searches: Path,
    settings: Settings,
    code: str,
    protocol: str,
    dataset: str,
    K: int,
) -> None:
    """Writes the tidy metrics of a UCI data set, and the bandwidths that searches for h tried.

    Arguments:
        networks: for each model the files of its splits, in their order.
        data: file of the data set.
        metrics: table to write, in original units but for `h`, which is in standardised ones, and
            for local kernels the factor on all bandwidths. Its metadata have the `costs` of each
            method in CPU seconds: `training` of a split, and `prediction` of 1,000 log-densities;
            each a mean over splits.
        searches: table to write, with :data:`SEARCH_COLUMNS`: `nll` of the validation rows.
        settings: how to measure.
        code: digest of the code.
        protocol: name of the protocol.
        dataset: name of the set.
        K: number of atoms.
    """
    tensors, facts = read_tensors(data)
    count = max(map(len, networks.values()))
    splits = official_splits(dataset, len(tensors["target"]), count)
    parts = divide(tensors["inputs"], tensors["target"], splits, settings.held_out, settings.seed)
    step = step_of(tensors["target"]) if facts["discrete"] else None
    validation, test = parts.validation, parts.test
    rows: list[dict[str, Any]] = []
    tried: list[dict[str, Any]] = []
    seconds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    trainings = []
    for model, files in networks.items():
        for split, file in enumerate(files):
            logger.info("%s, split %d/%d", model, split + 1, len(files))
            stored, metadata = read_tensors(file)
            if split == 0:  # one job trains all splits
                trainings.append(_of_job(metadata["provenance"], len(files)))
            here = _Split(
                Rows(validation.x[split], validation.y[split]),
                Rows(test.x[split], test.y[split]),
                parts.mean[split].item(),
                parts.scale[split].item(),
            )
            with restored_from(file):
                validated = _load(stored, metadata, _selection(metadata, settings.selected_by))
                final = _load(stored, metadata, "final") if metadata["retrained"] else validated
            measured = _measure(validated, final, metadata, here, step, settings)
            for row in measured:
                if "seconds" in row:
                    training = metadata["provenance"]["cpu_seconds"] * row["share"]
                    seconds[row["method"]].append((training, row["seconds"]))
                else:
                    (tried if "chosen" in row else rows).append({"split": split, **row})
    common = {"protocol": protocol, "dataset": dataset}
    record = {"provenance": provenance(code=code, data=sha256(data), trainings=trainings)}
    table = tidy(rows, study="uci", K=K, **common)
    facts = {"discrete": facts["discrete"], "costs": _costs(seconds)}
    write_table(metrics, table, {**record, **common, **facts})
    search = pd.DataFrame([{**common, **row} for row in tried], columns=list(SEARCH_COLUMNS))
    brief = {key: value for key, value in record["provenance"].items() if key != "trainings"}
    write_table(searches, search.astype(SEARCH_COLUMNS), {"provenance": brief})


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


class _Split(NamedTuple):
    """Rows of a split, `(n, d)` and `(n, 1)`, and by what its targets were standardised."""

    validation: Rows
    test: Rows
    mean: float
    scale: float


@torch.no_grad()
def _measure(
    validated: Sequence[nn.Module],
    final: Sequence[nn.Module],
    metadata: Mapping[str, Any],
    split: _Split,
    step: float | None,
    settings: Settings,
) -> Iterator[dict[str, Any]]:
    """Rows of metrics, and of the searches, of all methods of the networks of a split.

    The first networks are those whose bandwidths are searched, the others are tested. Rows of a
    network have its seed, those of an ensemble the first one.
    """
    kind = metadata["network"]["kind"]
    validation, test, _, deviation = split
    for method, part in _methods(kind, len(final), settings.ensembles):
        tuned, tested = validated[part], final[part]
        common = {"method": method, "seed": settings.seed + part.start}
        if not all(map(_is_finite, [*tuned, *tested])):
            logger.warning("%s: weights are not finite, so its metrics are not either", method)
            for metric in ("nll", "rmse"):
                yield {**common, "metric": metric, "value": math.nan, "n": len(test.y)}
            continue
        space = _space(split, [*tuned, *tested], settings.domain)
        found = _found(method, tuned, validation, space, deviation, settings)
        h = None if found is None else found.h
        if found is not None:
            if found.border:
                logger.warning(
                    "%s: the search for h ends at the interval's border, %.4g", method, h
                )
            yield from ({**common, **row} for row in _search_rows(found, deviation))
        law = law_of(method, tested, test.x, space, h)
        of_law = ESTIMATORS[method].kernel in ("law", "local")
        mean = law.mean if of_law else mean_of_atoms(tested, test.x)
        for row in _rows(law, mean, test.y, deviation, step, settings.level):
            yield {**common, "h": h, "tuned": h is not None, "n": len(test.y), **row}
        begun = time.process_time()
        law_of(method, tested, test.x, space, h).log_prob(test.y)
        taken = 1000 / len(test.y) * (time.process_time() - begun)
        yield {**common, "share": len(tested) / len(final), "seconds": taken}
    yield from _risks(final, test, deviation, kind, settings.seed)
    own = ("local", "own", "law")
    if any(recipe.kernel in own for recipe in measured_in("uci", kind).values()):
        diverged = sum(epoch > 0 for epoch in metadata["diverged"])
        count = len(metadata["diverged"])
        common = {"method": kind, "seed": settings.seed}
        yield {**common, "metric": "diverged", "value": diverged, "n": count}


def _found(
    method: str,
    networks: Sequence[nn.Module],
    validation: Rows,
    space: Box,
    deviation: float,
    settings: Settings,
) -> Found | None:
    """Outcome of the search for a method's bandwidth, or for a factor; None if it has neither."""
    recipe = ESTIMATORS[method]
    if not (recipe.swept or recipe.adjusted):
        return None
    law = law_of(method, networks, validation.x, space)
    if recipe.swept:
        assert not isinstance(law, Transported)
        return find(law, validation.y, Search(**settings.search), deviation)
    if settings.factor is None:
        raise ValueError(
            f"{method}: the protocol has no search for a factor; add evaluation.factor"
        )
    assert not isinstance(law, Transported | KernelMixture)
    return find_factor(law, validation.y, settings.factor)


def _risks(
    networks: Sequence[nn.Module], test: Rows, deviation: float, kind: str, seed: int
) -> Iterator[dict[str, Any]]:
    """Quantisation risk of each network that has atoms, in original units."""
    for restart, network in enumerate(networks):
        points = getattr(network(test.x), "points", None)
        if points is not None and _is_finite(network):
            value = deviation**2 * risk(points, test.y)
            common = {"method": kind, "seed": seed + restart}
            yield {**common, "metric": "risk", "value": value, "n": len(test.y)}


def _search_rows(found: Found, deviation: float) -> Iterator[dict[str, Any]]:
    """Bandwidths that a search for h tried, with their NLL."""
    for at, value in found.tried:
        yield {
            "h": at,
            "nll": value + math.log(deviation),
            "chosen": at == found.h,
            "border": found.border,
        }


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


def _selection(metadata: Mapping[str, Any], selected_by: str | None) -> str:
    """Name of the stored weights to take."""
    if selected_by is None:
        return str(metadata["selected"])
    return entry(metadata["network"]["kind"]).criterion(selected_by)


def _load(stored: Mapping[str, Tensor], metadata: Mapping[str, Any], name: str) -> list[nn.Module]:
    """The networks of all restarts, with the stored weights of some name."""
    return [
        restore(metadata["network"], below(f"{name}.{restart}.", stored), build)
        for restart in range(metadata["restarts"])
    ]


def _is_finite(network: nn.Module) -> bool:
    return all(bool(weight.isfinite().all()) for weight in network.parameters())


def _methods(kind: str, restarts: int, ensembles: bool) -> Iterator[tuple[str, slice]]:
    """The methods of a kind of network, each with the restarts that it takes: one, or all."""
    for name, recipe in measured_in("uci", kind).items():
        if not recipe.averaged:
            yield from ((name, slice(restart, restart + 1)) for restart in range(restarts))
        elif ensembles and restarts > 1:
            yield name, slice(0, restarts)


def _space(split: _Split, networks: Sequence[nn.Module], domain: str) -> Box:
    """Where cells are cut, in standardised units.

    The published code cuts them at plus and minus |mean| + 8 standard deviations, in original
    units; here at the outermost atom or target of the rows at hand if that lies further out.
    """
    if domain == "line":
        return LINE
    reach = abs(split.mean) + 8 * split.scale
    low, high = (-reach - split.mean) / split.scale, (reach - split.mean) / split.scale
    for rows in (split.validation, split.test):
        found = [rows.y, *(network(rows.x).points for network in networks)]
        low = min(low, *(points.min().item() for points in found))
        high = max(high, *(points.max().item() for points in found))
    return Box(low, high)
