"""Figures against K show the means of the right rows, and say so when rows are missing."""

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from vwta.io.storage import write_table
from vwta.paper.estimators import swept_in
from vwta.paper.figures import against_K
from vwta.paper.figures.against_K import ROWS, quantitative, tuned
from vwta.paper.methods import METHODS, in_panel, network_of, networks_in
from vwta.paper.metrics import tidy
from vwta.paper.problems import title

K = [16, 9, 20, 25, 49, 100]
SEEDS = [1, 2, 3]
H = {"single_gaussian": [0.1, 0.2], "changing_damier": [0.2, 0.3]}
GRID = [0.05, 0.1, 0.2, 0.3, 1.0]
NETWORK = [name for name in networks_in("synthetic") if name != "local"]  # which no figure shows
TUNED = ["v_wta", "k_wta", "tk_hist"]
KEYS = ["metric", "dataset", "method", "h", "tuned", "K", "seed"]

Change = Callable[[pd.DataFrame], pd.DataFrame]


def rows_of(dataset: str) -> list[dict[str, Any]]:
    """All that the tables have on a problem, without values."""
    runs = [{"dataset": dataset, "K": count, "seed": seed} for count in K for seed in SEEDS]
    rows: list[dict[str, Any]] = []
    for run in runs:
        for method in swept_in("synthetic"):
            rows += [{**run, "metric": "nll", "method": method, "h": h} for h in GRID]
        for method in TUNED:
            h = 0.2 if run["seed"] == 1 else 0.01 * run["K"] + run["seed"]  # one is in the grid
            rows.append({**run, "metric": "nll", "method": method, "h": h, "tuned": True})
        rows += [{**run, "metric": "nll", "method": m} for m in ("unif_v_wta", "unif_hist", "mdn")]
        rows += [{**run, "metric": "risk", "method": m} for m in NETWORK]
        rows += [{**run, "metric": "emd", "method": "v_wta", "h": h} for h in H[dataset]]
        for method in ("dirac_wta", "unif_v_wta", "unif_hist", "mdn"):
            rows.append({**run, "metric": "emd", "method": method})
    for count in K:
        for method in ("zador", "zador_hist", "lloyd"):
            rows.append({"dataset": dataset, "metric": "risk", "method": method, "K": count})
    return rows + [{"dataset": dataset, "metric": m, "method": "truth"} for m in ("nll", "emd")]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Numbers of two protocols, and of another metric, that differ in every row."""
    source = np.random.default_rng(0)
    rows = [row for dataset in H for row in rows_of(dataset)]
    rows += [{**row, "metric": "nll_capped"} for row in rows if row["metric"] == "nll"]
    both = [{**row, "protocol": protocol} for row in rows for protocol in ("paper", "other")]
    values = source.uniform(0.1, 1.0, len(both))
    return tidy({**row, "value": v} for row, v in zip(both, values, strict=True))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures in place of their files."""
    figures: list[Figure] = []

    def keep(figure: Figure, paths: list[Path]) -> None:
        figures.append(figure)
        plt.close(figure)

    monkeypatch.setattr(against_K, "save", keep)
    return figures


def write(table: pd.DataFrame, folder: Path) -> list[Path]:
    """The table in three files, as the pipeline has it."""
    reference = table["method"].isin(["zador", "zador_hist", "lloyd"])
    parts = {
        "evaluation": table[(table["metric"] != "emd") & ~reference],
        "emd": table[table["metric"] == "emd"],
        "theory": table[reference],
    }
    for name, part in parts.items():
        write_table(folder / name, part, {})
    return [folder / name for name in parts]


def draw(table: pd.DataFrame, folder: Path, band: str = "range", **changes: Any) -> None:
    settings = {
        "protocol": "paper",
        "otherwise": "paper",
        "measured_as": {},
        "models": NETWORK,
        "h": H,
        "K": K,
        "band": band,
    }
    quantitative(write(table, folder), reported(folder), [], **settings | changes)


