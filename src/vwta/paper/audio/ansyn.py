"""Scenes on disk as in ANSYN: first-order Ambisonics recordings and their sounds.

A folder holds, for `o` simultaneous sounds and split `s`, `wav_ov{o}_split{s}_30db/` and
`desc_ov{o}_split{s}/`, with files `{train,test}_{i}_desc_30_100` that end in `.wav` and `.csv`.
"""

from __future__ import annotations

__all__ = [
    "AZIMUTHS",
    "CHANNELS",
    "CLASSES",
    "COLUMNS",
    "ELEVATIONS",
    "FRAMES_PER_SECOND",
    "OVERLAPS",
    "PARTS",
    "RATE",
    "SPLITS",
    "Event",
    "Labels",
    "Scene",
    "frame_labels",
    "list_scenes",
    "read_events",
    "read_recording",
    "read_scene",
    "sound_class",
]

import csv
import logging
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vwta.geometry.angles import from_degrees
from vwta.io.errors import BadRecording, BadTable, Unavailable

logger = logging.getLogger(__name__)

RATE = 44100  # samples a second
CHANNELS = 4
FRAMES_PER_SECOND = 50
OVERLAPS = (1, 2, 3)
SPLITS = (1, 2, 3)
PARTS = ("train", "test")
AZIMUTHS = range(-180, 180, 10)  # degrees
ELEVATIONS = range(-60, 60, 10)
COLUMNS = ("sound_event_recording", "start_time", "end_time", "ele", "azi", "dist")
_TOLD: set[tuple[str, ...]] = set()
CLASSES = (
    "speech",
    "phone",
    "keyboard",
    "doorslam",
    "laughter",
    "keysDrop",
    "pageturn",
    "drawer",
    "cough",
    "clearthroat",
    "knock",
)


@dataclass(frozen=True)
class Scene:
    """Where a scene of sounds lies, and its place in the data set.

    Arguments:
        folder: holds the folders of recordings and of descriptions.
        overlap: greatest number of simultaneous sounds.
        split: fold of the cross-validation.
        part: `train` or `test`.
        number: counts the scenes of a part.
    """

    folder: Path
    overlap: int
    split: int
    part: str
    number: int

    @property
    def name(self) -> str:
        """Name of both files, without suffix."""
        return f"{self.part}_{self.number}_desc_30_100"

    @property
    def wav(self) -> Path:
        """The recording."""
        return _recordings(self.folder, self.overlap, self.split) / f"{self.name}.wav"

    @property
    def csv(self) -> Path:
        """The description."""
        below = self.folder / f"desc_ov{self.overlap}_split{self.split}"
        return below / f"{self.name}.csv"


class Event(NamedTuple):
    """One sound of a scene: a line of its description, in degrees, seconds and metres."""

    recording: str
    start: float
    end: float
    elevation: float
    azimuth: float
    distance: float


class Labels(NamedTuple):
    """Sound sources in each of T frames, in at most S places filled from the first on.

    Attributes:
        active: whether the place is taken, bool with shape `(T, S)`.
        kind: index in :data:`CLASSES`, int64 with shape `(T, S)`; -1 where nothing sounds.
        direction: unit vectors, float64 with shape `(T, S, 3)`; 0 where nothing sounds.
    """

    active: NDArray[np.bool_]
    kind: NDArray[np.int64]
    direction: NDArray[np.float64]


def list_scenes(
    folder: Path,
    overlaps: Sequence[int] = OVERLAPS,
    splits: Sequence[int] = SPLITS,
    parts: Sequence[str] = PARTS,
) -> list[Scene]:
    """Scenes below a folder, by overlap, split, part and number; each with both its files."""
    scenes = [
        scene
        for overlap in overlaps
        for split in splits
        for part in parts
        for scene in _scenes_of_part(folder, overlap, split, part)
    ]
    for scene in scenes:
        if not scene.csv.is_file():
            raise Unavailable(
                f"{scene.csv}: no such file, but {scene.wav} needs it. "
                "Remedy: unpack the archive again"
            )
    return scenes


