"""Scenes made from recordings: anechoic first-order Ambisonics, on disk as in ANSYN.

A scene with overlap N has N layers. In a layer sounds follow each other with gaps, so that at most
N sound at once; each comes from a direction of ANSYN's grid, and from some distance.
"""

from __future__ import annotations

__all__ = [
    "NORMALISATIONS",
    "ORDERS",
    "PART_SIZES",
    "Settings",
    "Sounds",
    "draw_events",
    "encode",
    "make_scene",
    "make_scenes",
    "read_sounds",
    "render",
    "sounds_of_part",
    "write_scene",
]

import csv
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from vwta.geometry.angles import from_degrees
from vwta.io.errors import BadRecording, Unavailable
from vwta.io.storage import atomic
from vwta.paper.audio.ansyn import (
    AZIMUTHS,
    CHANNELS,
    CLASSES,
    COLUMNS,
    ELEVATIONS,
    OVERLAPS,
    RATE,
    SPLITS,
    Event,
    Scene,
    read_recording,
    sound_class,
)
from vwta.seeds import generator

Sounds = Mapping[str, NDArray[np.float32]]
"""Mono sounds `(n,)` at 44.1 kHz by file name; the name tells the class."""

NORMALISATIONS = {  # gains of W and of X, Y, Z
    "N3D": (1.0, math.sqrt(3)),
    "SN3D": (1.0, 1.0),
    "FuMa": (math.sqrt(0.5), 1.0),
}
ORDERS = {"ACN": "WYZX", "FuMa": "WXYZ"}
PART_SIZES = {"train": 240, "test": 60}
FULL_SCALE = 32767  # of int16
LOGGED = 20  # scenes between two log lines

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How scenes of sounds are made.

    Arguments:
        duration: seconds of a scene.
        onset: range of the first onset of a layer, in seconds.
        gap: range of the pause after each sound of a layer.
        separation: smallest angle between simultaneous sounds, in degrees.
        distances: nearest, farthest and step, in metres.
        level: peak of each sound at 1 m, relative to full scale; -12 dB, as in the recordings.
        noise: level of the noise floor, in dB below the mean of the sounds.
        normalisation: gains of the channels, one of :data:`NORMALISATIONS`.
        order: order of the channels, one of :data:`ORDERS`.
        held_out: part of the recordings of each class that only test scenes use.
    """

    duration: float = 30.0
    onset: tuple[float, float] = (0.0, 1.0)
    gap: tuple[float, float] = (0.5, 1.5)
    separation: float = 10.0
    distances: tuple[float, float, float] = (1.0, 10.0, 0.5)
    level: float = 10 ** (-12 / 20)
    noise: float = 30.0
    normalisation: str = "N3D"
    order: str = "ACN"
    held_out: float = 0.2

    def __post_init__(self) -> None:
        for name, value, known in (
            ("normalisation", self.normalisation, NORMALISATIONS),
            ("order", self.order, ORDERS),
        ):
            if value not in known:
                raise ValueError(f"unknown {name} {value!r}: expected one of {', '.join(known)}")
        nearest, farthest, step = self.distances
        if not (0 < nearest <= farthest and step > 0):
            raise ValueError(
                f"distances {self.distances}: expected 0 < nearest <= farthest, and a positive step"
            )


def read_sounds(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Mono recordings of a folder, float32 within [-1, 1], by file name.

    All classes must be there, in files such as `clearthroat002.wav`.
    """
    paths = sorted(folder.glob("*.wav"))
    kinds = set()
    for path in paths:
        try:
            kinds.add(sound_class(path.name))
        except ValueError as error:
            raise BadRecording(f"{path}: {error}. Remedy: rename or remove it") from error
    missing = [kind for kind in CLASSES if kind not in kinds]
    if missing:
        raise Unavailable(
            f"{folder}: no recording of {', '.join(missing)}. "
            f"Remedy: name a folder that holds files such as {missing[0]}001.wav"
        )
    return {
        path.name: (read_recording(path, channels=1)[:, 0] / FULL_SCALE).astype(np.float32)
        for path in paths
    }


