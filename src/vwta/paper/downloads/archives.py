"""Zip archives from elsewhere: nothing in them can write outside its folder or fill the disk."""

from __future__ import annotations

__all__ = ["Limits", "extract", "unpack"]

import errno
import io
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NoReturn

from vwta.io.errors import BadArchive, foreign
from vwta.io.storage import atomic, atomic_folder

BLOCK = 2**20
ENCRYPTED = 0x1
ENTRY = b"PK\x01\x02"  # begins each member's entry in the directory
END = 56  # bytes of the longest record after the directory
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others cannot be undone bit by bit
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OverflowError,
    NotImplementedError,
    ValueError,
)
IMPOSSIBLE = {errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ}  # places and names that cannot be


@dataclass(frozen=True)
class Limits:
    """Limits of the content of an archive that is unpacked.

    Arguments:
        members: number of files and folders.
        total: bytes of all files.
        ratio: bytes of a file for each byte that it takes in the archive.
        depth: folders within folders.
        entry: bytes of a member's entry in the directory, on average.
    """

    members: int = 100_000
    total: int = 64 * 2**30
    ratio: float = 200.0
    depth: int = 50
    entry: int = 1000


def unpack(archive: Path, folder: Path, limits: Limits | None = None) -> None:
    """Unpacks a zip archive as a new folder, all of it or nothing.

    Arguments:
        archive: the archive.
        folder: where its members go; must not exist, or be empty.
        limits: what it may unpack to.
    """
    with atomic_folder(folder) as temporary, _opened(archive, limits or Limits()) as opened:
        for info in opened.infolist():
            place = temporary / info.filename
            if info.is_dir():
                place.mkdir(parents=True, exist_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                _copy(opened, info, place)


def extract(archive: Path, member: str, path: Path, limits: Limits | None = None) -> None:
    """Extracts a single file of a zip archive.

    Archives get rebuilt with other folders in them: if there is no member of just this name, the
    only one with the same last part is taken.

    Arguments:
        archive: the archive.
        member: name of the file in it.
        path: where it goes, whole or not at all.
        limits: what the archive may unpack to.
    """
    with _opened(archive, limits or Limits()) as opened:
        info = _find(archive, opened, member)
        with atomic(path) as temporary:
            _copy(opened, info, temporary)


@contextmanager
def _opened(archive: Path, limits: Limits) -> Iterator[zipfile.ZipFile]:
    """An archive all of whose members are harmless; damage found later is reported likewise."""
    try:
        with _Guarded(archive, limits) as file, zipfile.ZipFile(file) as opened:
            file.opened = True
            _check(archive, opened.infolist(), limits)
            yield opened
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno not in IMPOSSIBLE:
            raise
        raise BadArchive(
            f"{archive} is damaged: {foreign(error)}. Remedy: delete it and fetch it again"
        ) from error


class _Guarded(io.FileIO):
    """A file whose directory is looked at before zipfile parses it, which may take minutes.

    Whatever zipfile takes for the directory is checked, as it comes through here.
    """

    def __init__(self, archive: Path, limits: Limits) -> None:
        super().__init__(archive)
        self.archive, self.limits, self.opened = archive, limits, False

    def read(self, number: int | None = -1, /) -> bytes:
        """Reads like any file, but refuses a directory that is too large."""
        number = -1 if number is None else number
        most = self.limits.members * self.limits.entry
        is_directory = not self.opened and number > END  # fewer bytes say where the directory is
        if is_directory and number > most:
            _refuse(self.archive, f"its directory takes {number} bytes, more than {most}")
        content = super().read(number) or b""
        if is_directory:
            _check_members(self.archive, content.count(ENTRY), self.limits)
        return content


def _check_members(archive: Path, number: int, limits: Limits) -> None:
    if number > limits.members:
        _refuse(archive, f"it has {number} members, more than {limits.members}")


def _check(archive: Path, infos: list[zipfile.ZipInfo], limits: Limits) -> None:
    _check_members(archive, len(infos), limits)
    for info in infos:
        why = _harm(info, limits)
        if why:
            _refuse(archive, f"its member {_shown(info.orig_filename)} {why}")
    total = sum(info.file_size for info in infos)
    if total > limits.total:
        _refuse(archive, f"it unpacks to {total} bytes, more than {limits.total}")
    times = Counter(PurePosixPath(info.filename) for info in infos)
    files = {PurePosixPath(info.filename) for info in infos if not info.is_dir()}
    for place, count in times.items():
        if count > 1:
            _refuse(archive, f"it has {count} members {_shown(str(place))}")
        for parent in files.intersection(place.parents):
            _refuse(archive, f"its member {_shown(str(parent))} is a file and a folder")


def _harm(info: zipfile.ZipInfo, limits: Limits) -> str | None:
    """The fault of a member, None if it has none."""
    name = info.orig_filename
    mode = info.external_attr >> 16
    if "\\" in name or "\0" in name:
        return "has a backslash or a null character in its name"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "has an absolute path"
    if ".." in name.split("/") or not PurePosixPath(name).parts:
        return "would be outside of its folder"
    if name.count("/") > limits.depth:
        return f"is below more than {limits.depth} folders"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device"
    if info.flag_bits & ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in METHODS:
        return f"is compressed by method {info.compress_type}"
    if info.file_size > limits.ratio * max(info.compress_size, 1):
        return f"grows more than {limits.ratio:g} times when unpacked"
    return None


def _shown(name: str) -> str:
    return foreign(repr(name), longest=100)


def _refuse(archive: Path, why: str) -> NoReturn:
    raise BadArchive(
        f"{archive} is not unpacked: {why}. Remedy: delete it and fetch it again; "
        "if it is the official file, raise the limits or report it"
    )


def _find(archive: Path, opened: zipfile.ZipFile, member: str) -> zipfile.ZipInfo:
    files = {info.filename: info for info in opened.infolist() if not info.is_dir()}
    if member in files:
        return files[member]
    name = PurePosixPath(member).name
    similar = [info for info in files.values() if PurePosixPath(info.filename).name == name]
    if len(similar) != 1:
        found = ", ".join(foreign(name, longest=100) for name in sorted(files)[:10])
        _refuse(archive, f"it has no member {member!r}; its first ones are {found or 'none'}")
    return similar[0]


def _copy(opened: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> None:
    """Writes a member's content, never more than it declares; zipfile checks its CRC."""
    with opened.open(info) as source, path.open("xb") as target:
        shutil.copyfileobj(source, target, BLOCK)
        target.flush()
        os.fsync(target.fileno())
