"""Pictures show the numbers of the laws that they are drawn from."""

import math
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.collections import PathCollection, PolyCollection, QuadMesh
from matplotlib.patches import Ellipse
from numpy.typing import NDArray

from vwta import plot
from vwta.estimator.axes import AxisComponents
from vwta.estimator.conformal import Calibration
from vwta.estimator.predicted import PredictedLaw
from vwta.estimator.targets import Targets
from vwta.nn.heads import SoftmaxHypotheses

LINE = Targets("line", [100.0], [10.0], flat=True, names=["price"])
PLANE = Targets("line", [0.0, 5.0], [1.0, 1e-3], names=["east", "north"])
SPHERE = Targets("sphere", [0.0] * 3, [1.0] * 3)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


def law(points: object, odds: object, targets: Targets, head: str = "voronoi") -> PredictedLaw:
    z, p = (torch.tensor(x, dtype=torch.float64) for x in (points, odds))
    return PredictedLaw([SoftmaxHypotheses(z, p.log())], head, 0.3, targets)


def on_the_line(head: str = "voronoi") -> PredictedLaw:
    """Two rows of two modes, at 80 and 120, and at 70 and 120."""
    points = [[[-2.0], [1.8], [2.2]], [[-3.0], [1.8], [2.2]]]
    return law(points, [[0.3, 0.35, 0.35], [0.6, 0.2, 0.2]], LINE, head)


def in_the_plane(head: str = "voronoi") -> PredictedLaw:
    return law([[[-1.0, 0.0], [1.0, 0.5], [1.0, -0.5]]], [[0.3, 0.35, 0.35]], PLANE, head)


def integral(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum())


def test_density_is_the_density() -> None:
    ax = plot.density(on_the_line(), 1, y=71.0, level=0.5)
    y, p = ax.lines[0].get_data()
    assert np.allclose(p, np.exp(on_the_line()[1].log_prob(np.asarray(y)[:, None])[:, 0]))
    assert abs(integral(np.asarray(y), np.asarray(p)) - 1) < 0.01
    assert ax.get_xlabel() == "price"
    (region,) = ax.collections
    assert all(abs(x - 70) < 5 for x in region.get_paths()[0].vertices[:, 0])  # the likelier mode
    assert ax.lines[1].get_xdata()[0] == 71.0


def test_legend_hides_no_power_of_ten() -> None:
    wide = Targets("line", [3e5], [1e5], flat=True)
    ax = plot.density(law([[[-2.0], [2.0]]], [[0.5, 0.5]], wide))
    ax.figure.canvas.draw()
    assert not ax.yaxis.get_offset_text().get_text()
    assert ax.yaxis.get_ticklabels()[1].get_text().endswith("06")


def test_fan_has_the_regions() -> None:
    ax = plot.fan(on_the_line(), [1.0, 0.0], y=[80.0, 70.0], levels=[0.9], label="area")
    (blades,) = [c for c in ax.collections if isinstance(c, PolyCollection)]
    drawn = np.array([path.vertices[:4] for path in blades.get_paths()])
    region = on_the_line().hdr(0.9)
    assert np.allclose(drawn[:, [0, 2], 1], region.intervals)
    right = drawn[:, 1, 0] == 1.0  # the first law stands at x = 1
    assert np.array_equal(right, region.row.numpy() == 0)
    assert ax.get_xlabel() == "area"


def test_cells_are_in_the_unit_of_the_targets() -> None:
    ax = plot.cells(in_the_plane(), y=[1.0, 5.0])
    (found,) = [c for c in ax.collections if isinstance(c, PolyCollection)]
    upper = found.get_paths()[1].vertices
    assert np.isclose(upper[:, 1].min(), 5.0)  # halfway between the two at the right
    atoms = ax.collections[-1]
    assert np.allclose(atoms.get_offsets(), [[-1, 5], [1, 5.0005], [1, 4.9995]])
    assert np.allclose(atoms.get_array(), [0.3, 0.35, 0.35])
    ax = plot.cells(in_the_plane("kernel"))
    assert [(round(e.width, 6), round(e.height, 6)) for e in ax.patches] == [(0.6, 0.0006)] * 3
    assert all(isinstance(e, Ellipse) for e in ax.patches)
    points, wide = torch.zeros(1, 1, 2), torch.tensor([[[0.0, math.log(4.0)]]])
    atoms = AxisComponents(points.double(), torch.zeros(1, 1).double(), wide.double())
    (ellipse,) = plot.cells(PredictedLaw([atoms], "mdn", 0.5, PLANE)).patches
    assert np.allclose([ellipse.width, ellipse.height], [1.0, 2e-3])  # one standard deviation