def sounds_of_part(
    names: Sequence[str], split: int, part: str, seed: int, held_out: float
) -> list[str]:
    """Recordings that scenes of a part of a split use: train and test have none in common.

    Arguments:
        names: file names of all recordings.
        split: fold; each has its own division.
        part: `train` or `test`.
        seed: seed of the division.
        held_out: part of each class that goes to `test`, at least one recording. A class with a
            single recording serves both parts.
    """
    chosen: list[str] = []
    for kind in CLASSES:
        of_kind = sorted(name for name in names if sound_class(name) == kind)
        rng = generator(seed, "recordings", split, kind)
        order = torch.randperm(len(of_kind), generator=rng).tolist()
        tested = max(round(held_out * len(order)), 1)
        some = order[:tested] if part == "test" else order[tested:] or order
        chosen += [of_kind[i] for i in sorted(some)]
    return chosen


def draw_events(
    seconds: Mapping[str, float], layers: int, settings: Settings, rng: torch.Generator
) -> list[Event]:
    """Draws the sounds of a scene, their onsets, directions and distances, by onset.

    A layer ends before the first sound that does not fit into the scene. Classes are equally
    likely, and so are the recordings of a class, and the directions of the grid that are far
    enough from those of other layers at the same time.

    Arguments:
        seconds: duration of each recording.
        layers: greatest number of simultaneous sounds.
        settings: times, distances and separation.
        rng: source of randomness.
    """
    longest = max(seconds.values())
    if settings.duration < settings.onset[1] + longest:
        raise ValueError(
            f"a scene of {settings.duration} s has no room for a sound of {longest:.2f} s that "
            f"starts at {settings.onset[1]} s: make duration longer"
        )
    kinds = {kind: [n for n in seconds if sound_class(n) == kind] for kind in CLASSES}
    choices = [names for names in kinds.values() if names]
    events: list[Event] = []
    for _ in range(layers):
        start = _uniform(settings.onset, rng)
        while True:
            names = choices[_index(len(choices), rng)]
            name = names[_index(len(names), rng)]
            start, end = round(start, 6), round(start + seconds[name], 6)
            if end > settings.duration:
                break
            azimuth, elevation = _direction(events, start, end, settings.separation, rng)
            distance = _distance(settings.distances, rng)
            events.append(Event(name, start, end, elevation, azimuth, distance))
            start = end + _uniform(settings.gap, rng)
    return sorted(events, key=lambda event: event.start)


def encode(direction: NDArray[np.float64], normalisation: str, order: str) -> NDArray[np.float64]:
    """Gains `(*, 4)` of a recording's channels for plane waves from unit vectors `(*, 3)`.

    With :math:`g_0, g_1` of :data:`NORMALISATIONS` they are :math:`g_0` for W and :math:`g_1` times
    the vector's x, y and z for X, Y and Z.

    Example:
        >>> encode(np.array([0.0, 1.0, 0.0]), "SN3D", "ACN")  # W, Y, Z, X
        array([1., 1., 0., 0.])
    """
    first, others = NORMALISATIONS[normalisation]
    gains = np.concatenate([np.full((*direction.shape[:-1], 1), first), others * direction], -1)
    return gains[..., ["WXYZ".index(name) for name in ORDERS[order]]]


def render(
    events: Sequence[Event], sounds: Sounds, settings: Settings, rng: torch.Generator
) -> NDArray[np.int16]:
    """Samples of a scene, with shape `(n, 4)`.

    Amplitudes fall with 1 / distance. The noise is that of a diffuse field: independent in all
    channels, with the power in each that waves from everywhere would have. A scene that would
    exceed full scale is made quieter as a whole.
    """
    scene = np.zeros((round(settings.duration * RATE), CHANNELS))
    heard = np.zeros(len(scene), bool)
    for event in events:
        sound = sounds[event.recording].astype(np.float64)
        peak = np.abs(sound).max()
        gain = settings.level / (event.distance * (peak or 1))
        where = from_degrees(event.azimuth, event.elevation)
        first = round(event.start * RATE)
        part = scene[first : first + len(sound)]
        channels = encode(where, settings.normalisation, settings.order)
        part += gain * sound[: len(part), None] * channels
        heard[first : first + len(sound)] = True
    scene += _noise(scene, heard, settings, rng)
    scene *= FULL_SCALE / max(float(np.abs(scene).max()), 1.0)
    return np.rint(scene).astype(np.int16)


