"""Files of a repository at a revision, in a folder."""

from __future__ import annotations

__all__ = ["check_out", "keep_checkout"]

import io
import os
import subprocess
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from vwta.io.errors import DataError
from vwta.io.storage import atomic_folder


def check_out(repository: Path, revision: str, tree: Path, parts: Sequence[str] = ()) -> str:
    """Writes the files of a revision into a folder, and gives the revision's hash.

    Arguments:
        repository: a clone, or its database.
        revision: a name that git knows.
        tree: the folder.
        parts: files and folders that are wanted, all if none are named.
    """
    commit = _commit(repository, revision)
    content = _git(repository, "archive", commit, *parts)
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        files.extractall(tree, filter="data")
    return commit


def keep_checkout(repository: Path, revision: str, place: Path) -> Path:
    """The folder of a revision's files, in a place that keeps one for each revision.

    Each file has the time of the last commit that changed it, so that the next revision makes
    nothing look newer that is the same there.

    Arguments:
        repository: a clone, or its database.
        revision: a name that git knows.
        place: the folder of all checkouts.
    """
    commit = _commit(repository, revision)
    tree = place / commit
    if not tree.is_dir():
        # another process may be faster, and its folder is as good
        with suppress(FileExistsError), atomic_folder(tree) as folder:
            check_out(repository, commit, folder)
            for name, seconds in _times(repository, commit).items():
                if (folder / name).is_file():
                    os.utime(folder / name, (seconds, seconds))
    return tree


def _times(repository: Path, commit: str) -> dict[str, int]:
    """When each file was changed last, in seconds."""
    listed = _git(
        repository, "log", "-z", "--format=%x01%ct", "--name-only", "--no-renames", commit
    )
    found: dict[str, int] = {}
    for part in listed.decode(errors="surrogateescape").split("\x01")[1:]:
        seconds, *names = part.replace("\n", "").split("\0")
        for name in filter(None, names):
            found.setdefault(name, int(seconds))
    return found


def _commit(repository: Path, revision: str) -> str:
    try:
        found = _git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except subprocess.CalledProcessError:
        remedy = "Remedy: see `git log`"
        raise DataError(f"{revision!r} is no revision of {repository}. {remedy}") from None
    return found.decode().strip()


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout
