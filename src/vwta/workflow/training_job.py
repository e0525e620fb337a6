"""The training job of a script, as a rule describes it."""

from __future__ import annotations

__all__ = ["training_job"]

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vwta.paper.training import Job


def training_job(
    snakemake: Any, K: int | None = None, outputs: Mapping[int, Path] | None = None
) -> Job:
    """The training job of a script: its data set and network are wildcards of the rule.

    Arguments:
        snakemake: the object of this name that Snakemake gives to scripts.
        K: number of atoms; a wildcard if there is none.
        outputs: file of each split; if there are none, the outputs are named by their seeds.
    """
    wildcards, params = snakemake.wildcards, snakemake.params
    if outputs is None:
        files = [Path(path) for path in snakemake.output]
        outputs = {int(file.stem.removeprefix("seed")): file for file in files}
    return Job(
        dataset=wildcards.dataset,
        model=wildcards.model,
        K=int(wildcards.K) if K is None else K,
        outputs=outputs,
        unfinished=Path(params.unfinished),
        device=params.device,
        code=params.code,
        tier=snakemake.config["tier"],
        protocol=wildcards.protocol,
    )
