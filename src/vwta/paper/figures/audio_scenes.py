"""Pictures of predictions in scenes: directions of sounds, their dispersion, and hypotheses."""

from __future__ import annotations

__all__ = ["outline", "scenes", "scenes_on_sphere"]

import itertools
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from torch import Tensor

from vwta.geometry.angles import from_degrees, to_angles
from vwta.geometry.outlines import sphere_borders
from vwta.io.storage import read_tensors
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.figures.qualitative import SCORES, TARGET, square_panels
from vwta.paper.figures.style import COLUMN, save, style

TENSORS = ("points", "scores", "direction", "kind")
FACTS = ("names", "seconds", "noise")
DEVIATIONS = {1: "-", 2: "--"}  # of the noise, and how their outlines are drawn
STEP = 0.5  # degrees between points of a curve, at most
ON_SPHERE = 3  # frames of a recording, at most
SMALL = 6  # size of titles and names
WIDE = 38  # letters of a line of a title
MARKS = {"*": ("★", 8.0), "D": ("◆", 5.0), "^": ("▲", 6.5)}  # of sources: sign and size
AT_ONCE = {"ov1": "one sound at a time", "ov2": "two sounds at most", "ov3": "three at most"}

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


class Frame(NamedTuple):
    """The picture of one frame.

    Attributes:
        title: when it is.
        points: hypotheses, unit vectors with shape `(K, 3)`.
        scores: theirs, with shape `(K,)`.
        direction: where sounds come from, unit vectors with shape `(s, 3)`.
        kinds: their classes, s of them.
    """

    title: str
    points: Tensor
    scores: Tensor
    direction: Tensor
    kinds: Sequence[str]


class Scenes(NamedTuple):
    """Frames of a figure for all recordings, their names, and the noise in degrees by class."""

    frames: Sequence[Sequence[Frame]]
    names: Sequence[str]
    noise: Mapping[str, float]


def scenes(predictions: Path, paths: Sequence[Path]) -> None:
    """Draws hypotheses by azimuth and elevation: a row for each recording, a column for each frame.

    Stars, diamonds and triangles are the true directions; titles name their classes. Ellipses are
    one and two standard deviations of the noise on both angles around them. They go on at the other
    side of the panel where azimuths wrap, and come down half a turn away where elevations pass a
    pole.

    Arguments:
        predictions: file of predictions: `points` `(R, F, K, 3)`, `scores` `(R, F, K)`, `direction`
            `(R, F, S, 3)` and `kind` `(R, F, S)`, -1 where nothing sounds; its metadata has `names`
            of the recordings, `seconds` of each frame, and `noise` in degrees by class.
        paths: files to write, in the format of their suffix.
    """
    found = _read(predictions)
    rows, columns = len(found.frames), len(found.frames[0])
    with style():
        size = _size(rows, columns, 0.52 * COLUMN)
        figure, axes = square_panels(rows, columns, size)
        shade = _shade(found.frames)
        for line, frames, name in zip(axes, found.frames, found.names, strict=True):
            for axis, frame in zip(line, frames, strict=True):
                axis.set(xlim=(-180, 180), ylim=(-90, 90), aspect="equal")
                axis.set(xticks=range(-180, 181, 90), yticks=range(-90, 91, 45))
                axis.spines[:].set_visible(True)
                _draw(axis, frame, found.noise, shade, degree=1.0)
                axis.label_outer()
            line[0].set_ylabel(f"{_in_words(name)}\nelevation (°)", fontsize=SMALL)
        for axis in axes[-1]:
            axis.set_xlabel("azimuth (°)")
        _explain(figure, list(axes.flat), shade)
        save(figure, paths)


