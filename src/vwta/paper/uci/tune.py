"""Third stage: bandwidths of the estimators of all networks trained on a data set."""

from __future__ import annotations

__all__ = ["Settings", "tune"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from vwta.distributions.transported import Transported
from vwta.io.storage import sha256
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.searches import SearchFile, search_rows, write_searches
from vwta.paper.uci.laws import law_of
from vwta.paper.uci.search import Search, find
from vwta.paper.uci.trained import Selection, Trained, is_finite, methods, space_of, trained

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings(Selection):
    """How bandwidths of the UCI study are searched.

    Attributes:
        search: the fields of :class:`vwta.paper.uci.search.Search`.
    """

    search: dict[str, Any]


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
    search = Search(**settings.search)
    for method, part in methods(kind, len(one.final), settings.ensembles):
        networks = [*one.validated[part], *one.final[part]]
        if not ESTIMATORS[method].swept or not all(map(is_finite, networks)):
            continue
        space = space_of(one.rows, networks, settings.domain)
        law = law_of(method, one.validated[part], one.rows.validation.x, space)
        assert not isinstance(law, Transported)
        found = find(law, one.rows.validation.y, search, deviation)
        if found.border:
            logger.warning(
                "%s: the search for h ends at the interval's border, %.4g", method, found.h
            )
        for row in search_rows(found.tried, found.h, found.border, deviation):
            yield {"method": method, "seed": settings.seed + part.start, **row}
