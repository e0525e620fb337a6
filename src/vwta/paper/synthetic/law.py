"""The law that a set of a problem was drawn from."""

from __future__ import annotations

__all__ = ["law_of_split"]

from collections.abc import Mapping
from typing import Any

from vwta.paper.data.synthetic import Problem, problem
from vwta.seeds import generator


def law_of_split(
    dataset: str,
    split: str,
    constants: Mapping[str, Any],
    clouds: bool,
    rows: Mapping[str, int],
    seed: int,
) -> Problem:
    """The law of a split's rows, as :func:`vwta.paper.synthetic.generate.generate` draws them.

    Arguments:
        dataset: name of the problem.
        split: name of the split.
        constants: the problem's constants.
        clouds: whether the law is frozen to points: as many as there are rows for training, and for
            validation and test as there are for validation, whatever part of a test is evaluated.
        rows: number of rows of each split.
        seed: seed of the sets.
    """
    law = problem(dataset, **constants)
    size = rows["train" if split == "train" else "validation"]
    return law.frozen(size, generator(seed, dataset, split, "cloud")) if clouds else law
