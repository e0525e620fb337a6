"""Data sets on which methods are compared: four of UCI, and two toy problems whose law is known."""

from __future__ import annotations

__all__ = ["TOYS", "UCI", "Problem", "load"]

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from vwta.paper.uci.datasets import official_splits, read

Array = NDArray[np.float64]
UCI = ("concrete", "kin8nm", "power", "protein")
TOYS = ("toy_line", "toy_plane")
TOY_ROWS = (2000, 1000)  # to train on, to test on
CATALOGUE = Path(__file__).parents[2] / "config/data.yaml"


@dataclass(frozen=True)
class Problem:
    """Rows of one split, in their own units.

    Attributes:
        x: inputs to train on, `(n, c)`.
        y: their targets, `(n, d)`.
        x_test: inputs to test on, `(m, c)`.
        y_test: their targets.
        modes: for each row to test on the places of its two modes, `(m, 2, d)`, if they are known.
        odds: the probability of the first of them, `(m,)`.
    """

    x: Array
    y: Array
    x_test: Array
    y_test: Array
    modes: Array | None = None
    odds: Array | None = None


def load(name: str, split: int, folder: Path, rows: int | None = None) -> Problem:
    """A split of a data set.

    Arguments:
        name: one of :data:`UCI` or :data:`TOYS`.
        split: its number, from 0.
        folder: where the files of config/data.yaml are.
        rows: only so many rows to train and to test on, for a trial.
    """
    some = slice(rows)
    if name in TOYS:
        train, test = (_toy(name, min(n, rows or n), seed) for n, seed in _draws(split))
        return Problem(train.x, train.y, test.x, test.y, test.modes, test.odds)
    record = yaml.safe_load(CATALOGUE.read_text())["uci"][name]
    path = folder / record["file"]["path"]
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: no such file. Remedy: call `snakemake download`, or name the folder that has "
            "uci/ by --data"
        )
    table = read(name, path, record["matrix"])
    x, y = table.inputs, table.target[:, None]
    train, test = official_splits(name, len(x), split + 1)[split]
    return Problem(x[train[some]], y[train[some]], x[test[some]], y[test[some]])


@dataclass(frozen=True)
class _Draw:
    x: Array
    y: Array
    modes: Array
    odds: Array


def _draws(split: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (TOY_ROWS[0], 2 * split), (TOY_ROWS[1], 2 * split + 1)


def _toy(name: str, n: int, seed: int) -> _Draw:
    """Two modes whose odds and places depend on three inputs, with noise that does so, too."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    odds = 1 / (1 + np.exp(-2 * x[:, 1]))
    apart, noise = 2 + x[:, 0], 0.1 * np.exp(x[:, 2])
    if name == "toy_line":
        modes = np.stack([apart, -apart], 1)[..., None]
    else:
        turn = np.pi * x[:, 0] / 2
        one = apart[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
        modes = np.stack([one, -one], 1)
    first = rng.random(n) < odds
    centre = np.where(first[:, None], modes[:, 0], modes[:, 1])
    return _Draw(x, centre + noise[:, None] * rng.normal(size=centre.shape), modes, odds)
