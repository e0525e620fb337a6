"""Pictures of the UCI study show all numbers, and say what lies beyond them."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vwta.io.storage import write_table
from vwta.paper.figures import uci as module
from vwta.paper.methods import METHODS
from vwta.paper.metrics import tidy

VALUES = {
    ("boston", "mdn"): (2.5, 3.5),
    ("boston", "k_wta"): (2.5, 2.7),
    ("boston", "v_wta"): (400.0, 600.0),
    ("wine", "mdn"): (math.nan, 1.0),
    ("wine", "k_wta"): (math.inf, 1.0),
    ("wine", "v_wta"): (0.25, 0.75),
    ("mine", "v_wta"): (1.0, 2.0),
}
PRINTED = {
    ("boston", "pbp"): (2.4, 0.1),
    ("boston", "mdn"): (3.0, 0.2),
    ("boston", "v_wta"): (2.5, 0.3),
    ("wine", "mdn"): (math.nan, math.nan),
    ("wine", "v_wta"): (0.4, math.nan),
    ("year", "v_wta"): (3.2, math.nan),
}
DATASETS = ["boston", "wine", "year", "mine"]


def compare(folder: Path, datasets: list[str], *more: dict[str, Any]) -> None:
    """Draws the comparison of NLL, protocol `paper`."""
    rows = [
        {"protocol": "paper", "dataset": d, "method": m, "split": split, "value": value}
        for (d, m), values in VALUES.items()
        for split, value in enumerate(values)
    ]
    rows.append({**rows[0], "protocol": "released", "value": 77.0})
    common = {"study": "uci", "metric": "nll", "K": 5, "seed": 1, "n": 10}
    write_table(folder / "metrics", tidy([*rows, *more], **common), {})
    printed = [(d, "nll", m, mean, std) for (d, m), (mean, std) in PRINTED.items()]
    columns = ["dataset", "metric", "method", "mean", "std"]
    pd.DataFrame(printed, columns=columns).to_csv(folder / "reported.csv", index=False)
    files = folder / "metrics", folder / "reported.csv"
    module.comparison(*files, [], "paper", datasets, "nll")


def dots(axis: Axes) -> dict[tuple[str, bool], tuple[float, float | None]]:
    """Mean and half a bar of each dot in a panel, by method and whether it is filled."""
    labels = [label.get_text() for label in axis.figure.axes[0].get_yticklabels()]  # one for all
    found = {}
    for bar in axis.containers:
        assert isinstance(bar, ErrorbarContainer)
        dot, _, bars = bar.lines
        assert dot is not None
        segment = bars[0].get_segments()[0] if bars else None
        half = None if segment is None else float(segment[1][0] - segment[0][0]) / 2
        label = labels[round(float(dot.get_ydata()[0]))]
        filled = not same_color(dot.get_markerfacecolor(), "white")
        found[label, filled] = (float(dot.get_xdata()[0]), half)
    return found


def arrows(axis: Axes) -> list[tuple[str, float]]:
    """Marker and place of each arrow of a panel, from 0 at the left to 1 at the right border."""
    lines = [line for line in axis.lines if line.get_marker() in "<>"]
    return [(str(line.get_marker()), float(line.get_xdata()[0])) for line in lines]


def texts(axis: Axes) -> list[str]:
    return [text.get_text() for text in axis.texts]


def test_ours_are_filled_and_printed_ones_hollow(tmp_path: Path, drawn: list[Figure]) -> None:
    compare(tmp_path, DATASETS)
    found = dots(drawn[0].axes[0])
    assert found.keys() == {
        *(("PBP", False), ("MDN", False), ("MDN", True)),
        *(("K-WTA", True), ("V-WTA", False)),
    }
    assert found["PBP", False] == pytest.approx((2.4, 0.1))
    assert found["MDN", True] == pytest.approx((3.0, math.sqrt(0.5)))
    assert found["V-WTA", False] == pytest.approx((2.5, 0.3))
    assert dots(drawn[0].axes[1]) == {
        ("V-WTA", False): (0.4, None),
        ("V-WTA", True): (0.5, pytest.approx(math.sqrt(0.125))),
    }


def test_what_lies_far_off_is_told_at_the_border(tmp_path: Path, drawn: list[Figure]) -> None:
    compare(tmp_path, DATASETS)
    boston, wine, *_ = drawn[0].axes
    assert arrows(boston) == [(">", 1.0)]
    assert texts(boston) == ["500"]
    assert boston.get_xlim()[1] < 5
    assert arrows(wine) == [(">", 1.0)]
    assert texts(wine) == ["--", "--", "$\\infty$"]


def test_panels_without_data_say_so(tmp_path: Path, drawn: list[Figure]) -> None:
    compare(tmp_path, DATASETS)
    titles = [axis.get_title() for axis in drawn[0].axes]
    assert titles == ["Boston", "Wine", "Year: no data", "mine"]
    assert dots(drawn[0].axes[2]) == {("V-WTA", False): (3.2, None)}


def test_colours_are_those_of_the_methods(tmp_path: Path, drawn: list[Figure]) -> None:
    compare(tmp_path, ["boston"])
    by_label = {look.label: look for look in METHODS.values()}
    (axis,) = drawn[0].axes
    labels = [label.get_text() for label in axis.get_yticklabels()]
    for bar in axis.containers:
        dot = bar[0]
        look = by_label[labels[round(float(dot.get_ydata()[0]))]]
        assert (dot.get_color(), dot.get_marker()) == (look.color, look.marker)
    greys = [METHODS[name].color for name in ("pbp", "mc_dropout", "deep_ensembles")]
    assert all(color[1:3] == color[3:5] == color[5:7] for color in greys)


def test_the_ensemble_has_a_line_where_it_was_run(tmp_path: Path, drawn: list[Figure]) -> None:
    row = {"protocol": "paper", "dataset": "boston", "method": "v_wta_ensemble", "split": 0}
    compare(tmp_path, ["boston"])
    compare(tmp_path, ["boston"], {**row, "value": 2.6})
    last = [figure.axes[0].get_yticklabels()[-1].get_text() for figure in drawn]
    assert last == ["V-WTA", "V-WTA ensemble"]
    assert dots(drawn[1].axes[0])["V-WTA ensemble", True] == (2.6, None)


def test_a_second_line_of_panels_begins_after_five(tmp_path: Path, drawn: list[Figure]) -> None:
    numbers = {"protocol": "paper", "method": "v_wta", "split": 0, "value": 1.0}
    more = [{**numbers, "dataset": name} for name in ("power", "yacht", "naval")]
    compare(tmp_path, [*DATASETS, "power", "yacht", "naval"], *more)
    axes = drawn[0].axes
    assert len(axes) == 7
    assert [bool(axis.get_xlabel()) for axis in axes] == [False] * 2 + [True] * 5
    assert axes[5].get_position().y1 < axes[0].get_position().y0


def test_data_sets_without_any_number_are_left_out(tmp_path: Path, drawn: list[Figure]) -> None:
    compare(tmp_path, ["boston", "twoyear", "wine"])
    assert [axis.get_title() for axis in drawn[0].axes] == ["Boston", "Wine"]


def limits(ours: list[float], printed: list[float], std: float = 0.0) -> tuple[float, float]:
    pairs = (np.array([[mean, std] for mean in rows]).reshape(-1, 2) for rows in (ours, printed))
    return module.limits(*pairs)


def test_limits_hold_all_printed_numbers_and_ours_nearby() -> None:
    low, high = limits([0.5, 1.5, 4.5], [1.0, 2.0])
    assert 0.3 < low < 0.5
    assert 2.0 < high < 2.3


def test_limits_without_printed_numbers_leave_out_what_is_far_off() -> None:
    low, high = limits([1.0, 1.1, 1.2, 1.3, 1e6], [])
    assert 0.9 < low < 1.0
    assert 1.3 < high < 1.4


def test_limits_leave_room_for_bars_but_not_for_any() -> None:
    low, high = limits([], [1.0, 2.0], std=0.3)
    assert low < 0.7
    assert high > 2.3
    one_is_huge = np.array([[1.0, 0.1], [1.5, 0.1], [2.0, 1e6]])
    low, high = module.limits(np.empty((0, 2)), one_is_huge)
    assert low > 0.2
    assert high < 2.8


@pytest.mark.parametrize("ours", [[], [math.nan], [1.0], [0.0, 0.0], [1e6]])
@pytest.mark.parametrize("printed", [[], [math.inf], [0.0], [2.0]])
def test_limits_are_never_empty(ours: list[float], printed: list[float]) -> None:
    low, high = limits(ours, printed)
    assert math.isfinite(low)
    assert low < high < math.inf


SEARCHES = {  # NLL at these bandwidths, by split
    ("boston", 0): {0.1: 5.0, 0.5: 3.0, 2.0: 4.0},
    ("boston", 1): {2.0: 1.0, 0.1: 9.0, 0.5: 2.0},
    ("boston", 2): {0.5: math.inf, 2.0: 0.5, 1.0: 0.75},
    ("wine", 0): {0.1: 2.0, 0.5: 1.0, 2.0: 2.0},
}


def search(folder: Path, drawn: list[Figure]) -> list[Axes]:
    """Panels of Boston, wine, and year, which has no searches."""
    rows = []
    for (dataset, split), values in SEARCHES.items():
        lowest = min(values, key=values.__getitem__)
        for h, nll in values.items():
            chosen = h == lowest
            row = {
                "dataset": dataset,
                "seed": 1,
                "split": split,
                "h": h,
                "nll": nll,
                "chosen": chosen,
            }
            rows.append({**row, "border": chosen and h in (0.1, 2.0)})
    table = pd.DataFrame(rows).assign(protocol="paper", method="v_wta")
    other = [table.assign(nll=0.0, method="k_wta"), table.assign(nll=0.0, protocol="released")]
    write_table(folder / "search", pd.concat([table, *other]), {})
    module.bandwidth_search(folder / "search", [], "paper", "v_wta", ["boston", "wine", "year"])
    return list(drawn[0].axes)


def data(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def test_searches_are_lines_above_their_lowest(tmp_path: Path, drawn: list[Figure]) -> None:
    boston, wine, _ = search(tmp_path, drawn)
    *splits, chosen = boston.lines
    assert [data(line) for line in splits] == [
        [(0.1, 2.0), (0.5, 0.0), (2.0, 1.0)],
        [(0.1, 8.0), (0.5, 1.0), (2.0, 0.0)],
        [(1.0, 0.25), (2.0, 0.0)],
    ]
    assert data(chosen) == [(0.5, 0.0), (2.0, 0.0), (2.0, 0.0)]
    assert all(line.get_color() == METHODS["v_wta"].color for line in splits)
    assert boston.get_xscale() == "log"
    low, high = wine.get_ylim()
    assert low < 0
    assert high > 8


def test_a_choice_at_the_border_is_noted(tmp_path: Path, drawn: list[Figure]) -> None:
    boston, wine, year = search(tmp_path, drawn)
    assert texts(boston) == ["at the border in\n2 of 3 searches"]
    assert texts(wine) == []
    assert texts(year) == ["no data"]


def test_the_note_is_clear_of_the_lines(tmp_path: Path, drawn: list[Figure]) -> None:
    boston, *_ = search(tmp_path, drawn)
    note = boston.texts[0].get_window_extent()
    highest = max(y for line in boston.lines for _, y in data(line))
    assert boston.transData.transform((1.0, highest))[1] < note.y0


def test_a_narrow_range_of_bandwidths_leaves_its_ticks_apart(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    row = {"protocol": "paper", "dataset": "boston", "method": "v_wta", "seed": 1, "split": 0}
    tried = [{"h": h, "nll": h, "chosen": h == 0.5, "border": False} for h in (0.5, 0.51)]
    write_table(tmp_path / "search", pd.DataFrame([{**row, **one} for one in tried]), {})
    module.bandwidth_search(tmp_path / "search", [], "paper", "v_wta", ["boston"])
    low, high = drawn[0].axes[0].get_xlim()
    assert high / low == pytest.approx(module.NARROWEST)
    assert low < 0.5 < 0.51 < high


@pytest.mark.parametrize("lowest", [0.02, 0.007, 0.001, 0.0002])
def test_labels_of_bandwidths_do_not_overlap(
    tmp_path: Path, drawn: list[Figure], lowest: float
) -> None:
    common = {
        "protocol": "paper",
        "method": "v_wta",
        "seed": 1,
        "split": 0,
        "nll": 1.0,
        "border": False,
    }
    rows = [
        {**common, "dataset": dataset, "h": h, "chosen": h == 1.0}
        for dataset in ("boston", "wine", "yacht", "energy", "naval")
        for h in (lowest, 1.0)
    ]
    write_table(tmp_path / "search", pd.DataFrame(rows), {})
    names = sorted({str(row["dataset"]) for row in rows})
    module.bandwidth_search(tmp_path / "search", [], "paper", "v_wta", names)
    for axis in drawn[0].axes:
        low, high = axis.get_xlim()
        labels = [
            label.get_window_extent()
            for tick, label in zip(axis.get_xticks(), axis.get_xticklabels(), strict=True)
            if low <= tick <= high and label.get_text()
        ]
        assert len(labels) > 1
        assert all(a.x1 < b.x0 for a, b in pairwise(labels))
