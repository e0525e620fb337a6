"""How long a GPU would take for jobs: an estimate from counts, as there was no GPU to measure on.

benchmarks/launches.csv has for a step of each training how many floating point operations it takes,
the bytes that it reads and writes, the kernels that it launches, and the bytes of features that it
reads from files (`make launches` counts them). A GPU can do these things at the same time, so that
the longest of them bounds a step from below. Steps of a job and the rows of a step are resources of
its rule. Validation is not counted: it adds about a tenth.
"""

from __future__ import annotations

__all__ = ["ASSUMED", "CARD", "COLUMNS", "TABLE", "Card", "hours", "step_seconds"]

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

TABLE = Path("benchmarks/launches.csv")
COLUMNS = ["tier", "rule", "model", "K", "rows", "flops", "bytes", "launches", "read"]
HOUR = 3600


class Card(NamedTuple):
    """A GPU and its host, as far as the estimate needs them.

    Attributes:
        name: what is assumed.
        flops: floating point operations a second.
        bandwidth: bytes a second that its memory gives and takes.
        latency: seconds from one launched kernel to the next.
        reading: bytes of features a second that one core reads from files and sends.
    """

    name: str
    flops: float
    bandwidth: float
    latency: float
    reading: float


# Half of the peak in float32 (19.5e12) and two thirds of the bandwidth (1.55e12) of an A100; 10
# microseconds for an operation of PyTorch and its gradient are what the host takes, not the GPU.
CARD = Card("an A100", 1e13, 1e12, 1e-5, 1e9)
ASSUMED = (
    f"{CARD.name} with {CARD.flops / 1e12:g} Tflop/s, {CARD.bandwidth / 1e12:g} TB/s, a kernel "
    f"each {1e6 * CARD.latency:g} microseconds, features read at {CARD.reading / 1e9:g} GB/s"
)


def step_seconds(counts: Mapping[Any, Any], rows: float, card: Card = CARD) -> float:
    """Seconds of a step over so many rows: the longest of what it does at the same time.

    Arguments:
        counts: a row of the table.
        rows: those that a step of the job sees, over all networks that are trained at once. The
            launches of a step are the same for any number.
        card: the GPU.
    """
    larger: float = rows / counts["rows"]
    bounds: tuple[float, ...] = (
        larger * counts["flops"] / card.flops,
        larger * counts["bytes"] / card.bandwidth,
        counts["launches"] * card.latency,
        larger * counts["read"] / card.reading,
    )
    return max(bounds)


def hours(
    table: pd.DataFrame, tier: str, rule: str, model: str, K: int, steps: float, rows: float
) -> float:
    """Hours of a job on a GPU; NaN if nothing was counted.

    Arguments:
        table: the counts. Those of the tier come first, then those of the nearest K.
        tier: of the job.
        rule: of the job.
        model: its network.
        K: its number of atoms; 0 if it has none of its own.
        steps: how many it takes, 0 if its rule does not say.
        rows: those of a step.
    """
    same = table[(table["rule"] == rule.removesuffix("_stack")) & (table["model"] == model)]
    if same.empty or not steps:
        return math.nan
    here = same[same["tier"] == tier]
    found = (here if len(here) else same).to_dict("records")
    counts = min(found, key=lambda row: abs(row["K"] - K))
    return steps * step_seconds(counts, rows) / HOUR
