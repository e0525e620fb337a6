"""Files from elsewhere: a mirror first, then addresses; nothing counts before its checksum."""

from __future__ import annotations

__all__ = ["MIRROR", "File", "Source", "checksum", "fetch", "fetch_all"]

import fcntl
import hashlib
import logging
import os
import shutil
import socket
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from vwta.io.errors import BadArchive, DataError, Mismatch, NoSpace, Unavailable, foreign
from vwta.io.storage import atomic, check_space, full_disk, key, size
from vwta.paper.downloads.archives import Limits, extract
from vwta.paper.downloads.packages import take
from vwta.paper.downloads.progress import Progress
from vwta.paper.downloads.transfer import Failed, Policy, download

MIRROR = "VWTA_MIRROR"  # environment variable that names the mirror unless the caller does
POLLED = 0.1  # seconds between two looks at a lock
PARTIAL = ".partial"  # folder of the cache in which unfinished downloads wait for the next run
IN_ARCHIVE = Limits(members=1000, total=4 * 2**30)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """An address to download a file from, or a Python package that has it.

    Arguments:
        url: the file's address, or that of a zip archive.
        member: name of the file in the archive, or in the package.
        package: name of a package, in place of an address.
        version: its version.
    """

    url: str | None = None
    member: str | None = None
    package: str | None = None
    version: str | None = None

    @property
    def place(self) -> str:
        """What users call it."""
        return self.url or f"the package {self.package} {self.version}"


@dataclass(frozen=True)
class File:
    """A file that can be downloaded.

    Arguments:
        path: where it lies below the cache, and below a mirror.
        sources: addresses, the first one first.
        checksums: `sha256:...` or `md5:...` of contents that are accepted.
        bytes: about how large it is, if that is known.
    """

    path: str
    sources: tuple[Source, ...]
    checksums: tuple[str, ...]
    bytes: int | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> File:
        """From an entry `file` of config/data.yaml."""
        return cls(
            path=entry["path"],
            sources=tuple(Source(**source) for source in entry["sources"]),
            checksums=tuple(entry["checksums"]),
            bytes=entry.get("bytes"),
        )


def fetch(
    file: File,
    cache: Path,
    mirror: Path | None = None,
    policy: Policy | None = None,
    progress: Progress | None = None,
) -> Path:
    """Makes sure that a file is in the cache of downloads.

    Arguments:
        file: what to fetch.
        cache: folder for files from elsewhere.
        mirror: folder with copies, asked first; the environment variable `VWTA_MIRROR` by default.
        policy: how patient downloads are.
        progress: where to show how far they are.

    Returns:
        Where it is. Its content has one of the checksums.
    """
    policy, progress = policy or Policy(), progress or Progress()
    with _lock(cache, file, progress):
        path = _find(file, cache, mirror or _mirror_of_environment(), policy, progress)
        for source in file.sources:  # parts of addresses that failed are of no use now
            shutil.rmtree(_partial(source, file, cache).parent, ignore_errors=True)
        return path


def fetch_all(
    files: Mapping[str, File], cache: Path, mirror: Path | None = None, at_once: int = 2
) -> dict[str, Path | DataError]:
    """Downloads several files, some at once; one that fails does not stop the others.

    Arguments:
        files: what to fetch, by name.
        cache: folder for files from elsewhere.
        mirror: folder with copies, see :func:`fetch`.
        at_once: so many downloads at a time.

    Returns:
        Where each file is, or why it is not there.
    """
    progress = Progress()

    def one(file: File) -> Path | DataError:
        try:
            return fetch(file, cache, mirror, progress=progress)
        except DataError as error:
            return error

    with ThreadPoolExecutor(at_once) as pool:
        return dict(zip(files, pool.map(one, files.values()), strict=True))


def checksum(path: Path, algorithm: str) -> str:
    """Hash of a downloaded file's content as `algorithm:...`."""
    with path.open("rb") as content:
        return f"{algorithm}:{hashlib.file_digest(content, algorithm).hexdigest()}"


def _find(file: File, cache: Path, mirror: Path | None, policy: Policy, progress: Progress) -> Path:
    """Where a file is in the cache: it is there, or comes from the mirror or an address."""
    target = cache / file.path
    tried: list[str] = []
    crowded: NoSpace | None = None
    if target.exists():
        try:
            return _checked(target, file)
        except Mismatch as error:
            log.warning("%s: fetched again, because %s", target, error)
    _sweep(target)
    if mirror is not None:
        try:
            return _copy(mirror / file.path, target, file, policy)
        except (OSError, Mismatch) as error:
            tried.append(f"{mirror / file.path} (mirror): {_why(error)}")
            log.info("%s", tried[-1])
    for source in file.sources:
        log.info("%s: from %s", target, source.place)
        try:
            return _take(source, target, file, cache, policy, progress)
        except (Failed, Mismatch, BadArchive) as error:
            tried.append(f"{source.place}: {_why(error)}")
            log.info("%s", tried[-1])
        except NoSpace as error:
            if file.bytes and not source.member:
                raise
            crowded = error  # by what the server says of its size, so that another may do
            log.info("%s: %s", source.place, error)
    raise crowded or _unavailable(file, tried)


