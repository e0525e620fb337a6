"""Tables for regression: inputs, one target, and how rows are divided into train and test."""

from __future__ import annotations

__all__ = ["Split", "Table", "is_discrete", "matrix_sha256", "splits", "splits_sha256"]

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """Inputs and target of a UCI data set.

    Arguments:
        name: name of the data set.
        inputs: float64, with shape `(N, d)`.
        target: float64, with shape `(N,)`.
        columns: names of the inputs, `d` of them.
        label: name of the target.
    """

    name: str
    inputs: NDArray[np.float64]
    target: NDArray[np.float64]
    columns: tuple[str, ...]
    label: str


class Split(NamedTuple):
    """Rows of a UCI data set to train on and to test on, int64 `(k,)` and `(N - k,)`."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def splits(rows: int, count: int, seed: int = 1, fraction: float = 0.9) -> list[Split]:
    """Random splits of a number of rows of a UCI data set.

    With the default seed and fraction they are the official ones of the UCI benchmark: one
    permutation after the other from one stream, its first part to train on.

    Arguments:
        rows: number of rows, at least 2.
        count: number of splits.
        seed: seed of the stream.
        fraction: part of the rows to train on; each side gets at least one row.

    Example:
        >>> [train.tolist() for train, test in splits(4, 2)]
        [[3, 2, 0], [0, 2, 1]]
    """
    if rows < 2:
        raise ValueError(f"{rows} rows cannot be split into train and test: at least 2 are needed")
    kept = min(max(round(fraction * rows), 1), rows - 1)
    stream = np.random.RandomState(seed)  # the benchmark's generator: its bits are what counts
    orders = [stream.permutation(rows).astype(np.int64) for _ in range(count)]
    return [Split(order[:kept], order[kept:]) for order in orders]


def splits_sha256(parts: Iterable[Split]) -> str:
    """Hash of UCI splits: little-endian int64 of train and test rows, one split after the other."""
    state = hashlib.sha256()
    for split in parts:
        for rows in split:
            state.update(_flat(rows, "<i8"))
    return state.hexdigest()


def matrix_sha256(matrix: NDArray[np.float64]) -> str:
    """Hash of a UCI data set's matrix `(N, c)`: little-endian float64, row after row."""
    return hashlib.sha256(_flat(matrix, "<f8")).hexdigest()


def is_discrete(target: NDArray[np.float64]) -> bool:
    """Whether the target `(N,)` of a UCI data set takes few values, each many times.

    A density can be put on such a target, but its NLL has no lower bound: it falls without end as
    the bandwidth shrinks. Few are at most N / 20, or up to 10 if they come 4 times on average.

    Example:
        >>> is_discrete(np.array([5.0, 6.0, 5.0, 7.0] * 3)), is_discrete(np.arange(12.0))
        (True, False)
    """
    values, rows = len(np.unique(target)), len(target)
    return values <= max(rows / 20, min(10, rows / 4))


def _flat(array: NDArray[Any], kind: str) -> memoryview:
    """An array's numbers one after the other, with no copy if they lie like that already."""
    return np.ascontiguousarray(array, dtype=kind).reshape(-1).data
