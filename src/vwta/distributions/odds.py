"""Predicted probabilities beside how often their events took place."""

from __future__ import annotations

__all__ = ["Odds", "odds_of"]

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 10
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Odds:
    """Predicted probabilities beside how often their events took place, in bins.

    Attributes:
        predicted: mean prediction in each bin, `(b,)`.
        observed: share of events that took place.
        count: number of predictions.
    """

    predicted: Array
    observed: Array
    count: NDArray[np.int64]

    @property
    def error(self) -> float:
        """Mean distance of prediction and share, over predictions."""
        apart = np.abs(self.predicted - self.observed)
        return float((self.count * apart).sum() / self.count.sum())


def odds_of(predicted: Array, event: NDArray[np.bool_], bins: int = BINS) -> Odds:
    """Predictions beside events, in bins that have equally many predictions.

    Arguments:
        predicted: probabilities, `(n,)`.
        event: whether each event took place, `(n,)`.
        bins: how many bins, at most.

    Example:
        >>> odds_of(np.array([0.2] * 5 + [0.9] * 5), np.array([1, 0, 0, 0, 0] + [1] * 5) > 0, 2)
        Odds(predicted=array([0.2, 0.9]), observed=array([0.2, 1. ]), count=array([5, 5]))
    """
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return Odds(
        np.array([predicted[part].mean() for part in parts]),
        np.array([event[part].mean() for part in parts]),
        np.array([len(part) for part in parts]),
    )
