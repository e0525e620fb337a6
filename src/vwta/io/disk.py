"""Room on the disk: asked for before it is needed, and named when it runs out all the same."""

from __future__ import annotations

__all__ = ["check_space", "full_disk"]

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vwta.io.errors import NoSpace
from vwta.io.progress import size

REMEDY = "Remedy: free some space, or set data.cache to a folder on a larger disk"


def check_space(folder: Path, needed: int, margin: int, remedy: str = REMEDY) -> None:
    """Raises :class:`NoSpace` unless so many bytes fit, with a margin left."""
    free = shutil.disk_usage(folder).free
    if needed + margin > free:
        raise NoSpace(
            f"{folder}: {size(needed)} and a margin of {size(margin)} are needed, "
            f"{size(free)} are free. {remedy}"
        )


@contextmanager
def full_disk(folder: Path, remedy: str = REMEDY) -> Iterator[None]:
    """Turns the system's error about a full disk into :class:`NoSpace`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpace(f"{folder}: {os.strerror(error.errno)}. {remedy}") from error
        raise