def scenes_on_sphere(predictions: Path, paths: Sequence[Path]) -> None:
    """Draws some of the frames of :func:`scenes` on the whole sphere, with the Voronoi cells.

    The projection of Mollweide keeps areas, so that a cell is as large as it looks.

    Arguments as of :func:`scenes`.
    """
    found = _read(predictions)
    count = len(found.frames[0])
    shown = np.linspace(0, count - 1, min(count, ON_SPHERE)).round().astype(int).tolist()
    frames = [[line[number] for number in shown] for line in found.frames]
    with style():
        size = _size(len(frames), len(shown), 0.78 * COLUMN)
        figure, axes = square_panels(len(frames), len(shown), size, projection="mollweide")
        shade = _shade(frames)
        for line, row, name in zip(axes, frames, found.names, strict=True):
            for axis, frame in zip(line, row, strict=True):
                axis.set_xticks(np.deg2rad(range(-120, 121, 60)), [])
                axis.set_yticks(np.deg2rad(range(-60, 61, 30)), [])
                for arc in sphere_borders(frame.points, STEP):
                    curve = _scaled(_broken_at_jumps(arc), math.pi / 180)
                    axis.plot(*curve, color="black", lw=0.5, zorder=1.5)
                _draw(axis, frame, found.noise, shade, degree=math.pi / 180)
            line[0].set_ylabel(_in_words(name), fontsize=SMALL)
        border = Line2D([], [], color="black", lw=0.5, label="border of Voronoi cells")
        _explain(figure, list(axes.flat), shade, border)
        save(figure, paths)


def outline(azimuth: float, elevation: float, radius: float) -> Curve:
    """Ring around a source in a figure: where the noise on both angles has some size.

    The circle of this radius around the angles of a source, brought back to azimuths from -180 to
    180 and elevations from -90 to 90; where it jumps from one side to the other both are nan.

    Arguments:
        azimuth: of the source, in degrees.
        elevation: likewise.
        radius: of the circle, in degrees.
    """
    steps = math.ceil(2 * math.pi * max(radius, 1.0) / STEP)
    turn = np.linspace(0, 2 * np.pi, steps + 1)
    a, e = azimuth + radius * np.cos(turn), elevation + radius * np.sin(turn)
    return _broken_at_jumps(torch.from_numpy(from_degrees(a, e)))


def _read(path: Path) -> Scenes:
    """Reads predictions; an error names what a file lacks."""
    tensors, facts = read_tensors(path)
    lacking = [name for name in TENSORS if name not in tensors]
    lacking += [name for name in FACTS if name not in facts]
    if lacking:
        raise ValueError(f"{path}: no {', '.join(lacking)}. Remedy: make the predictions again")
    points, scores, direction, kind = (tensors[name] for name in TENSORS)
    recordings, count = points.shape[:2]
    times = [len(of_recording) for of_recording in facts["seconds"]]
    if len(facts["names"]) != recordings or times != [count] * recordings:
        raise ValueError(
            f"{path}: {len(facts['names'])} names and {times} times for {recordings} recordings of "
            f"{count} frames. Remedy: make the predictions again"
        )
    frames = []
    for r, seconds in enumerate(facts["seconds"]):
        line = []
        for f, second in enumerate(seconds):
            sounds = kind[r, f] >= 0
            kinds = [CLASSES[int(index)] for index in kind[r, f][sounds]]
            atoms = points[r, f], scores[r, f]
            line.append(Frame(f"{second:.2f} s", *atoms, direction[r, f][sounds], kinds))
        frames.append(line)
    return Scenes(frames, facts["names"], facts["noise"])


def _size(rows: int, columns: int, width: float) -> tuple[float, float]:
    """Inches of a figure whose panels, twice as wide as high, have this width or more."""
    beside, below, title = 0.9, 0.8, 0.16
    width = max(width, 1.3 * COLUMN / columns)
    return columns * width + beside, rows * (0.46 * width + title) + below