def test_density_in_the_plane() -> None:
    ax = plot.density2d(in_the_plane(), y=[[1.0, 5.0], [-1.0, 5.0]], levels=[0.5])
    (mesh,) = [c for c in ax.collections if isinstance(c, QuadMesh)]
    at = mesh.get_coordinates()
    area = np.diff(at[0, :, 0])[:, None].T * np.diff(at[:, 0, 1])[:, None]
    assert abs(float((mesh.get_array() * area).sum()) - 1) < 0.02
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["50 %", "targets"]


def test_sphere_has_mass_1() -> None:
    points = [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]
    ax = plot.sphere(law(points, [[0.5, 0.3, 0.2]], SPHERE), y=[1.0, 0.0, 0.0])
    mesh = ax.collections[0]
    at = mesh.get_coordinates()
    p = np.asarray(mesh.get_array()).reshape(at.shape[:2])
    mass = (p * np.cos(at[..., 1])).sum() * np.ptp(at[0, :2, 0]) * np.ptp(at[:2, 0, 1])
    assert abs(mass - 1) < 0.03
    atoms, _ = [c for c in ax.collections if isinstance(c, PathCollection)]
    assert np.allclose(atoms.get_offsets(), [[0, 0], [np.pi / 2, 0], [0, np.pi / 2]])
    with pytest.raises(ValueError, match="projection='mollweide'"):
        plot.sphere(law(points, [[0.5, 0.3, 0.2]], SPHERE), ax=plt.figure().add_subplot())
    with pytest.raises(ValueError, match="for directions"):
        plot.sphere(in_the_plane())


def test_bandwidth_marks_that_of_the_model() -> None:
    y = [120.0, 72.0]
    ax = plot.bandwidth(on_the_line(), y)
    h, values = (np.asarray(x) for x in ax.lines[0].get_data())
    place = int(np.argmin(np.abs(h - 0.3)))
    assert np.isclose(values[place], on_the_line().log_prob(y).mean())
    assert np.isclose(values[0], on_the_line().with_number(h[0]).log_prob(y).mean())
    assert values[0] < values[place]
    assert list(ax.lines[1].get_data()[0]) == [0.3]
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1 - 1


def test_calibration_counts_covered_targets() -> None:
    many = on_the_line()[[0] * 300]
    y = many.sample(random_state=0)
    many.calibration = Calibration(torch.linspace(0, 0.5, 99))
    ax = plot.calibration(many, y)
    levels, share = (np.asarray(x) for x in ax.lines[1].get_data())
    bare = on_the_line()[[0] * 300]
    assert np.isclose(share[50], bare.covers(y, float(levels[50])).mean())
    assert np.abs(share - levels).max() < 1.36 / np.sqrt(300)  # y is drawn from these laws
    calibrated, covered = (np.asarray(x) for x in ax.lines[3].get_data())
    assert np.isclose(covered[49], many.covers(y, float(calibrated[49])).mean())
    assert covered[49] < 0.4


def test_scenarios_have_their_odds() -> None:
    ax = plot.scenarios(on_the_line(), 1)
    assert [text.get_text() for text in ax.texts] == ["60 %", "40 %"]
    assert abs(ax.texts[0].xy[0] - 70) < 1e-6
    ax = plot.scenarios(in_the_plane())
    assert sorted(text.get_text() for text in ax.texts) == ["30 %", "70 %"]
    picture = np.asarray(ax.images[0].get_array())
    left, right = picture[100, :80].min(0), picture[100, 120:].min(0)
    assert not np.allclose(left, right, atol=0.1)


def test_axes_are_those_given() -> None:
    figure, ax = plt.subplots()
    assert plot.density(on_the_line(), ax=ax) is ax
    assert plot.scenarios(on_the_line(), ax=ax) is ax
    assert len(figure.axes) == 1


def test_wrong_targets_are_named() -> None:
    with pytest.raises(ValueError, match=r"density is for targets of one column, these have 2\."):
        plot.density(in_the_plane())
    with pytest.raises(ValueError, match=r"density2d is for targets of 2 columns"):
        plot.density2d(on_the_line())
    with pytest.raises(ValueError, match="row 2 of 2"):
        plot.density(on_the_line(), 2)
    with pytest.raises(ValueError, match=r"x has shape \(3,\) for 2 laws"):
        plot.fan(on_the_line(), [1, 2, 3])


def test_sweep_keeps_other_columns_typical() -> None:
    X = pd.DataFrame({"area": [1.0, np.nan, 3.0], "kind": ["flat", "flat", "house"]})
    rows, x = plot.sweep(X, "area", count=5)
    assert list(rows) == ["area", "kind"]
    assert rows["area"].tolist() == x.tolist() == [1.0, 1.5, 2.0, 2.5, 3.0]
    assert set(rows["kind"]) == {"flat"}
    with pytest.raises(ValueError, match="'kind' has no numbers"):
        plot.sweep(X, "kind")
    with pytest.raises(ValueError, match="choose one of 'area', 'kind'"):
        plot.sweep(X, "size")
