"""First stage of re-synthesis: the recordings that ANSYN's scenes were made of."""

from __future__ import annotations

__all__ = ["gather_recordings"]

import logging
import shutil
from collections import Counter
from pathlib import Path

from vwta.io.errors import BadRecording, Mismatch, Unavailable
from vwta.io.storage import atomic_folder
from vwta.paper.data.ansyn import CLASSES, read_recording, sound_class
from vwta.paper.data.archives import Limits, unpack
from vwta.paper.data.fetch import File, fetch
from vwta.paper.data.transfer import Policy

BELOW_MIRROR = "sounds"  # folder of a mirror that holds the recordings themselves
LIMITS = Limits(members=2000, total=4 * 2**30)

log = logging.getLogger(__name__)


def gather_recordings(
    folder: Path,
    archive: File,
    per_class: int,
    cache: Path,
    mirror: Path | None = None,
    policy: Policy | None = None,
) -> None:
    """Puts the recordings into a folder, from the mirror or from their archive.

    Arguments:
        folder: where they go, all of them or nothing.
        archive: an archive that has them, in whichever folder and among other files.
        per_class: number of recordings of each class.
        cache: folder for files from elsewhere.
        mirror: folder with copies, asked first.
        policy: how patient a download is.
    """
    refused = ""
    if mirror is not None and (mirror / BELOW_MIRROR).is_dir():
        try:
            return _copy(mirror / BELOW_MIRROR, folder, per_class)
        except (BadRecording, Mismatch) as error:
            refused = f"; so far they are not taken: {error}"
            log.info("%s", error)
    try:
        fetched = fetch(archive, cache, mirror, policy)
    except Unavailable as error:
        example = f"FOLDER/{BELOW_MIRROR}/{CLASSES[0]}001.wav"
        raise Unavailable(
            f"{error}\nOr put the recordings themselves there, as {example} and so on{refused}"
        ) from error
    _extract(fetched, folder, per_class)


def _copy(source: Path, folder: Path, per_class: int) -> None:
    with atomic_folder(folder) as temporary:
        for path in _found(source, per_class):
            shutil.copyfile(path, temporary / path.name)
    log.info("%s: copied from %s", folder, source)


def _extract(archive: Path, folder: Path, per_class: int) -> None:
    with atomic_folder(folder) as temporary:
        everything = temporary / archive.stem
        unpack(archive, everything, LIMITS)
        for path in _found(everything, per_class):
            path.rename(temporary / path.name)
        shutil.rmtree(everything)
    log.info("%s: from %s", folder, archive)


def _found(source: Path, per_class: int) -> list[Path]:
    """Recordings at any place below a folder, if all are there and can be read."""
    paths = [path for path in sorted(source.rglob("*.wav")) if _is_recording(path.name)]
    _check(source, [path.name for path in paths], per_class)
    for path in paths:
        read_recording(path, channels=1)
    return paths


def _check(source: Path, names: list[str], per_class: int) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise Mismatch(f"{source}: {twice[0]} is there twice. Remedy: remove one")
    counts = Counter(map(sound_class, names))
    wrong = [f"{counts[kind]} of {kind}" for kind in CLASSES if counts[kind] != per_class]
    if wrong:
        raise Mismatch(
            f"{source}: {per_class} recordings of each class are expected, there are "
            f"{', '.join(wrong)}. Remedy: get the whole set"
        )


def _is_recording(name: str) -> bool:
    try:
        sound_class(name)
    except ValueError:
        return False
    return True
