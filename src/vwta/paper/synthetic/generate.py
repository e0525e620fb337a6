"""First stage: the fixed data of a problem, and the law that each split is drawn from."""

from __future__ import annotations

__all__ = ["SPLITS", "generate", "law_of_split"]

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vwta.io.provenance import provenance
from vwta.io.storage import write_tensors
from vwta.paper.synthetic.true_laws import Problem, inputs, problem
from vwta.seeds import generator

SPLITS = ("train", "validation", "test")


def generate(
    dataset: str,
    constants: Mapping[str, Any],
    clouds: bool,
    rows: Mapping[str, int],
    seed: int,
    path: Path,
    code: str,
) -> None:
    """Draws the data set of a synthetic problem, one y for each x.

    The file holds `x_{split}` with shape `(n, 1)` and `y_{split}` with shape `(n, 2)`. A split's
    rows do not depend on the sizes of the others, unless there are clouds.

    Arguments:
        dataset: name of the problem.
        constants: the problem's constants.
        clouds: whether each split is drawn from a law that is frozen to points, see
            :func:`law_of_split`.
        rows: number of rows of each split.
        seed: seed of the data set.
        path: file to write.
        code: digest of the code, for the record.
    """
    tensors = {}
    for split in SPLITS:
        source = generator(seed, dataset, split)
        x = inputs(rows[split], source)
        tensors[f"x_{split}"] = x
        law = law_of_split(dataset, split, constants, clouds, rows, seed)
        tensors[f"y_{split}"] = law.sample(x, 1, source).squeeze(0)
    write_tensors(path, tensors, {"provenance": provenance(code=code, dataset=dataset, seed=seed)})


def law_of_split(
    dataset: str,
    split: str,
    constants: Mapping[str, Any],
    clouds: bool,
    rows: Mapping[str, int],
    seed: int,
) -> Problem:
    """The true law of a split of a synthetic problem, as :func:`generate` draws it.

    Arguments:
        dataset: name of the problem.
        split: name of the split.
        constants: the problem's constants.
        clouds: whether the law is frozen to points: as many as there are rows for training, and for
            validation and test as there are for validation, whatever part of a test is evaluated.
        rows: number of rows of each split.
        seed: seed of the data set.
    """
    law = problem(dataset, **constants)
    size = rows["train" if split == "train" else "validation"]
    return law.frozen(size, generator(seed, dataset, split, "cloud")) if clouds else law
