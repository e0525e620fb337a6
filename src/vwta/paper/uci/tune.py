"""Third stage: bandwidths of the estimators of all networks trained on a data set."""

from __future__ import annotations

__all__ = ["Settings", "tune"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vwta.distributions.bandwidth import adjust
from vwta.distributions.mixtures import KernelMixture
from vwta.distributions.transported import Transported
from vwta.io.storage import sha256
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.searches import SearchFile, adjusted_rows, search_rows, write_searches
from vwta.paper.uci.laws import Law, law_of
from vwta.paper.uci.search import Search, find
from vwta.paper.uci.trained import Selection, Trained, is_finite, methods, space_of, trained

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings(Selection):
    """How bandwidths of the UCI study are searched.

    Attributes:
        search: the fields of :class:`vwta.paper.uci.search.Search`.
        factor: `low`, `high` and `tolerance` of the search for a factor on the bandwidths of local
            kernels, see :func:`vwta.distributions.bandwidth.adjust`; None if there are none.
    """

    search: dict[str, Any]
    factor: dict[str, float] | None = None


def tune(
    networks: Mapping[str, Sequence[Path]], data: Path, settings: Settings, output: SearchFile
) -> None:
    """Writes the searches for h of all networks of a UCI data set, in standardised units.

    Arguments:
        networks: for each model the files of its splits, in their order.
        data: file of the data set.
        settings: how to search.
        output: table to write; `nll` is that of the validation rows, in original units.
    """
    rows = [
        {"split": one.split, **row}
        for one in trained(networks, data, output.dataset, settings)
        for row in searched(one, settings)
    ]
    write_searches(output, rows, ("seed", "split"), data=sha256(data))


@torch.no_grad()
def searched(one: Trained, settings: Settings) -> Iterator[dict[str, Any]]:
    """Rows of the searches for h of all methods of the networks of a UCI split."""
    kind, deviation = one.metadata["network"]["kind"], one.rows.scale
    for method, part in methods(kind, len(one.final), settings.ensembles):
        networks = [*one.validated[part], *one.final[part]]
        recipe = ESTIMATORS[method]
        if not (recipe.swept or recipe.adjusted) or not all(map(is_finite, networks)):
            continue
        space = space_of(one.rows, networks, settings.domain)
        law = law_of(method, one.validated[part], one.rows.validation.x, space)
        search = _bandwidths if recipe.swept else _factors
        for row in search(method, law, one.rows.validation.y, deviation, settings):
            if row["chosen"] and row["border"]:
                logger.warning(
                    "%s: the search for h ends at the interval's border, %.4g", method, row["h"]
                )
            yield {"method": method, "seed": settings.seed + part.start, **row}


def _bandwidths(
    method: str, law: Law, y: Tensor, deviation: float, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Rows of the search for a bandwidth."""
    assert not isinstance(law, Transported), method
    found = find(law, y, Search(**settings.search), deviation)
    return search_rows(found.tried, found.h, found.border, deviation)


def _factors(
    method: str, law: Law, y: Tensor, deviation: float, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Rows of the search for a factor on the bandwidths of local kernels.

    On the line their masses follow from continuity, so that there is no temperature to search.
    """
    if settings.factor is None:
        raise ValueError(
            f"{method}: the protocol has no search for a factor; add evaluation.factor"
        )
    assert not isinstance(law, Transported | KernelMixture)
    found = adjust(law, y, **settings.factor)
    if found.by_temperature is not None:
        raise ValueError(
            "local kernels with scores have a temperature, which tables of searches of the UCI "
            "study have no column for: it takes form continuous or shared"
        )
    low, high = settings.factor["low"], settings.factor["high"]
    return adjusted_rows(found, low, high, deviation)