def write_scene(scene: Scene, events: Sequence[Event], samples: NDArray[np.int16]) -> None:
    """Writes both files of a scene, the recording last: one that is listed is complete."""
    from scipy.io import wavfile  # slow to import; trainings write no recordings

    with atomic(scene.csv) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for event in events:
            times = (f"{event.start:.6f}", f"{event.end:.6f}")
            numbers = (event.elevation, event.azimuth, event.distance)
            writer.writerow([event.recording, *times, *(f"{number:g}" for number in numbers)])
    with atomic(scene.wav) as temporary:
        wavfile.write(temporary, RATE, samples)


def make_scene(scene: Scene, sounds: Sounds, settings: Settings, seed: int) -> None:
    """Draws, renders and writes a scene; only its place in the data set and the seed matter."""
    names = sounds_of_part(list(sounds), scene.split, scene.part, seed, settings.held_out)
    seconds = {name: len(sounds[name]) / RATE for name in names}
    place = (scene.overlap, scene.split, scene.part, scene.number)
    events = draw_events(seconds, scene.overlap, settings, generator(seed, "events", *place))
    samples = render(events, sounds, settings, generator(seed, "noise", *place))
    write_scene(scene, events, samples)


def make_scenes(
    folder: Path,
    sounds: Sounds,
    settings: Settings,
    seed: int,
    sizes: Mapping[str, int] = PART_SIZES,
    overlaps: Sequence[int] = OVERLAPS,
    splits: Sequence[int] = SPLITS,
) -> list[Scene]:
    """Makes all scenes, a number of them for each part of each split and overlap."""
    scenes = [
        Scene(folder, overlap, split, part, number)
        for overlap in overlaps
        for split in splits
        for part, size in sizes.items()
        for number in range(1, size + 1)
    ]
    for done, scene in enumerate(scenes, 1):
        make_scene(scene, sounds, settings, seed)
        if done % LOGGED == 0 or done == len(scenes):
            log.info("%d of %d scenes", done, len(scenes))
    return scenes


def _direction(
    events: Sequence[Event], start: float, end: float, separation: float, rng: torch.Generator
) -> tuple[int, int]:
    """Azimuth and elevation on the grid, far enough from all events between start and end."""
    grid = [(azimuth, elevation) for azimuth in AZIMUTHS for elevation in ELEVATIONS]
    vectors = from_degrees(*np.array(grid).T)
    free = np.ones(len(grid), bool)
    for event in events:
        if event.start < end and event.end > start:
            cosines = vectors @ from_degrees(event.azimuth, event.elevation)
            free &= cosines <= math.cos(math.radians(separation)) + 1e-9
    if not free.any():
        raise ValueError(
            f"no direction of the grid is {separation} degrees away from the others: "
            "make separation smaller"
        )
    allowed = [place for place, is_free in zip(grid, free, strict=True) if is_free]
    return allowed[_index(len(allowed), rng)]


def _distance(distances: tuple[float, float, float], rng: torch.Generator) -> float:
    nearest, farthest, step = distances
    return nearest + step * _index(int((farthest - nearest) / step + 1e-9) + 1, rng)


def _noise(
    scene: NDArray[np.float64],
    heard: NDArray[np.bool_],
    settings: Settings,
    rng: torch.Generator,
) -> NDArray[np.float64]:
    """Noise `(n, 4)` at its level below the power of W over the samples where something sounds."""
    first, others = NORMALISATIONS[settings.normalisation]
    power = np.square(scene[heard, 0]).mean() / first**2 if heard.any() else 0.0
    scale = math.sqrt(power) * 10 ** (-settings.noise / 20)
    gains = np.array([first] + 3 * [others / math.sqrt(3)])  # W comes first in every order
    white = torch.randn(scene.shape, generator=rng, dtype=torch.float64)
    return np.asarray(scale * gains * white.numpy())


def _uniform(bounds: tuple[float, float], rng: torch.Generator) -> float:
    low, high = bounds
    return low + (high - low) * float(torch.rand((), generator=rng, dtype=torch.float64))


def _index(count: int, rng: torch.Generator) -> int:
    return int(torch.randint(count, (), generator=rng))
