"""First stage: scenes of an overlap and a split from their archive of ANSYN."""

from __future__ import annotations

__all__ = ["unpack_split"]

import logging
import shutil
from pathlib import Path

from vwta.io.errors import BadArchive, Unavailable
from vwta.io.storage import atomic_folder
from vwta.paper.data.ansyn import Scene, list_scenes
from vwta.paper.data.archives import Limits, unpack

LIMITS = Limits(members=2000, total=8 * 2**30)  # an archive has 600 files, 3.2 GB

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
        unpack(archive, everything, LIMITS)
        root = _root(archive, everything, overlap, split)
        scenes = _listed(archive, root, overlap, split)
        for kept in {scene.wav.parent for scene in scenes} | {scene.csv.parent for scene in scenes}:
            kept.rename(temporary / kept.name)
        shutil.rmtree(everything)
    log.info("%s: %d scenes of %s", folder, len(scenes), archive)


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
