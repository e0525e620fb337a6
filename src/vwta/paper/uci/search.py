"""The bandwidth of a method on a split, as a protocol searches for it."""

from __future__ import annotations

__all__ = ["Found", "Search", "find"]

from dataclasses import dataclass
from typing import Literal, NamedTuple

from torch import Tensor

from vwta.distributions.average import Average
from vwta.distributions.bandwidth import tune
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.paper.searches import at_border


@dataclass(frozen=True)
class Search:
    """Where and how the UCI study looks for h, by golden section.

    Attributes:
        units: of `low`, `high` and `tolerance`: those of standardised or of original targets.
        low: lower end of the interval.
        high: upper end; None for the standard deviation of the training targets.
        scale: whether the search goes over h or its logarithm.
        tolerance: length of the interval at which the search ends, on that scale.
        takes: the point with the lowest value met, or the middle of the last interval.
    """

    units: Literal["standardised", "original"]
    low: float
    high: float | None
    scale: Literal["linear", "log"]
    tolerance: float
    takes: Literal["lowest", "middle"]


class Found(NamedTuple):
    """Outcome of a search for h in the UCI study, in standardised units.

    Attributes:
        h: the bandwidth.
        tried: those met and the NLL there; that of `h` comes last if it is the middle.
        border: whether the last interval touches an end of the first one.
    """

    h: float
    tried: tuple[tuple[float, float], ...]
    border: bool


def find(
    law: KernelMixture | VoronoiMixture | Average, y: Tensor, search: Search, deviation: float
) -> Found:
    """Searches the bandwidth with the lowest NLL of validation rows of a UCI split.

    An interval whose upper end lies below the lower one is not searched: its middle is taken, as
    the published code does for targets whose standard deviation is below its lower end.

    Arguments:
        law: distribution for each row, of batch shape `(n,)`, of standardised targets.
        y: standardised targets, with shape `(n, 1)`.
        search: how to search.
        deviation: standard deviation of the training targets, in original units.
    """
    unit = deviation if search.units == "original" else 1.0
    low = search.low / unit
    high = (deviation if search.high is None else search.high) / unit
    tolerance = search.tolerance / unit if search.scale == "linear" else search.tolerance
    middle, tried, border = (low + high) / 2, tuple[tuple[float, float], ...](), True
    if low < high:
        found = tune(law, y, low, high, tolerance, search.scale)
        border = at_border(found.interval, low, high)
        if search.takes == "lowest":
            return Found(found.at, found.tried, border)
        middle, tried = sum(found.interval) / 2, found.tried
    value = -law.with_bandwidth(middle).log_prob(y).mean().item()
    return Found(middle, (*tried, (middle, value)), border)