def _draw(
    axis: Axes, frame: Frame, noise: Mapping[str, float], shade: Normalize, degree: float
) -> None:
    """Draws a frame; a degree is so much on the axes."""
    marks = list(itertools.islice(itertools.cycle(MARKS), len(frame.kinds)))
    names = " ".join(
        f"{MARKS[mark][0]}\N{NO-BREAK SPACE}{kind}"
        for mark, kind in zip(marks, frame.kinds, strict=True)
    )
    title = textwrap.fill(f"{frame.title}  {names or 'silence'}", WIDE)
    axis.set_title(title, fontsize=SMALL)
    x, y = _scaled(_degrees(frame.points), degree)
    color = SCORES(shade(frame.scores.double().numpy()))
    look: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.4, "clip_on": False}
    axis.scatter(x, y, s=14, c=color, zorder=3, **look).set_in_layout(False)
    azimuth, elevation = _degrees(frame.direction)
    for a, e, kind in zip(azimuth, elevation, frame.kinds, strict=True):
        for times, line in DEVIATIONS.items():
            curve = _scaled(outline(a, e, times * noise[kind]), degree)
            axis.plot(*curve, color=TARGET, lw=0.8, ls=line, zorder=2)
    places = zip(*_scaled((azimuth, elevation), degree), marks, strict=True)
    for a, e, mark in places:
        axis.plot(a, e, ls="", zorder=4, clip_on=False, in_layout=False, **_look(mark))


def _explain(figure: Figure, axes: list[Axes], shade: Normalize, *more: Line2D) -> None:
    """The bar of colours and the legend."""
    bar = figure.colorbar(plt.cm.ScalarMappable(shade, SCORES), ax=axes, pad=0.01, aspect=25)
    bar.set_label("score")
    bar.outline.set_linewidth(0.5)
    ring: dict[str, Any] = {"color": TARGET, "lw": 0.8}
    dot: dict[str, Any] = {"marker": "o", "color": SCORES(0.6), "mec": "black", "mew": 0.4}
    entries = [
        Line2D([], [], ls="", label="true direction", **_look("*")),
        Line2D([], [], ls=DEVIATIONS[1], label="one standard deviation", **ring),
        Line2D([], [], ls=DEVIATIONS[2], label="two", **ring),
        Line2D([], [], ls="", label="hypothesis", **dot),
        *more,
    ]
    columns = max(2, int(figure.get_figwidth() / 1.3))
    figure.legend(handles=entries, loc="outside lower center", ncols=columns)


def _look(mark: str) -> dict[str, Any]:
    """Look of a true direction."""
    return {"marker": mark, "ms": MARKS[mark][1], "color": TARGET, "mec": "black", "mew": 0.4}


def _shade(frames: Sequence[Sequence[Frame]]) -> Normalize:
    return Normalize(0, max(float(frame.scores.max()) for line in frames for frame in line))


def _in_words(name: str) -> str:
    """How many sounds a recording has at once, and its number; another name as it is."""
    name = name.removesuffix("_desc_30_100")
    found = re.fullmatch(r"(ov[123])_split\d+/(train|test)_(\d+)", name)
    return f"{AT_ONCE[found[1]]},\nscene {found[3]} ({found[2]})" if found else name


def _degrees(direction: Tensor) -> Curve:
    """Azimuths and elevations `(n,)` of vectors `(n, 3)`."""
    azimuth, elevation = np.rad2deg(to_angles(direction.double()).numpy()).reshape(-1, 2).T
    return azimuth, elevation


def _scaled(curve: Curve, degree: float) -> Curve:
    return curve[0] * degree, curve[1] * degree


def _broken_at_jumps(direction: Tensor) -> Curve:
    """Angles of a curve, with nan where azimuths jump: from -180 to 180, or over a pole."""
    azimuth, elevation = _degrees(direction)
    jumps = np.flatnonzero(np.abs(np.diff(azimuth)) > 90) + 1
    return np.insert(azimuth, jumps, np.nan), np.insert(elevation, jumps, np.nan)
