"""Scenarios of predicted laws as a table, in the unit of the targets."""

from __future__ import annotations

__all__ = ["table_of"]

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from vwta.distributions.scenarios import CENTRAL, Scenarios, scenarios

if TYPE_CHECKING:
    import pandas as pd

ROWS = 256  # of laws of several columns at once
SAMPLES = 1024  # of such a law


@torch.no_grad()
def table_of(law: Any, min_mass: float, valley: float) -> pd.DataFrame:
    """A row for each scenario of predicted laws.

    Arguments:
        law: a :class:`~vwta.estimator.predicted.PredictedLaw`.
        min_mass: smallest probability of a scenario.
        valley: see :func:`~vwta.distributions.scenarios.scenarios`.
    """
    import pandas as pd

    space, d = law.targets.space, law.targets.dimension
    tables, start = [], 0
    for part in law.parts(None if d == 1 else ROWS):
        found = scenarios(part.law, min_mass, valley)
        table = pd.DataFrame(found.columns())
        table["row"] += start
        if d > 1 and space != "sphere":
            for j, ends in enumerate(_central(part, found).unbind(-1)):
                table[f"lower_{j}"], table[f"upper_{j}"] = ends.numpy()
        tables.append(table)
        start += len(part)
    table = pd.concat(tables, ignore_index=True)
    for name in table.columns.drop(["row", "scenario", "probability"]):
        j = int(name.rpartition("_")[2]) if d > 1 else 0
        table[name] = table[name] * law.scale[j] + law.location[j]
    return table.rename(columns=lambda name: _named(name, law.targets.names if d > 1 else None))


def _central(law: Any, found: Scenarios) -> Tensor:
    """Ends of the central 90 % of each scenario's samples in each column, scaled, `(2, S, d)`."""
    y = law.law.sample((SAMPLES,), torch.Generator().manual_seed(0))
    mine = found.assign(law.law, y)[:, found.row] == found.rank
    own = torch.where(mine[..., None], y[:, found.row], torch.nan)
    tails = torch.tensor([(1 - CENTRAL) / 2, (1 + CENTRAL) / 2], dtype=own.dtype)
    return torch.nanquantile(own, tails, dim=0)


def _named(column: str, names: list[str] | None) -> str:
    """Name of a column of the table, with that of the target in place of its number."""
    kind, _, place = column.rpartition("_")
    return f"{kind}_{names[int(place)]}" if names and kind else column
