"""The file of metrics that a script writes, as a rule describes it."""

from __future__ import annotations

__all__ = ["metrics_file"]

from pathlib import Path
from typing import Any

from vwta.paper.metrics import MetricsFile


def metrics_file(snakemake: Any, study: str) -> MetricsFile:
    """The file of metrics of a script: its protocol and data set are wildcards of the rule.

    Arguments:
        snakemake: the object of this name that Snakemake gives to scripts.
        study: name of the study.
    """
    path, names = Path(snakemake.output[0]), snakemake.wildcards
    return MetricsFile(path, study, names.protocol, names.dataset, snakemake.params.code)
