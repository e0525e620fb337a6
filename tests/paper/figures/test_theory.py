"""Figures of theory show the numbers of the table, and pictures of proofs what they claim."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from vwta.geometry.spaces import Box
from vwta.io.storage import write_table, write_tensors
from vwta.paper.figures import proofs
from vwta.paper.figures import theory as properties
from vwta.paper.methods import METHODS
from vwta.paper.metrics import tidy
from vwta.paper.problems import of_study
from vwta.paper.synthetic import true_laws
from vwta.paper.theory.convex_sets import Disc, HalfPlane, Rectangle, Region
from vwta.seeds import generator

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
COUNTS = (9, 49)
DISC = Disc([0.1, 0.2], 0.5)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """All that the figures read, with a value for each row by which it can be told."""
    rows: list[dict[str, Any]] = []
    for protocol, factor in (("paper", 1.0), ("improved", 10.0)):
        common = {"protocol": protocol, "dataset": "single_gaussian", "n": 1}
        for K in COUNTS:
            metrics = [name for _, name, *_ in properties.PANELS]
            metrics += [name for _, _, name, *_ in properties.PANELS if name]
            metrics += [f"point_density_{name}" for name in ("tv_half", "tv_one", "tv_chance")]
            metrics += ["point_density_exponent"]
            for number, metric in enumerate(metrics, 1):
                one = {"metric": metric, "K": K, "method": "wta"}
                rows += [{**one, "seed": s, "value": factor * number / K * s} for s in (1, 3)]
                if protocol == "paper":
                    rows.append({**one, **common, "method": "lloyd", "value": 1 / K})
            for h in (0.1, 1.0):
                one = {"metric": "set_error", "K": K, "h": h}
                rows.append({**one, "method": "v_wta", "value": factor * h / K})
                rows.append({**one, "method": "k_wta", "value": factor * h})
                if protocol == "paper":
                    rows.append({**one, **common, "method": "v_lloyd", "value": h / K**2})
            rows.append({"metric": "set_error", "K": K, "method": "dirac_wta", "value": 0.5})
        rows.append({"metric": "set_error_floor", "method": "truth", "value": 1e-3})
        rows = [{**common, **row} for row in rows]
    path = tmp_path / "properties.parquet"
    write_table(path, tidy(rows, study="synthetic"), {})
    return path


def lines(axis: Axes) -> list[list[float]]:
    return [list(line.get_ydata()) for line in axis.lines]


def test_worst_bandwidths(table: Path, drawn: list[Figure]) -> None:
    properties.weak_convergence(table, [], ["paper", "improved"], ["single_gaussian"])
    for axis, factor in zip(drawn[0].axes, (1.0, 10.0), strict=True):
        kernel, *_ = (line for line in axis.lines if line.get_marker() == METHODS["k_wta"].marker)
        cut, *_ = (line for line in axis.lines if line.get_marker() == METHODS["v_wta"].marker)
        assert np.allclose(kernel.get_ydata(), [factor, factor])
        assert np.allclose(cut.get_ydata(), [factor / K for K in COUNTS])
        assert any(np.allclose(line, [1 / K**2 for K in COUNTS]) for line in lines(axis))
        assert any(np.allclose(line, [0.1 * factor / K for K in COUNTS]) for line in lines(axis))
        assert any(np.allclose(line, [1e-3, 1e-3]) for line in lines(axis))


def test_cells_are_means_over_seeds(table: Path, drawn: list[Figure]) -> None:
    properties.cells(table, [], ["paper", "improved"], ["single_gaussian"])
    axes = np.array(drawn[0].axes).reshape(2, -1)
    for column, (title, *_) in enumerate(properties.PANELS):
        assert axes[0, column].get_title() == title
        for row, factor in enumerate((1.0, 10.0)):
            trained, optimum, *_ = lines(axes[row, column])
            assert np.allclose(trained, [2 * factor * (column + 1) / K for K in COUNTS])
            assert np.allclose(optimum, [1 / K for K in COUNTS])
            (band,) = axes[row, column].collections
            heights = band.get_paths()[0].vertices[:, 1]
            assert heights.max() == pytest.approx(3 * factor * (column + 1) / 9)


def test_exponents_have_the_last_panel(table: Path, drawn: list[Figure]) -> None:
    properties.point_density(table, [], ["paper"], ["single_gaussian"])
    first, last = drawn[0].axes
    assert last.get_title() == "likeliest exponent"
    assert [0.5, 0.5] in lines(last)
    half, _, one, *_ = lines(first)
    assert np.allclose(np.array(one) / half, 9 / 8)


def test_missing_protocol_is_named(table: Path) -> None:
    with pytest.raises(ValueError, match="no properties of k_means_plus_plus"):
        properties.cells(table, [], ["paper", "k_means_plus_plus"], ["single_gaussian"])


def test_every_problem_has_a_colour() -> None:
    problems = of_study("synthetic")
    assert problems.keys() == true_laws.PROBLEMS.keys()
    assert len({problem.color for problem in problems.values()}) == len(problems)


@pytest.fixture
def predictions(tmp_path: Path) -> Callable[[int], Path]:
    """Files of made-up predictions."""

    def make(K: int) -> Path:
        points = torch.rand(1, K, 2, generator=generator(K), dtype=torch.float64) * 1.9 - 0.95
        tensors = {
            "x": torch.tensor([[0.6]], dtype=torch.float64),
            "points": points,
            "masses": torch.full((1, K), 1 / K, dtype=torch.float64),
            "scales": torch.zeros(1, K, dtype=torch.float64),
            "targets": torch.zeros(1, 5, 2, dtype=torch.float64),
        }
        write_tensors(tmp_path / str(K), tensors, {"K": K})
        return tmp_path / str(K)

    return make


def circles(axis: Axes) -> list[Circle]:
    return [patch for patch in axis.patches if isinstance(patch, Circle)]


def test_balls_hold_no_atoms(predictions: Callable[[int], Path], drawn: list[Figure]) -> None:
    proofs.proof_radius([predictions(K) for K in (20, 6)], [], 0.6, SQUARE)
    *panels, last = drawn[0].axes
    assert [axis.get_title().partition(",")[0] for axis in panels] == ["$K = 6$", "$K = 20$"]
    line = torch.linspace(-1, 1, 201, dtype=torch.float64)
    y = torch.cartesian_prod(line, line)
    for axis, K in zip(panels, (6, 20), strict=True):
        points = torch.rand(K, 2, generator=generator(K), dtype=torch.float64) * 1.9 - 0.95
        (ball,) = circles(axis)
        distance = (points - torch.tensor(ball.center)).square().sum(-1).sqrt()
        assert distance.min().item() == pytest.approx(ball.radius)
        assert torch.cdist(y, points).amin(1).max().item() == pytest.approx(ball.radius, abs=0.02)
    assert [ball.radius for ball in circles(last)] == [
        ball.radius for axis in panels for ball in circles(axis)
    ]


@pytest.mark.parametrize(
    "chosen", [DISC, Rectangle([-0.5, -0.5], [0.4, 0.6]), HalfPlane(0.7, 0.1)], ids=str
)
def test_parts_of_a_set(
    predictions: Callable[[int], Path], drawn: list[Figure], chosen: Region
) -> None:
    proofs.proof_partition([predictions(60)], [], 0.6, SQUARE, chosen)
    (axis,) = drawn[0].axes
    (border,) = axis.patches
    y = torch.rand(500, 2, generator=generator(0), dtype=torch.float64) * 2 - 1
    outline = border.get_path().transformed(border.get_patch_transform())
    assert (outline.contains_points(y.numpy()) == chosen.contains(y).numpy()).mean() > 0.99
    inner, around, outer, every = (c for c in axis.collections if isinstance(c, PolyCollection))
    assert len(every.get_paths()) == 60
    for cell in inner.get_paths():
        assert chosen.contains(torch.tensor(cell.vertices)).all()
    for cell in outer.get_paths():
        assert not chosen.contains(torch.tensor(cell.vertices)).all()
    assert len(inner.get_paths()) > 0
    assert len(outer.get_paths()) == len(around.get_paths()) > 0
    share = len(outer.get_paths()) / 60
    assert axis.get_title().endswith(f"score of cut cells {share:.2f}")
