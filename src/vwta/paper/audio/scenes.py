"""First stage: scenes of an overlap and a split that are made, in the format of ANSYN."""

from __future__ import annotations

__all__ = ["make_split"]

from collections.abc import Mapping
from pathlib import Path

from vwta.io.errors import BadRecording
from vwta.io.storage import atomic_folder
from vwta.paper.data.ansyn import CHANNELS, RATE
from vwta.paper.data.scenes import Settings, Sounds, make_scenes, read_sounds
from vwta.paper.data.sounds import synthesise_all


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
        sounds: folder with recordings, or so many sounds by formula for each class.
        seed: seed of scenes, and of sounds by formula.
        sizes: number of scenes for each part.
        seconds: duration of a scene.
    """
    found = read_sounds(sounds) if isinstance(sounds, Path) else synthesise_all(sounds, seed)
    settings = Settings(duration=seconds)
    _check_duration(found, settings)
    needed = sum(sizes.values()) * round(seconds * RATE) * CHANNELS * 2
    with atomic_folder(folder, needed) as temporary:
        make_scenes(temporary, found, settings, seed, sizes, [overlap], [split])


def _check_duration(sounds: Sounds, settings: Settings) -> None:
    """Every sound must fit, however late the first one starts."""
    name = max(sounds, key=lambda name: len(sounds[name]))
    needed = settings.onset[1] + len(sounds[name]) / RATE
    if settings.duration < needed:
        raise BadRecording(
            f"{name} needs scenes of {needed:.2f} s, audio.seconds = {settings.duration:g}. "
            "Remedy: make audio.seconds larger"
        )
