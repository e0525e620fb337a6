"""What is timed: a job, done by `vwta` and by its peers on the same data."""

from __future__ import annotations

__all__ = ["Array", "Job"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Job:
    """One thing to compute, and who computes it.

    Attributes:
        title: what is computed.
        space: in how many dimensions, or where.
        size: what grows.
        sizes: the sizes.
        data: makes the data of a size.
        sides: who computes it: functions from the data to logarithms of the wanted numbers, of
            `vwta` first. An error is therefore a relative error of what is wanted.
        truth: by other mathematics, where some of these numbers stand and their logarithms.
        reference: the side that the truth comes from, if no other mathematics was at hand.
    """

    title: str
    space: str
    size: str
    sizes: tuple[int, ...]
    data: Callable[[int], Any]
    sides: Mapping[str, Callable[[Any], Array]]
    truth: Callable[[Any], tuple[Array, Array]]
    reference: str = ""
