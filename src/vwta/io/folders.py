"""Folders, written whole or not at all."""

from __future__ import annotations

__all__ = ["atomic_folder"]

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vwta.io.disk import check_space, full_disk

MARGIN = 200 * 10**6  # bytes of the disk that stay free
REMEDY = "Remedy: free some space, or use a folder on a larger disk"


@contextmanager
def atomic_folder(folder: Path, needed: int = 0) -> Iterator[Path]:
    """Gives a new folder to fill, which then takes the place of `folder`.

    If the body raises, nothing is left of it; what a process left here that was killed while it
    filled the same folder goes first.

    Arguments:
        folder: must not exist, or be empty.
        needed: about how many bytes it takes, if that is known.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty. Remedy: remove it, or choose another")
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{folder.name}.*.tmp"):
        shutil.rmtree(left, ignore_errors=True)
    if needed:
        check_space(folder.parent, needed, MARGIN, REMEDY)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    temporary.mkdir()
    try:
        with full_disk(folder.parent, REMEDY):
            yield temporary
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
