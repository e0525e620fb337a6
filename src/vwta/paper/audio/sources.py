"""First stage: scenes of ANSYN from its archives, or made from recordings, and these recordings."""

from __future__ import annotations

__all__ = ["gather_recordings", "make_split", "unpack_split"]

import logging
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from vwta.io.errors import BadArchive, BadRecording, Mismatch, Unavailable
from vwta.io.storage import atomic_folder
from vwta.paper.audio.ansyn import (
    CHANNELS,
    CLASSES,
    RATE,
    Scene,
    list_scenes,
    read_recording,
    sound_class,
)
from vwta.paper.audio.scenes import Settings, Sounds, make_scenes, read_sounds
from vwta.paper.audio.sounds import synthesise_all
from vwta.paper.downloads.archives import Limits, unpack
from vwta.paper.downloads.fetch import File, fetch
from vwta.paper.downloads.transfer import Policy

SCENES = Limits(members=2000, total=8 * 2**30)  # an archive of ANSYN has 600 files, 3.2 GB
RECORDINGS = Limits(members=2000, total=4 * 2**30)
BELOW_MIRROR = "sounds"  # folder of a mirror that holds the recordings themselves

log = logging.getLogger(__name__)


def unpack_split(archive: Path, folder: Path, overlap: int, split: int) -> None:
    """Unpacks an archive of ANSYN, whose two folders lie at its top or one level down.

    Arguments:
        archive: the archive of the overlap and the split.
        folder: where both folders go, all of them or nothing.
        overlap: greatest number of simultaneous sounds.
        split: fold of the cross-validation.
    """
    with atomic_folder(folder, needed=archive.stat().st_size) as temporary:
        everything = temporary / "archive"
        unpack(archive, everything, SCENES)
        root = _root(archive, everything, overlap, split)
        scenes = _listed(archive, root, overlap, split)
        for kept in {scene.wav.parent for scene in scenes} | {scene.csv.parent for scene in scenes}:
            kept.rename(temporary / kept.name)
        shutil.rmtree(everything)
    log.info("%s: %d scenes of %s", folder, len(scenes), archive)


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
            refused = f"; those that are there cannot be used: {error}"
            log.info("%s", error)
    try:
        fetched = fetch(archive, cache, mirror, policy)
    except Unavailable as error:
        example = f"FOLDER/{BELOW_MIRROR}/{CLASSES[0]}001.wav"
        raise Unavailable(
            f"{error}\nOr put the recordings themselves there, as {example} and so on{refused}"
        ) from error
    _extract(fetched, folder, per_class)


def make_split(
    folder: Path,
    overlap: int,
    split: int,
    *,
    sounds: Path | int,
    seed: int,
    sizes: Mapping[str, int],
    seconds: float,
) -> None:
    """Makes scenes, each of which depends on its own place and on the arguments below alone.

    Arguments:
        folder: where both folders go, all of them or nothing.
        overlap: greatest number of simultaneous sounds.
        split: fold of the cross-validation.
        sounds: folder with recordings, or the number of sounds to synthesise for each class.
        seed: seed of scenes, and of synthesised sounds.
        sizes: number of scenes for each part.
        seconds: duration of a scene.
    """
    found = read_sounds(sounds) if isinstance(sounds, Path) else synthesise_all(sounds, seed)
    settings = Settings(duration=seconds)
    _check_duration(found, settings)
    needed = sum(sizes.values()) * round(seconds * RATE) * CHANNELS * 2
    with atomic_folder(folder, needed) as temporary:
        make_scenes(temporary, found, settings, seed, sizes, [overlap], [split])


def _root(archive: Path, everything: Path, overlap: int, split: int) -> Path:
    """The folder of an unpacked archive that holds the recordings' folder."""
    name = Scene(everything, overlap, split, "train", 1).wav.parent.name
    below = sorted(path for path in everything.iterdir() if path.is_dir())
    for place in (everything, *below):
        if (place / name).is_dir():
            return place
    found = ", ".join(path.name for path in below) or "none"
    raise BadArchive(
        f"{archive} has no folder {name}; its folders are {found}. "
        "Remedy: delete it and fetch it again"
    )


def _listed(archive: Path, root: Path, overlap: int, split: int) -> list[Scene]:
    try:
        return list_scenes(root, [overlap], [split])
    except Unavailable as error:
        what = str(error).replace(f"{root}/", "").partition(" Remedy:")[0]
        raise BadArchive(
            f"{archive} is not complete: {what} Remedy: delete it and fetch it again"
        ) from error


def _copy(source: Path, folder: Path, per_class: int) -> None:
    with atomic_folder(folder) as temporary:
        for path in _found(source, per_class):
            shutil.copyfile(path, temporary / path.name)
    log.info("%s: copied from %s", folder, source)


def _extract(archive: Path, folder: Path, per_class: int) -> None:
    with atomic_folder(folder) as temporary:
        everything = temporary / archive.stem
        unpack(archive, everything, RECORDINGS)
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
            f"{', '.join(wrong)}. Remedy: get all recordings"
        )


def _is_recording(name: str) -> bool:
    try:
        sound_class(name)
    except ValueError:
        return False
    return True


def _check_duration(sounds: Sounds, settings: Settings) -> None:
    """Every sound must fit, however late the first one starts."""
    name = max(sounds, key=lambda name: len(sounds[name]))
    needed = settings.onset[1] + len(sounds[name]) / RATE
    if settings.duration < needed:
        raise BadRecording(
            f"{name} needs scenes of {needed:.2f} s, audio.seconds = {settings.duration:g}. "
            "Remedy: make audio.seconds larger"
        )