def reported(folder: Path, rows: Sequence[dict[str, Any]] = ()) -> Path:
    """File of the paper's numbers; none, unless given."""
    columns = ["dataset", "metric", "method", "K", "h", "value"]
    path = folder / "reported.csv"
    if rows or not path.exists():
        pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


def draw_tuned(table: pd.DataFrame, folder: Path, **changes: Any) -> None:
    settings = {
        "protocol": "paper",
        "otherwise": "paper",
        "models": NETWORK,
        "methods": TUNED,
        "K": K,
    }
    tuned(write(table, folder)[0], [], datasets=list(H), **settings | changes)


def numbers(table: pd.DataFrame, column: str = "value", **where: Any) -> np.ndarray:
    """Numbers `(K, S)` of the protocol to be drawn, in ascending order of K."""
    mine = table[table["protocol"] == "paper"]
    for name, value in where.items():
        mine = mine[mine[name] == value]
    mine = mine.sort_values(["K", "seed"])
    return mine[column].to_numpy().reshape(len(K), -1)


def expected(table: pd.DataFrame, metric: str, dataset: str) -> dict[str, np.ndarray]:
    """The curves that a panel should show: numbers `(K, S)` by label."""
    where = {"metric": metric, "dataset": dataset, "tuned": False}
    shown = {
        METHODS[method].label: numbers(table, method=method, **where)
        for method in in_panel(metric)
        if method not in ("v_wta", "truth")
    }
    if "v_wta" in in_panel(metric):
        for h in H[dataset]:
            shown[f"V-WTA, $h = {h:g}$"] = numbers(table, method="v_wta", h=h, **where)
    return shown


def grid(figure: Figure) -> np.ndarray:
    """Panels, with shape `(rows, columns)`."""
    shape = figure.axes[0].get_gridspec().get_geometry()
    return np.array(figure.axes).reshape(shape)


def curves(axis: Axes) -> dict[str, np.ndarray]:
    """Points `(K, 2)` of the curves of a panel, by label."""
    lines = [line for line in axis.lines if len(line.get_xdata()) == len(K)]
    return {str(line.get_label()): line.get_xydata() for line in lines}


def bands(axis: Axes) -> dict[str, np.ndarray]:
    """Lower and upper bounds `(K, 2)` of the bands of a panel, by label of their curves."""
    found = {}
    for label, band in zip(curves(axis), axis.collections, strict=True):
        x, y = band.get_paths()[0].vertices.T
        bounds = [(y[x == count].min(), y[x == count].max()) for count in sorted(K)]
        found[label] = np.array(bounds)
    return found


def horizontal(axis: Axes) -> dict[str, float]:
    lines = [line for line in axis.lines if len(line.get_xdata()) == 2]
    return {str(line.get_label()): float(line.get_ydata()[0]) for line in lines}


PANELS = [(row, column) for row in range(len(ROWS)) for column in range(len(H))]