def read_scene(scene: Scene) -> tuple[NDArray[np.int16], list[Event]]:
    """Samples `(n, 4)` of a scene and its events; no event starts after the recording."""
    samples = read_recording(scene.wav)
    return samples, read_events(scene.csv, duration=len(samples) / RATE)


def read_recording(path: Path, channels: int = CHANNELS) -> NDArray[np.int16]:
    """Samples of a wav file, int16 with shape `(n, channels)`; anything else is refused."""
    try:
        rate, samples = _read_wav(path)
    except Exception as error:  # scipy's reader meets wrong bytes with whatever comes
        raise BadRecording(f"{path}: {error}. Remedy: get this file again") from error
    found = samples.shape[1] if samples.ndim == 2 else 1
    for what, value, expected in (
        ("kind of sample", samples.dtype.name, "int16"),
        ("channels", found, channels),
        ("rate", rate, RATE),
    ):
        if value != expected:
            raise BadRecording(
                f"{path}: {what} is {value}, expected {expected}. "
                f"Remedy: convert it to {channels} channels of int16 at {RATE} Hz"
            )
    return samples.astype(np.int16, copy=False).reshape(-1, channels)


def read_events(path: Path, duration: float = math.inf) -> list[Event]:
    """Events of a scene's description; an error names the line.

    Columns are read by their position. Other names than :data:`COLUMNS` are told in the log, once;
    one of these names in another place is an error.

    Arguments:
        path: the csv file, with as many names in its first line.
        duration: seconds of the recording. An event may outlast it, but starts before its end.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadTable(f"{path}: {error}. Remedy: get this file again") from error
    rows = csv.reader(text.splitlines())
    try:
        header = tuple(name.strip() for name in next(rows, []))
        places = zip(header, COLUMNS, strict=False)
        elsewhere = any(name != expected and name in COLUMNS for name, expected in places)
        if len(header) != len(COLUMNS) or elsewhere:
            raise BadTable(
                f"{path}, line 1: the columns are {', '.join(header) or 'missing'}. "
                f"Remedy: they must be {', '.join(COLUMNS)}"
            )
        if header != COLUMNS:
            _tell(header, path)
        return [_event(path, rows.line_num, row, duration) for row in rows if row]
    except csv.Error as error:
        raise BadTable(
            f"{path}, line {rows.line_num}: {error}. Remedy: get this file again"
        ) from error


def sound_class(recording: str) -> str:
    """Class of a sound: the stem of its file without the last 3 digits.

    Example:
        >>> sound_class("clearthroat002.wav")
        'clearthroat'
    """
    stem = Path(recording).stem
    if re.fullmatch(r".+\d{3}", stem) is None or stem[:-3] not in CLASSES:
        raise ValueError(
            f"{recording!r} is not a class with 3 digits; the classes are {', '.join(CLASSES)}"
        )
    return stem[:-3]


def frame_labels(events: Sequence[Event], frames: int, places: int = 3) -> Labels:
    """Labels of the first frames of a scene, 20 ms each.

    An event belongs to the frames it sounds in, be it in part. If there are more than `places`,
    those that fill most of the frame are kept. Places follow the order of onsets.

    Arguments:
        events: the sounds of the scene.
        frames: number T of frames.
        places: greatest number S of sounds in a frame.
    """
    labels = Labels(
        np.zeros((frames, places), bool),
        np.full((frames, places), -1),
        np.zeros((frames, places, 3)),
    )
    events = sorted(events, key=lambda event: event.start)
    kinds = [CLASSES.index(sound_class(event.recording)) for event in events]
    directions = [from_degrees(event.azimuth, event.elevation) for event in events]
    share = _shares(events, frames)
    for frame in np.flatnonzero(share.any(1)):
        found = np.argsort(-share[frame], kind="stable")[:places]
        chosen = np.sort(found[share[frame, found] > 0])
        for place, event in enumerate(chosen):
            labels.active[frame, place] = True
            labels.kind[frame, place] = kinds[event]
            labels.direction[frame, place] = directions[event]
    return labels


def _recordings(folder: Path, overlap: int, split: int) -> Path:
    return folder / f"wav_ov{overlap}_split{split}_30db"


def _scenes_of_part(folder: Path, overlap: int, split: int, part: str) -> list[Scene]:
    recordings = _recordings(folder, overlap, split)
    if not recordings.is_dir():
        raise Unavailable(
            f"{recordings}: no such folder. "
            f"Remedy: unpack ov{overlap}_split{split}.zip into {folder}"
        )
    pattern = re.compile(rf"{part}_(\d+)_desc_30_100\.wav")
    found = (pattern.fullmatch(path.name) for path in recordings.iterdir())
    numbers = sorted(int(match[1]) for match in found if match)
    if not numbers:
        raise Unavailable(
            f"{recordings}: no scene {part}_1_desc_30_100.wav or other of this part. "
            "Remedy: unpack the archive again"
        )
    return [Scene(folder, overlap, split, part, number) for number in numbers]


def _read_wav(path: Path) -> tuple[int, NDArray[np.generic]]:
    """Rate and samples; chunks other than sound are passed over, a file cut short is an error."""
    from scipy.io import wavfile  # slow to import; trainings read no recordings

    with warnings.catch_warnings():
        warnings.simplefilter("error", wavfile.WavFileWarning)
        warnings.filterwarnings("ignore", "Chunk .non-data.", wavfile.WavFileWarning)
        rate, samples = wavfile.read(path)
    return rate, samples


def _tell(header: tuple[str, ...], path: Path) -> None:
    """Tells of a header with other names, of the first file that has it."""
    if header not in _TOLD:
        _TOLD.add(header)
        logger.warning(
            "%s: the columns %s are taken for %s, one by one; check that they are these",
            path,
            ", ".join(header),
            ", ".join(COLUMNS),
        )


def _event(path: Path, line: int, row: list[str], duration: float) -> Event:
    where = f"{path}, line {line}"
    if len(row) != len(COLUMNS):
        raise BadTable(
            f"{where}: {len(row)} cells where there are {len(COLUMNS)} columns. "
            "Remedy: complete the line or remove it"
        )
    try:
        sound_class(row[0].strip())
    except ValueError as error:
        raise BadTable(f"{where}, column {COLUMNS[0]!r}: {error}. Remedy: rename it") from error
    numbers = [_number(where, name, cell) for name, cell in zip(COLUMNS[1:], row[1:], strict=True)]
    event = Event(row[0].strip(), *numbers)
    _check_event(where, event, duration)
    return event


def _number(where: str, name: str, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadTable(
            f"{where}, column {name!r}: {cell.strip()!r} is not a finite number. "
            "Remedy: put a number there"
        )
    return number


def _check_event(where: str, event: Event, duration: float) -> None:
    if not 0 <= event.start < event.end:
        raise BadTable(
            f"{where}: the event lasts from {event.start} to {event.end} s. "
            "Remedy: 0 <= start_time < end_time"
        )
    if event.start >= duration:
        raise BadTable(
            f"{where}: the event starts at {event.start} s, but the recording ends at "
            f"{duration:g} s. Remedy: check that both files belong together"
        )
    for name, value, grid in (
        ("ele", event.elevation, ELEVATIONS),
        ("azi", event.azimuth, AZIMUTHS),
    ):
        if not grid[0] <= value <= grid[-1]:
            raise BadTable(
                f"{where}, column {name!r}: {value:g} degrees lie outside {grid[0]} to {grid[-1]}. "
                "Remedy: elevation comes before azimuth, both in degrees"
            )
    if event.distance <= 0:
        raise BadTable(
            f"{where}, column 'dist': {event.distance:g} m. Remedy: a distance is positive"
        )


def _shares(events: Sequence[Event], frames: int) -> NDArray[np.float64]:
    """How much of each frame each of E events fills, with shape `(T, E)`; rounding fills none."""
    start = np.array([event.start for event in events]) * FRAMES_PER_SECOND
    end = np.array([event.end for event in events]) * FRAMES_PER_SECOND
    frame = np.arange(frames)[:, None]
    share = np.minimum(end, frame + 1) - np.maximum(start, frame)
    return np.where(share > 1e-9, share, 0)
