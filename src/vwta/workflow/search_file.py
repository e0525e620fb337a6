"""The file of searches of a script, as a rule describes it."""

from __future__ import annotations

__all__ = ["search_file"]

from pathlib import Path
from typing import Any

from vwta.paper.searches import SearchFile


def search_file(snakemake: Any) -> SearchFile:
    """The file of searches of a script: its protocol and data set are wildcards of the rule.

    Arguments:
        snakemake: the object of this name that Snakemake gives to scripts.
    """
    names = snakemake.wildcards
    path = Path(snakemake.output[0])
    return SearchFile(path, names.protocol, names.dataset, snakemake.params.code)