def test_panels_show_means_and_ranges(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    draw(table, tmp_path)
    panels = grid(drawn[0])
    assert panels.shape == (len(ROWS), len(H))
    for row, column in PANELS:
        axis = panels[row, column]
        wanted = expected(table, list(ROWS)[row], list(H)[column])
        shown, areas = curves(axis), bands(axis)
        assert shown.keys() == wanted.keys()
        for label, values in wanted.items():
            assert shown[label][:, 0].tolist() == sorted(K)
            assert np.allclose(shown[label][:, 1], values.mean(1), atol=0)
            assert np.allclose(areas[label][:, 0], values.min(1), atol=0)
            assert np.allclose(areas[label][:, 1], values.max(1), atol=0)


def test_bars_show_standard_deviations(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    draw(table, tmp_path, "deviation")
    panels = grid(drawn[0])
    for row, column in PANELS:
        axis = panels[row, column]
        wanted = expected(table, list(ROWS)[row], list(H)[column])
        with_seeds = {label for label, values in wanted.items() if values.shape[1] > 1}
        bars = {container.get_label(): container for container in axis.containers}
        assert bars.keys() == with_seeds
        for label, bar in bars.items():
            values = wanted[label]
            ends = np.array(bar[2][0].get_segments())  # (K, 2 ends, 2)
            assert np.allclose(bar[0].get_ydata(), values.mean(1), atol=0)
            deviation = values.std(1, ddof=1)
            assert np.allclose(ends[:, 0, 1], values.mean(1) - deviation)
            assert np.allclose(ends[:, 1, 1], values.mean(1) + deviation)


def test_a_single_seed_has_no_bars(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    draw(table[table["seed"].isna() | (table["seed"] == 2)], tmp_path, "deviation")
    for axis in drawn[0].axes:
        assert not axis.containers
        assert all(np.isfinite(points).all() for points in curves(axis).values())


def test_the_true_law_is_a_line(table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]) -> None:
    draw(table, tmp_path)
    panels = grid(drawn[0])
    truth = table[(table["method"] == "truth") & (table["protocol"] == "paper")]
    truth = truth.set_index(["metric", "dataset"])["value"]
    for row, column in PANELS:
        metric, dataset = list(ROWS)[row], list(H)[column]
        wanted = {} if metric == "risk" else {"True law": truth[metric, dataset]}
        assert horizontal(panels[row, column]) == wanted


def test_printed_numbers_are_hollow_markers_of_their_curve(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    at = {"dataset": "single_gaussian", "metric": "nll"}
    rows = [{**at, "method": "v_wta", "K": 9, "h": h, "value": h} for h in (0.1, 0.15)]
    rows += [{**at, "method": "mdn", "K": count, "value": 0.5} for count in (9, 16, 7)]
    reported(tmp_path, rows)
    draw(table, tmp_path)
    panels = grid(drawn[0])
    hollow = [line for line in panels[0, 0].lines if line.get_markerfacecolor() == "white"]
    points = [line.get_xydata().tolist() for line in hollow]
    assert sorted(points) == [[[9, 0.1]], [[9, 0.5], [16, 0.5]]]  # no curve has h = .15 or K = 7
    colours = {line.get_label(): line.get_color() for line in panels[0, 0].lines}
    assert {line.get_color() for line in hollow} == {colours["V-WTA, $h = 0.1$"], colours["MDN"]}
    for axis in panels.flat[1:]:
        assert all(line.get_markerfacecolor() != "white" for line in axis.lines)
    legends = [panels[row, -1].get_legend().get_texts()[-1].get_text() for row in range(3)]
    assert set(legends) == {"printed"}


def test_numbers_are_drawn_as_the_published_code_measures_them(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    capped = table[(table["metric"] == "nll") & (table["method"] == "mdn")]
    both = pd.concat([table, capped.assign(metric="nll_elsewhere", value=capped["value"] + 1)])
    draw(both, tmp_path, measured_as={"nll": "nll_elsewhere"})
    draw(table, tmp_path)
    for here, there in zip(grid(drawn[0]).flat, grid(drawn[1]).flat, strict=True):
        first, second = curves(here), curves(there)
        assert first.keys() == second.keys()
        for label, points in first.items():
            moved = 1.0 if here in grid(drawn[0])[0] and label == "MDN" else 0.0
            assert np.allclose(points[:, 1], second[label][:, 1] + moved)


def test_axes_are_named_and_scaled(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    draw(table, tmp_path)
    panels = grid(drawn[0])
    assert [axis.get_title() for axis in panels[0]] == [title(name) for name in H]
    assert [axis.get_yscale() for axis in panels[:, 0]] == ["linear", "log", "log"]
    assert {axis.get_xscale() for axis in drawn[0].axes} == {"log"}
    assert panels[-1, 0].get_xticks().tolist() == sorted(K)


def test_a_method_looks_the_same_everywhere(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    draw(table, tmp_path)
    looks: dict[str, set[Any]] = {}
    for axis in drawn[0].axes:
        handles = axis.legend_.legend_handles if axis.legend_ else []
        for line in [*axis.lines, *handles]:
            look = line.get_color(), line.get_marker(), line.get_linestyle()
            looks.setdefault(line.get_label(), set()).add(look)
    assert all(len(found) == 1 for found in looks.values()), looks
    of_bandwidths = [look for label, look in looks.items() if "$h" in label]
    assert len(of_bandwidths) == len(set.union(*of_bandwidths)) == 3


@pytest.mark.parametrize("figure", [draw, draw_tuned])
def test_nothing_overlaps(
    figure: Callable[..., None], table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    figure(table, tmp_path)
    drawn[0].draw_without_rendering()
    boxes = [axis.get_window_extent() for axis in drawn[0].axes]
    legends = [*drawn[0].legends, *(axis.legend_ for axis in drawn[0].axes if axis.legend_)]
    assert legends
    for legend in legends:
        box = legend.get_window_extent()
        assert not any(box.overlaps(other) for other in boxes)
        assert drawn[0].bbox.x0 <= box.x0
        assert box.x1 <= drawn[0].bbox.x1
    for axis in drawn[0].axes:
        written = labels(axis.xaxis), labels(axis.yaxis)
        assert len(written[1]) >= 2
        for some in written:
            assert not any(one.overlaps(other) for one, other in combinations(some, 2))


def test_a_narrow_scale_has_ticks(table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]) -> None:
    draw(table.assign(value=0.11 + table["value"] / 1000), tmp_path)
    drawn[0].draw_without_rendering()
    assert all(len(labels(axis.yaxis)) >= 3 for axis in grid(drawn[0])[1:].flat)


def labels(side: Axis) -> list[Bbox]:
    """Where the labels of a panel's side are."""
    low, high = side.get_view_interval()
    written = [tick.label1 for tick in side.get_major_ticks() if low <= tick.get_loc() <= high]
    return [
        label.get_window_extent() for label in written if label.get_visible() and label.get_text()
    ]


def test_only_trained_networks_are_asked_for(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    wta = table[~table["method"].map(network_of).isin(["hist", "mdn"])]
    draw(wta, tmp_path, models=["wta"])
    draw_tuned(wta, tmp_path, models=["wta"])
    assert curves(drawn[0].axes[0]).keys() == {
        "V-WTA, $h = 0.1$",
        "V-WTA, $h = 0.2$",
        "Unif. V-WTA",
    }
    assert curves(drawn[1].axes[0]).keys() == {"V-WTA", "K-WTA", "V-WTA, best fixed $h$"}


def test_tuned_rows_and_their_bandwidths(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    draw_tuned(table, tmp_path)
    panels = grid(drawn[0])
    for (above, below), dataset in zip(panels.T, H, strict=True):
        where = {"metric": "nll", "dataset": dataset}
        values, bandwidths = curves(above), curves(below)
        names = {METHODS[method].label: method for method in TUNED}
        best = "V-WTA, best fixed $h$"
        assert values.keys() == {*names, best, "MDN"}
        assert bandwidths.keys() == {*names, best}
        for label, method in names.items():
            mine = {"method": method, "tuned": True, **where}
            for shown, column in ((above, "value"), (below, "h")):
                wanted = numbers(table, column, **mine)
                assert np.allclose(curves(shown)[label][:, 1], wanted.mean(1), atol=0)
                assert np.allclose(bands(shown)[label][:, 0], wanted.min(1), atol=0)
                assert np.allclose(bands(shown)[label][:, 1], wanted.max(1), atol=0)
        mdn = numbers(table, method="mdn", **where)
        assert np.allclose(values["MDN"][:, 1], mdn.mean(1), atol=0)
        assert horizontal(above).keys() == {"True law"}
        assert below.get_yscale() == "log"


def test_the_best_fixed_bandwidth_has_the_lowest_mean(
    table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    draw_tuned(table, tmp_path)
    above, below = grid(drawn[0])[:, 0]
    where = {"metric": "nll", "dataset": "single_gaussian", "method": "v_wta", "tuned": False}
    sweep = np.stack([numbers(table, h=h, **where) for h in GRID])  # (H, K, S)
    best, label = sweep.mean(2).argmin(0), "V-WTA, best fixed $h$"
    assert len(set(best)) > 1
    chosen = sweep[best, range(len(K))]
    assert np.allclose(curves(above)[label][:, 1], chosen.mean(1), atol=0)
    assert np.allclose(bands(above)[label][:, 1], chosen.max(1), atol=0)
    assert np.allclose(curves(below)[label][:, 1], np.array(GRID)[best], atol=0)


def without(**where: Any) -> Change:
    """Leaves out the rows that match."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        gone = pd.Series(True, index=table.index)
        for name, value in where.items():
            gone &= (table[name] == value).fillna(False).astype(bool)
        assert gone.any()
        return table[~gone]

    return change


DAMIER = {"dataset": "changing_damier", "protocol": "paper"}
MISSING: dict[str, tuple[Change, str]] = {
    "protocol": (without(protocol="paper"), r"no row with protocol = paper, there are \[\]"),
    "problem": (
        without(metric="emd", **DAMIER),
        r"metric = emd: no row with dataset = changing_damier, there are \['single_gaussian'\]",
    ),
    "metric": (without(metric="risk"), r"protocol = paper: no row with metric = risk, there are"),
    "method": (
        without(method="lloyd", **DAMIER),
        r"metric = risk, dataset = changing_damier, .*: no row with method = lloyd, there are",
    ),
    "bandwidth": (
        without(metric="nll", method="v_wta", h=0.3, **DAMIER),
        r"dataset = changing_damier, .*method = v_wta: no row with h = 0.3, there are \[0.05, ",
    ),
    "K": (
        without(metric="emd", method="mdn", K=20, **DAMIER),
        r"dataset = changing_damier, method = mdn, .*: no row with K = 20 and seed = 1, K = 20",
    ),
    "K of a reference": (
        without(method="zador", K=20, **DAMIER),
        r"dataset = changing_damier, method = zador, .*: no row with K = 20$",
    ),
    "seed": (
        without(metric="risk", method="hist", K=49, seed=2, **DAMIER),
        r"dataset = changing_damier, method = hist, .*: no row with K = 49 and seed = 2$",
    ),
}


@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing_is_named(
    case: str, table: pd.DataFrame, tmp_path: Path, drawn: list[Figure]
) -> None:
    change, message = MISSING[case]
    with pytest.raises(ValueError, match=message):
        draw(change(table), tmp_path)
    assert not drawn


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without(tuned=True, method="k_wta"), "method = k_wta: no row with tuned = True"),
        (without(tuned=True, method="tk_hist", K=9), "tk_hist, tuned = True: no row with K = 9"),
        (without(tuned=False, method="v_wta"), "method = v_wta: no row with tuned = False"),
        (without(method="mdn"), "no row with method = mdn"),
    ],
)
def test_what_is_not_tuned_is_named(
    change: Change, message: str, table: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        draw_tuned(change(table), tmp_path)


def test_numbers_that_stand_twice_are_refused(table: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="duplicate"):
        draw(pd.concat([table, table]), tmp_path)


def test_every_network_and_method_is_known() -> None:
    shown = {method for metric in ROWS for method in in_panel(metric)}
    assert {network_of(method) for method in shown} - {None} == {*NETWORK}
    assert shown <= METHODS.keys()
    assert all(network_of(method) for method in swept_in("synthetic"))
    assert {*swept_in("synthetic")} <= METHODS.keys()


def test_the_table_tells_rows_apart(table: pd.DataFrame) -> None:
    """The other tests rely on this: no two numbers are alike."""
    assert table["value"].is_unique
    assert not table.duplicated(["protocol", *KEYS]).any()
    assert table["tuned"].any()
