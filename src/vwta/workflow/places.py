"""Places of files, as the jobs of the workflow see them."""

from __future__ import annotations

__all__ = ["cache_of", "root_of"]

import sys
from pathlib import Path


def root_of(rules: str) -> Path:
    """The folder of the workflow's sources; ends with a message if they are in no folder.

    Arguments:
        rules: path of the folder of its rules, or an address, where Snakemake reads a module from a
            host of repositories.
    """
    if "://" in rules:
        sys.exit(
            f"The workflow is at {rules}, which is no folder, and reads its own configuration from "
            "there. Nothing was run. Remedy: clone it, and name the clone's workflow/Snakefile in "
            "place of the address"
        )
    return Path(rules).parents[1]


def cache_of(output: str, path: str) -> Path:
    """The folder of downloads in which a job's output is.

    It is the configuration's `data.cache`, unless the workflow is a module with a prefix, or the
    output goes to a storage.

    Arguments:
        output: the output.
        path: its path below that folder.

    Example:
        >>> cache_of("nested/data/uci/housing.data", "uci/housing.data").as_posix()
        'nested/data'
    """
    folder = output.removesuffix(path)
    if folder == output:
        raise ValueError(f"{output}: is not at {path} below a folder")
    return Path(folder)