def _checked(path: Path, file: File) -> Path:
    """The path, if its content is accepted."""
    found = {checksum(path, name) for name in {text.partition(":")[0] for text in file.checksums}}
    if not found & set(file.checksums):
        raise Mismatch(
            f"its content differs: {' or '.join(file.checksums)} is expected, "
            f"{' and '.join(sorted(found))} was found"
        )
    return path


def _copy(source: Path, target: Path, file: File, policy: Policy) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    facts = source.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise Mismatch("it is not a regular file")
    check_space(target.parent, facts.st_size, policy.margin)
    with full_disk(target.parent), atomic(target) as temporary:
        shutil.copyfile(source, temporary)
        _checked(temporary, file)
    log.info("%s: copied from the mirror", target)
    return target


def _take(
    source: Source, target: Path, file: File, cache: Path, policy: Policy, progress: Progress
) -> Path:
    """Downloads a file, or the archive that it is in, and puts it at its place."""
    if source.url is None:
        return _take_from_package(source, target, file)
    partial = _partial(source, file, cache)
    known = file.bytes or 0
    sizes = {"extra": known} if source.member else {"expected": known}
    try:
        resumed = download(source.url, partial, policy, progress, **sizes)
    except Failed:
        with suppress(OSError):  # a part that came waits there for the next run
            partial.parent.rmdir()
        raise
    try:
        return _place(source, partial, target, file)
    except (Mismatch, BadArchive) as error:
        if not resumed:
            raise
        log.info("%s: once more from the start, because %s", target, error)
    download(source.url, partial, policy, progress, **sizes)
    return _place(source, partial, target, file)


def _take_from_package(source: Source, target: Path, file: File) -> Path:
    package, version, member = (x or "" for x in (source.package, source.version, source.member))
    target.parent.mkdir(parents=True, exist_ok=True)
    with full_disk(target.parent), atomic(target) as temporary:
        take(package, version, member, temporary)
        _checked(temporary, file)
    return target


def _place(source: Source, partial: Path, target: Path, file: File) -> Path:
    """Moves a complete download, or the file in it, to its place; what is wrong is deleted."""
    try:
        with full_disk(target.parent), atomic(target) as temporary:
            if source.member:
                extract(partial, source.member, temporary, IN_ARCHIVE)
                _checked(temporary, file)
            else:
                _checked(partial, file)
                partial.replace(temporary)
    except (Mismatch, BadArchive):
        shutil.rmtree(partial.parent)
        raise
    shutil.rmtree(partial.parent)
    log.info("%s: %s", target, size(target.stat().st_size))
    return target


def _partial(source: Source, file: File, cache: Path) -> Path:
    """Where an unfinished download waits."""
    return cache / PARTIAL / key(url=source.place, path=file.path) / Path(file.path).name


def _sweep(target: Path) -> None:
    """Removes what a process left here that was killed while it wrote this very file."""
    for left in target.parent.glob(f".*{target.name}.*.tmp"):
        left.unlink()


@contextmanager
def _lock(cache: Path, file: File, progress: Progress) -> Iterator[None]:
    """Waits until nobody else fetches the same file, and says so."""
    folder = cache / PARTIAL
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{key(path=file.path)}.lock").open("a+", encoding="utf-8") as lock:
        try:
            while not _is_free(lock):
                progress.wait(file.path, f"{_holder(lock)}, which fetches the same file")
                time.sleep(POLLED)
        finally:
            progress.end(file.path)
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        yield


def _is_free(lock: TextIO) -> bool:
    """Whether a lock could be taken."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        log.debug("%s: this disk has no locks", lock.name)
    return True


def _holder(lock: TextIO) -> str:
    """Who holds a lock, by what it wrote there."""
    lock.seek(0)
    with suppress(UnicodeDecodeError):
        return foreign(lock.read(200)) or "another process"
    return "another process"


def _mirror_of_environment() -> Path | None:
    place = os.environ.get(MIRROR)
    return Path(place) if place else None


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _unavailable(file: File, tried: Iterable[str]) -> Unavailable:
    places = "".join(f"\n  {line}" for line in tried) or " nothing: no place is known"
    return Unavailable(
        f"{file.path} could not be downloaded. Tried:{places}\n"
        f"Remedy: check the network and run again; or put the file into some folder as "
        f"FOLDER/{file.path} and set data.mirror in the configuration, or the environment variable "
        f"{MIRROR}, to FOLDER"
    )
