"""The training job of a script, as a rule describes it."""

from __future__ import annotations

__all__ = ["training_job"]

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vwta.paper.training import Job


def training_job(snakemake: Any, K: int, outputs: Mapping[int, Path]) -> Job:
    """The training job of a script: its data set and network are wildcards of the rule.

    Arguments:
        snakemake: the object of this name that Snakemake gives to scripts.
        K: number of atoms.
        outputs: file of each seed, or of each split.
    """
    wildcards, params = snakemake.wildcards, snakemake.params
    return Job(
        dataset=wildcards.dataset,
        model=wildcards.model,
        K=K,
        outputs=outputs,
        unfinished=Path(params.unfinished),
        device=params.device,
        code=params.code,
    )
