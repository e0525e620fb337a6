"""Places of files, as the jobs of the workflow see them."""

from __future__ import annotations

__all__ = ["cache_of"]

from pathlib import Path


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
