"""Pictures of the audio study show the numbers of the table, and say what they leave out."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vwta.io.storage import write_table
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.figures import audio as module
from vwta.paper.figures.labels import keep_apart
from vwta.paper.figures.training_curves import training_curves_by_K
from vwta.paper.methods import METHODS
from vwta.paper.metrics import tidy

H = [0.1, 0.3, 1.0]
SWEPT = {  # NLL at these bandwidths, made up
    "v_wta": [5.0, 1.25, 1.5],
    "k_wta": [4.5, 1.375, 2.25],
    "unweighted_k_wta": [4.0, 2.0, 2.375],
    "tk_hist": [60.0, 3.0, 1.75],
}
FLAT = {"unif_v_wta": 1.5625, "unif_hist": 1.8125, "m_vmf": 1.125}
TUNED = {"v_wta": (0.4, 1.2), "k_wta": (0.25, 1.3), "tk_hist": (2.0, 1.7)}
DISPERSIONS = {"truth": (5.0, 10.0, 40.0), "wta": (7.0, 11.0, 30.0), "hist": (31.0, 30.0, 45.0)}


def row(method: str, value: float, K: int | None, metric: str = "nll", **more: Any) -> Any:
    return {"method": method, "value": value, "K": K, "metric": metric, "seed": 1, "n": 50, **more}


def likelihoods(K: int) -> list[Any]:
    rows = [
        row(method, value + K / 100, K, h=h)
        for method, values in SWEPT.items()
        for h, value in zip(H, values, strict=True)
    ]
    rows += [row(method, value, K) for method, value in FLAT.items()]
    return rows + [row(m, value, K, h=h, tuned=True) for m, (h, value) in TUNED.items()]


def errors(K: int) -> list[Any]:
    bias = "monte_carlo_bias"
    rows = [row("v_wta", -0.001 / h**2, K, bias, h=h) for h in H]
    rows += [row("tk_hist", -0.002 / h**2, K, bias, h=h) for h in H]
    rows += [row("unif_v_wta", -0.004, K, bias), row("unif_hist", 0.006, K, bias)]
    empty = "monte_carlo_empty"
    return [*rows, row("v_wta", 5, K, empty, n=1000), row("tk_hist", 0, K, empty, n=1000)]


def dispersions(K: int | None, methods: tuple[str, ...]) -> list[Any]:
    return [
        row(method, value, K, f"dispersion_{kind}")
        for method in methods
        for kind, value in zip(CLASSES[:3], DISPERSIONS[method], strict=True)
    ]


def draw(name: str, folder: Path, rows: list[Any], **where: str) -> None:
    table = tidy(rows, study="audio", protocol="paper", dataset="ansyn")
    write_table(folder / "metrics", table, {})
    place = {"protocol": "paper", "dataset": "ansyn", **where}
    getattr(module, name)(folder / "metrics", [], **place)


def data(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def by_label(axis: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axis.lines}


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_curves_have_the_numbers_of_the_table(tmp_path: Path, drawn: list[Figure]) -> None:
    truth = row("truth", 0.9375, None)
    draw("nll_against_h", tmp_path, [*likelihoods(16), *likelihoods(9), truth])
    assert [axis.get_title() for axis in drawn[0].axes] == ["$K = 9$", "$K = 16$"]
    for axis, K in zip(drawn[0].axes, (9, 16), strict=True):
        lines = by_label(axis)
        for method, values in SWEPT.items():
            line, look = lines[METHODS[method].label], METHODS[method]
            expected = [(h, pytest.approx(v + K / 100)) for h, v in zip(H, values, strict=True)]
            assert data(line) == expected
            assert (line.get_color(), line.get_marker()) == (look.color, look.marker)
        for method, value in {**FLAT, "truth": 0.9375}.items():
            line = lines[METHODS[method].label]
            assert set(line.get_ydata()) == {value}
            assert line.get_linestyle() != "-"
        assert set(lines[r"uniform density, $\log 4 \pi$"].get_ydata()) == {math.log(4 * math.pi)}
    names = {METHODS[name].label for name in (*SWEPT, *FLAT, "truth")}
    assert set(legend(drawn[0])) == names | {r"uniform density, $\log 4 \pi$", "tuned $h$"}


def test_tuned_bandwidths_are_hollow_markers(tmp_path: Path, drawn: list[Figure]) -> None:
    draw("nll_against_h", tmp_path, likelihoods(9))
    (axis,) = drawn[0].axes
    hollow = [line for line in axis.lines if same_color(line.get_markerfacecolor(), "white")]
    found = {line.get_color(): data(line) for line in hollow}
    assert found == {METHODS[method].color: [point] for method, point in TUNED.items()}
    low, high = axis.get_xlim()
    assert low < H[0] < TUNED["tk_hist"][0] < high  # one beyond the given bandwidths is shown


def test_the_scale_is_that_of_the_right_ends(tmp_path: Path, drawn: list[Figure]) -> None:
    """Small bandwidths may be far off; all else is to be seen, with one scale for all K."""
    draw("nll_against_h", tmp_path, [*likelihoods(9), *likelihoods(25)])
    limits = {axis.get_ylim() for axis in drawn[0].axes}
    assert len(limits) == 1
    ((low, high),) = limits
    assert low < FLAT["m_vmf"]
    assert math.log(4 * math.pi) < high < 3.5


def test_a_method_that_is_not_finite_is_named(tmp_path: Path, drawn: list[Figure]) -> None:
    rows = [one for one in likelihoods(9) if one["method"] != "m_vmf"]
    draw("nll_against_h", tmp_path, [*rows, row("m_vmf", math.inf, 9)])
    (axis,) = drawn[0].axes
    assert [text.get_text() for text in axis.texts] == ["not finite: M-vMF"]
    assert "M-vMF" not in legend(drawn[0])
    assert np.isfinite(axis.get_ylim()).all()


def test_a_fifth_panel_begins_a_line(tmp_path: Path, drawn: list[Figure]) -> None:
    counts = (9, 16, 20, 25, 49)
    draw("nll_against_h", tmp_path, [one for K in counts for one in likelihoods(K)])
    axes = drawn[0].axes
    assert [axis.get_title() for axis in axes] == [f"$K = {K}$" for K in counts]
    assert axes[4].get_position().y1 < axes[0].get_position().y0
    assert [bool(axis.get_ylabel()) for axis in axes] == [True, False, False, False, True]


@pytest.mark.parametrize("counts", [[9], [9, 16], [9, 16, 25], [9, 16, 20, 25]])
def test_legends_lie_within_the_picture(
    tmp_path: Path, drawn: list[Figure], counts: list[int]
) -> None:
    rows = [one for K in counts for one in (*likelihoods(K), *errors(K))]
    rows.append(row("truth", 0.5, None))
    for name in ("nll_against_h", "monte_carlo"):
        draw(name, tmp_path, rows)
        (legend,) = drawn[-1].legends
        box = legend.get_window_extent()
        assert drawn[-1].bbox.x0 <= box.x0
        assert box.x1 <= drawn[-1].bbox.x1


def test_errors_of_volumes_are_drawn_against_h(tmp_path: Path, drawn: list[Figure]) -> None:
    draw("monte_carlo", tmp_path, [*errors(9), *errors(16)])
    assert [axis.get_title() for axis in drawn[0].axes] == ["$K = 9$", "$K = 16$"]
    axis = drawn[0].axes[1]
    lines = by_label(axis)
    for label, factor in (("V-WTA", 1), ("TK-Hist", 2)):
        assert data(lines[label]) == [(h, pytest.approx(-factor * 0.001 / h**2)) for h in H]
    assert set(lines["Unif. V-WTA"].get_ydata()) == {-0.004}
    assert set(lines["Unif. Hist"].get_ydata()) == {0.006}
    (note,) = axis.texts
    assert note.get_text() == "targets in cells without a point:\nV-WTA 0.5 %, TK-Hist 0 %"
    low, high = axis.get_ylim()
    assert low < -0.2
    assert high > 0.006


def test_predicted_dispersions_stand_over_the_true_ones(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    rows = dispersions(None, ("truth",))
    for K, rho in ((9, 0.5), (16, 1.0)):
        rows += dispersions(K, ("wta", "hist"))
        rows += [row("wta", rho, K, "dispersion_correlation")]
        rows += [row("hist", -0.5, K, "dispersion_correlation")]
    draw("dispersion", tmp_path, rows)
    first, second = drawn[0].axes
    assert first.get_title() == "$K = 9$, $\\rho$ = 0.50\n(Hist -0.50)"
    assert second.get_title() == "$K = 16$, $\\rho$ = 1.00\n(Hist -0.50)"
    for axis in (first, second):
        lines = by_label(axis)
        for method in ("wta", "hist"):
            pairs = set(zip(DISPERSIONS["truth"], DISPERSIONS[method], strict=True))
            assert set(data(lines[METHODS[method].label])) == pairs
        diagonal = data(lines["equal"])
        assert all(x == y for x, y in diagonal)
        assert lines["Hist"].get_alpha() < lines["WTA"].get_alpha()
        places = {text.get_text(): text.get_position()[0] for text in axis.texts}
        assert places == dict(zip(CLASSES[:3], DISPERSIONS["truth"], strict=True))
    assert legend(drawn[0]) == ["equal", "WTA", "Hist"]


def test_names_of_classes_do_not_overlap(tmp_path: Path, drawn: list[Figure]) -> None:
    rows = []
    for number, kind in enumerate(CLASSES):  # true dispersions next to each other
        rows.append(row("truth", 20 + number / 10, None, f"dispersion_{kind}"))
        rows += [row("wta", 30.0, K, f"dispersion_{kind}") for K in (9, 16, 20, 25)]
    draw("dispersion", tmp_path, rows)
    for axis in drawn[0].axes:
        boxes = sorted((text.get_window_extent() for text in axis.texts), key=lambda box: box.x0)
        assert len(boxes) == len(CLASSES)
        assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))
        assert max(box.y1 for box in boxes) <= axis.title.get_window_extent().y0
        order = [text.get_text() for text in sorted(axis.texts, key=lambda t: t.get_position()[0])]
        assert order == list(CLASSES)


def test_classes_without_a_dispersion_are_left_out(tmp_path: Path, drawn: list[Figure]) -> None:
    rows = [*dispersions(None, ("truth",)), *dispersions(9, ("wta",))]
    for one in rows:
        if one["metric"] == f"dispersion_{CLASSES[1]}":
            one["value"] = math.nan
    draw("dispersion", tmp_path, rows)
    (axis,) = drawn[0].axes
    assert {text.get_text() for text in axis.texts} == {CLASSES[0], CLASSES[2]}
    assert set(data(by_label(axis)["WTA"])) == {(5.0, 7.0), (40.0, 30.0)}


def test_a_correlation_without_a_value_is_told(tmp_path: Path, drawn: list[Figure]) -> None:
    rows = [*dispersions(None, ("truth",)), *dispersions(9, ("wta",))]
    draw("dispersion", tmp_path, [*rows, row("wta", math.nan, 9, "dispersion_correlation")])
    assert drawn[0].axes[0].get_title() == "$K = 9$, $\\rho$ = undefined"


def test_labels_move_no_more_than_they_must() -> None:
    assert keep_apart([1.0, 2.0, 9.0], 1.0, 0.0, 10.0).tolist() == [1.0, 2.0, 9.0]
    assert keep_apart([4.0, 4.0, 4.0], 1.0, 0.0, 10.0).tolist() == [3.0, 4.0, 5.0]
    assert keep_apart([9.9, 9.8], 1.0, 0.0, 10.0).tolist() == [10.0, 9.0]
    assert keep_apart([0.0, 0.0], 1.0, 0.0, 10.0).tolist() == [0.0, 1.0]
    assert keep_apart([], 1.0, 0.0, 10.0).tolist() == []


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("nll_against_h", "nll"),
        ("monte_carlo", "monte_carlo_bias"),
        ("dispersion", "dispersion_speech"),
    ],
)
def test_missing_rows_are_named(tmp_path: Path, name: str, metric: str) -> None:
    other = row("wta", 0.1, 9, "risk")
    message = rf"no {metric} of paper on ansyn for any K: metrics there are \['risk'\]"
    with pytest.raises(ValueError, match=message):
        draw(name, tmp_path, [other])
    with pytest.raises(ValueError, match=f"no {metric} of released on ansyn"):
        draw(name, tmp_path, likelihoods(9), protocol="released")


def test_dispersions_without_the_true_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no dispersion of the true law of paper on ansyn"):
        draw("dispersion", tmp_path, dispersions(9, ("wta",)))


def test_training_has_rows_for_each_model_and_a_column_for_each_K(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    epochs = range(1, 5)
    parts = [
        pd.DataFrame(
            {"epoch": epochs, "training": K / 10, "loss": [K, K - 1, K - 2, K - 1]}
        ).assign(protocol="paper", dataset="ansyn", model=model, K=K, seed=1)
        for model in ("wta", "m_vmf")
        for K in (9, 16)
    ]
    table = pd.concat(parts).assign(selected_by_loss=lambda rows: rows["epoch"] == 3)
    table["distance"] = (table["K"] / table["epoch"]).where(table["model"] == "wta")
    last = (table["epoch"] == 4).astype(object)
    table["selected_by_distance"] = last.where(table["model"] == "wta", None)
    write_table(tmp_path / "curves", table, {})
    place = (tmp_path / "curves", [], "paper", "ansyn", ["wta", "m_vmf"])
    training_curves_by_K(*place, [9, 16])
    axes = drawn[0].axes
    assert [axis.get_title() for axis in axes[:2]] == ["$K = 9$", "$K = 16$"]
    assert [axis.get_ylabel() for axis in axes[::2]] == ["WTA loss", "WTA distance", "M-vMF loss"]
    for axis, K in zip(axes[2:4], (9, 16), strict=True):
        validation, selected = axis.lines
        assert data(validation) == [(epoch, K / epoch) for epoch in epochs]
        assert data(selected) == [(4, K / 4)]
    for axis, K in zip([*axes[:2], *axes[4:]], (9, 16, 9, 16), strict=True):
        _, validation, selected = axis.lines
        assert data(validation) == [(1, K), (2, K - 1), (3, K - 2), (4, K - 1)]
        assert data(selected) == [(3, K - 2)]
    with pytest.raises(ValueError, match="no curve of paper, wta on ansyn at K=25"):
        training_curves_by_K(*place, [9, 25])


def test_weights_selected_early_are_in_the_panel(tmp_path: Path, drawn: list[Figure]) -> None:
    epochs = range(1, 21)
    rows = pd.DataFrame({"epoch": epochs, "training": 5.0, "loss": [9.0, 1.0, *[5.0, 6.0] * 9]})
    rows = rows.assign(protocol="paper", dataset="ansyn", model="mdn", K=9, seed=1)
    write_table(tmp_path / "curves", rows.assign(selected_by_loss=rows["epoch"] == 2), {})
    training_curves_by_K(tmp_path / "curves", [], "paper", "ansyn", ["mdn"], [9])
    low, high = drawn[0].axes[0].get_ylim()
    assert low < 1.0
    assert 6.0 < high < 9.0  # the first epoch is left out
