"""First stage: the fixed sets of a problem."""

from __future__ import annotations

__all__ = ["SPLITS", "generate"]

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vwta.io.provenance import provenance
from vwta.io.storage import write_tensors
from vwta.paper.data.synthetic import inputs
from vwta.paper.synthetic.law import law_of_split
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
    """Draws the sets of a problem, one y for each x.

    The file holds `x_{split}` with shape `(n, 1)` and `y_{split}` with shape `(n, 2)`. A split's
    rows do not depend on the sizes of the others, unless there are clouds.

    Arguments:
        dataset: name of the problem.
        constants: the problem's constants.
        clouds: whether each split is drawn from a law that is frozen to points, see
            :func:`vwta.paper.synthetic.law.law_of_split`.
        rows: number of rows of each split.
        seed: seed of the sets.
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
