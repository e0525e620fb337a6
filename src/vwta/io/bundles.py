"""Bundles: several files that belong together, as one uncompressed zip archive."""

from __future__ import annotations

__all__ = ["bundled", "unbundled"]

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vwta.io.errors import BadArchive, DataError, foreign
from vwta.io.storage import atomic, full_disk

NAME = re.compile(r"\w[\w.-]*")  # of a file, with no folder
MOMENT = (1980, 1, 1, 0, 0, 0)  # the same for every file: an archive depends on contents alone


@contextmanager
def bundled(path: Path) -> Iterator[Path]:
    """Gives a folder to write files to, which then become the archive at `path`.

    If the body raises, there is neither an archive nor a folder.
    """
    with full_disk(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    ending = f".{os.getpid()}.tmp"
    with tempfile.TemporaryDirectory(ending, f".{path.stem}.", path.parent) as name:
        folder = Path(name)
        yield folder
        with atomic(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            for file in sorted(folder.iterdir()):
                archive.writestr(zipfile.ZipInfo(file.name, MOMENT), file.read_bytes())


@contextmanager
def unbundled(path: Path) -> Iterator[Path]:
    """Gives a folder with the files of an archive of :func:`bundled`; it goes with the context."""
    remedy = "Remedy: delete it and run again"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            with zipfile.ZipFile(path) as archive:
                for member in archive.namelist():
                    if not NAME.fullmatch(member):
                        raise BadArchive(f"{path} has a file named {member!r}. {remedy}")
                    with archive.open(member) as source, (folder / member).open("wb") as target:
                        shutil.copyfileobj(source, target)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
            if isinstance(error, BadArchive):
                raise
            raise BadArchive(f"{path} is damaged: {foreign(error)}. {remedy}") from error
        try:
            yield folder
        except (DataError, FileNotFoundError) as error:
            if str(folder) not in str(error):
                raise
            # The folder is gone when the message is read.
            said = str(error).replace(str(folder), str(path))
            raise BadArchive(
                said if isinstance(error, DataError) else f"{said}. {remedy}"
            ) from error
