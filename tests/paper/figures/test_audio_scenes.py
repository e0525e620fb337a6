"""Pictures of scenes: stars, ellipses, hypotheses and cells are where they should be."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from vwta.geometry.angles import from_degrees
from vwta.geometry.spaces import unit
from vwta.io.storage import write_tensors
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.figures import audio_scenes as module
from vwta.paper.figures.audio_scenes import MARKS, outline, scenes, scenes_on_sphere
from vwta.paper.figures.qualitative import SCORES, TARGET

NOISE = {kind: 5.0 * number for number, kind in enumerate(CLASSES, 1)}
K = 6
NAMES = ["ov2_split1/test_1_desc_30_100", "test_7_desc_30_100"]


def directions(*degrees: tuple[float, float]) -> Tensor:
    """Unit vectors of azimuths and elevations."""
    return torch.from_numpy(np.array([from_degrees(*pair) for pair in degrees]))


def tensors(recordings: int = 2, frames: int = 4) -> dict[str, Tensor]:
    """One sound in every frame, two in the first one, none in the last."""
    generator = torch.Generator().manual_seed(0)
    shape = (recordings, frames)
    points = unit(torch.randn(*shape, K, 3, generator=generator, dtype=torch.float64))
    kind = torch.full((*shape, 3), -1)
    kind[..., 0] = CLASSES.index("phone")
    direction = torch.zeros(*shape, 3, 3, dtype=torch.float64)
    direction[..., 0, :] = directions((30.0, -20.0))
    kind[0, 0, 1] = CLASSES.index("knock")
    direction[0, 0, 1] = directions((-150.0, 40.0))[0]
    kind[-1, -1], direction[-1, -1] = -1, 0.0
    scores = torch.rand(*shape, K, generator=generator)
    return {"points": points, "scores": scores, "direction": direction, "kind": kind}


def write(folder: Path, **changes: Any) -> Path:
    """File of the predictions; changes replace tensors or facts, None removes them."""
    stored: dict[str, Any] = tensors()
    facts: dict[str, Any] = {"names": NAMES, "noise": NOISE}
    facts["seconds"] = [[0.5, 1.0, 1.5, 2.25]] * 2
    for name, value in changes.items():
        place = stored if name in stored else facts
        place[name] = value
    kept = ({k: v for k, v in place.items() if v is not None} for place in (stored, facts))
    write_tensors(folder / "scenes", *kept)
    return folder / "scenes"


def panels(figure: Figure) -> list[Axes]:
    return [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]


def stars(axis: Axes) -> list[tuple[float, float]]:
    lines = [line for line in axis.lines if line.get_marker() in MARKS]
    assert [line.get_marker() for line in lines] == list(MARKS)[: len(lines)]
    assert {line.get_color() for line in lines} <= {TARGET}
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in lines]


def rings(axis: Axes) -> list[Line2D]:
    lines = [line for line in axis.lines if line.get_color() == TARGET]
    return [line for line in lines if line.get_marker() not in MARKS]


def circles(axis: Axes) -> PathCollection:
    (found,) = [one for one in axis.collections if isinstance(one, PathCollection)]
    return found


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Figure:
    """The scenes by azimuth and elevation, drawn once for all tests that only look at them."""
    kept: list[Figure] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "save", lambda figure, paths: kept.append(figure))
        scenes(write(tmp_path_factory.mktemp("picture")), [])
    kept[0].draw_without_rendering()
    plt.close(kept[0])
    return kept[0]


def test_rows_are_recordings_and_columns_are_frames(picture: Figure) -> None:
    shown = panels(picture)
    titles = [axis.get_title().replace("\N{NO-BREAK SPACE}", " ") for axis in shown]
    times = ["0.50 s  ★ phone", "1.00 s  ★ phone", "1.50 s  ★ phone", "2.25 s  ★ phone"]
    assert titles == [f"{times[0]} ◆ knock", *times[1:], *times[:3], "2.25 s  silence"]
    assert [axis.get_ylabel() for axis in shown[::4]] == [
        "two sounds at most,\nscene 1 (test)\nelevation (°)",
        "test_7\nelevation (°)",
    ]
    assert [bool(axis.get_xlabel()) for axis in shown] == [False] * 4 + [True] * 4
    assert all(axis.get_xlim() == (-180, 180) for axis in shown)
    assert all(axis.get_ylim() == (-90, 90) for axis in shown)


def test_stars_are_at_the_true_directions(picture: Figure) -> None:
    first, second, *_, last = panels(picture)
    assert np.allclose(stars(first), [(30.0, -20.0), (-150.0, 40.0)])
    assert np.allclose(stars(second), [(30.0, -20.0)])
    assert stars(last) == []
    assert not first.texts  # nothing is written over the picture


def test_every_hypothesis_is_a_circle_shaded_by_its_score(picture: Figure) -> None:
    stored = tensors()
    highest = float(stored["scores"].max())
    for axis, points, scores in zip(
        panels(picture),
        stored["points"].flatten(0, 1),
        stored["scores"].flatten(0, 1).double(),
        strict=True,
    ):
        places = circles(axis).get_offsets()
        assert places.shape == (K, 2)
        assert np.allclose(from_degrees(*np.array(places).T), points)
        assert np.allclose(circles(axis).get_facecolors(), SCORES(scores.numpy() / highest))
    bar = next(axis for axis in picture.axes if axis.get_label() == "<colorbar>")
    assert bar.get_ylabel() == "score"
    assert bar.get_ylim() == pytest.approx((0, highest))


def test_ellipses_are_one_and_two_deviations_of_the_class(picture: Figure) -> None:
    axis = panels(picture)[1]
    for ring, radius in zip(rings(axis), (NOISE["phone"], 2 * NOISE["phone"]), strict=True):
        x, y = np.array(ring.get_xdata()), np.array(ring.get_ydata())
        assert np.allclose(np.hypot(x - 30, y + 20), radius)
    assert len(rings(panels(picture)[0])) == 4
    assert not rings(panels(picture)[-1])


def arcs(azimuth: float, elevation: float, radius: float) -> list[np.ndarray]:
    """Arcs `(n, 2)` of an outline, between its gaps of nan."""
    curve = np.stack(outline(azimuth, elevation, radius), -1)
    gaps = np.flatnonzero(np.isnan(curve).any(1))
    assert np.isnan(curve[gaps]).all()
    split = np.split(curve, gaps)
    return [arc[~np.isnan(arc[:, 0])] for arc in split]


@pytest.mark.parametrize(
    "case",
    [(0, 0, 20), (170, 0, 40), (-180, 50, 30), (40, 70, 50), (-100, -60, 110), (90, 0, 180)],
)
def test_outlines_stay_in_the_panel_and_never_cross_it(case: tuple[float, float, float]) -> None:
    azimuth, elevation, radius = case
    found = arcs(*case)
    every = np.concatenate(found)
    assert np.abs(every[:, 0]).max() <= 180
    assert np.abs(every[:, 1]).max() <= 90
    for arc in found:
        assert (np.abs(np.diff(arc, axis=0)) < 1.0).all()
    # The same directions as the circle has before it is brought back.
    turn = np.linspace(0, 2 * np.pi, len(every))
    circle = from_degrees(azimuth + radius * np.cos(turn), elevation + radius * np.sin(turn))
    assert np.allclose(from_degrees(*every.T), circle, atol=1e-9)


def test_an_ellipse_wraps_around_the_back() -> None:
    right, left, again = arcs(170, 10, 40)
    assert np.allclose(right[0], (-150, 10))  # the outermost point, from the other side
    assert left[:, 0].min() == pytest.approx(130, abs=0.01)
    assert max(right[:, 0].max(), again[:, 0].max()) < -149
    assert left[:, 0].max() > 179
    assert min(right[:, 0].min(), again[:, 0].min()) < -179


def test_an_ellipse_that_passes_a_pole_comes_down_behind_it() -> None:
    found = arcs(0, 70, 30)
    behind = [arc for arc in found if np.abs(arc[:, 0]).min() > 90]
    assert behind
    lowest = np.concatenate(behind)[:, 1].min()
    assert lowest == pytest.approx(80, abs=0.1)  # 70 + 30 is 10 beyond the pole
    assert np.concatenate(found)[:, 1].max() > 89


def test_some_frames_are_drawn_on_the_sphere(tmp_path: Path, drawn: list[Figure]) -> None:
    scenes_on_sphere(write(tmp_path), [])
    shown = panels(drawn[0])
    assert {axis.name for axis in shown} == {"mollweide"}
    titles = [axis.get_title().replace("\N{NO-BREAK SPACE}", " ") for axis in shown]
    assert [title.partition("  ")[0] for title in titles] == ["0.50 s", "1.50 s", "2.25 s"] * 2
    assert titles[0].endswith("★ phone ◆ knock")
    assert np.allclose(stars(shown[0]), np.deg2rad([(30.0, -20.0), (-150.0, 40.0)]))
    points = tensors()["points"][1, 2]
    places = np.rad2deg(np.array(circles(shown[4]).get_offsets()))
    assert np.allclose(from_degrees(*places.T), points)
    thin = [line for line in shown[0].lines if line.get_lw() == 0.5]
    assert len(thin) == 3 * K - 6
    for line in (*thin, *rings(shown[0])):  # no stroke across the picture
        x = np.array(line.get_xdata(), float)
        assert np.nanmax(np.abs(np.diff(x)), initial=0) <= np.pi / 2 + 1e-9


@pytest.mark.parametrize("draw", [scenes, scenes_on_sphere])
def test_a_single_frame_has_room(tmp_path: Path, drawn: list[Figure], draw: Any) -> None:
    first = {name: tensor[:1, :1] for name, tensor in tensors().items()}
    draw(write(tmp_path, names=["test_1"], seconds=[[0.5]], **first), [])
    (axis,) = panels(drawn[0])
    assert axis.get_position().width > 0.5


def test_what_a_file_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"scenes: no kind, noise\. Remedy: make the predictions"):
        scenes(write(tmp_path, kind=None, noise=None), [])
    with pytest.raises(ValueError, match=r"2 names and \[4, 3\] times for 2 recordings of 4 fr"):
        scenes(write(tmp_path, seconds=[[0.5] * 4, [0.5] * 3]), [])
    plt.close("all")
