"""Tables of the synthetic study say what the metrics say."""

import math
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.figure import Figure

from vwta.io.storage import write_table
from vwta.paper.figures.nll_against_factor import nll_against_factor
from vwta.paper.metrics import tidy
from vwta.paper.synthetic.tables import (
    local_kernels,
    protocols_side_by_side,
    unused_hypotheses,
)
from vwta.paper.tables import write

ROWS = [
    {"protocol": "paper", "seed": 1, "h": 0.1, "value": 1.0},
    {"protocol": "paper", "seed": 2, "h": 0.1, "value": 3.0},
    {"protocol": "released", "seed": 1, "h": 0.1, "value": 5.0},
    {"protocol": "paper", "seed": 1, "h": 0.2, "value": 7.0},
    {"protocol": "paper", "seed": 1, "h": 0.13, "tuned": True, "value": 0.5},
    {"protocol": "released", "seed": 1, "h": 0.17, "tuned": True, "value": 0.25},
    {"protocol": "other", "seed": 1, "h": 0.1, "value": 9.0},
]
COMMON = {"study": "synthetic", "dataset": "moons", "metric": "nll", "method": "v_wta"}


def table() -> pd.DataFrame:
    metrics = tidy(ROWS, **COMMON, K=16, n=10)
    return protocols_side_by_side(metrics, ["paper", "released"], against=["released"])


def test_protocols_stand_side_by_side() -> None:
    found = table().set_index("metric")
    assert found.loc["nll", ["h", "paper", "released"]].tolist() == [0.1, 1.0, 5.0]
    assert found["seeds"].tolist() == [1, 1]  # `released` has no second
    tuned = found.loc["nll tuned"]
    assert math.isnan(tuned["h"])
    assert tuned[["paper", "released"]].tolist() == [0.5, 0.25]
    assert len(found) == 2  # h = .2 has no number of `released`


def test_protocols_are_compared_by_the_seeds_they_share() -> None:
    values = {("paper", 1): 1.0, ("paper", 2): 3.0, ("literal", 1): 5.0, ("literal", 2): 6.0}
    rows = [{"protocol": p, "seed": s, "value": v} for (p, s), v in values.items()]
    only = [{"protocol": "paper", "K": 9, "seed": s, "value": 1.0} for s in (1, 2)]
    apart = [{"protocol": "released", "K": 9, "seed": 3, "value": 1.0}]
    law = [
        {"protocol": name, "method": "truth", "K": None, "value": v}
        for name, v in (("paper", 0.1), ("literal", 0.2))
    ]
    common = {**COMMON, "K": 16, "n": 10}
    metrics = tidy([{**common, **row} for row in [*rows, *only, *apart, *law]])
    names = ["paper", "literal", "released"]
    found = protocols_side_by_side(metrics, names, against=names[1:])
    assert found["method"].tolist() == ["truth", "v_wta"]  # K = 9 has no seed in common
    assert found["seeds"].tolist() == [1, 2]
    assert found["paper"].tolist() == [0.1, 2.0]
    assert found["literal"].tolist() == [0.2, 5.5]
    assert found["released"].isna().all()


def test_local_kernels_stand_beside_others() -> None:
    """Of the seeds that local kernels have, tuned where there is a choice, and at no other K."""
    mine = {"protocol": "ours", "method": "local_v_wta", "seed": 1}
    rows = [
        {**mine, "h": 1.2, "tuned": True, "value": 0.1},
        {**mine, "value": 0.2},
        {**mine, "h": 0.5, "value": 9.0},  # at a factor
        {**mine, "metric": "emd", "value": 0.3},
        {**mine, "method": "local", "metric": "risk_large", "value": 0.4},
        {"method": "v_wta", "seed": 1, "h": 0.1, "tuned": True, "value": 0.5},
        {"method": "v_wta", "seed": 2, "h": 0.1, "tuned": True, "value": 50.0},
        {"method": "v_wta", "seed": 1, "h": 0.3, "value": 0.05},
        {"method": "v_wta", "seed": 1, "h": 0.1, "metric": "emd", "value": 0.7},
        {"method": "v_wta", "seed": 1, "h": 0.2, "metric": "emd", "value": 0.6},
        {"method": "wta", "seed": 1, "metric": "risk_large", "value": 0.8},
        {"method": "mdn", "seed": 1, "value": 0.9},
        {"method": "mdn", "seed": 1, "K": 9, "value": 90.0},
        {"method": "truth", "K": None, "value": 0.01},
        {"method": "mdn", "protocol": "literal", "seed": 1, "value": 900.0},
    ]
    common = {**COMMON, "protocol": "paper", "metric": "nll_large", "K": 16, "n": 10}
    found = local_kernels(tidy([{**common, **row} for row in rows]), "paper")
    assert found["seeds"].tolist() == [1] * 4
    found = found.set_index("metric")
    columns = ["truth", "mdn", "v_wta", "local_v_wta"]
    assert found.loc["nll_large", columns].tolist() == [0.01, 0.9, 0.5, 0.1]
    assert found.loc["nll_large as trained", "local_v_wta"] == 0.2
    assert found.loc["emd", ["v_wta", "local_v_wta"]].tolist() == [0.6, 0.3]
    assert found.loc["risk_large", ["k_wta", *columns[2:]]].tolist() == [0.8, 0.8, 0.4]
    assert found["k_wta"].drop("risk_large").isna().all()
    assert local_kernels(tidy([{**common, **row} for row in rows[5:]]), "paper").empty
    own = {"protocol": "ours", "method": "mdn", "seed": 1, "value": 0.7}
    found = local_kernels(tidy([{**common, **row} for row in [*rows, own]]), "paper")
    values = found.set_index("metric").loc["nll_large", columns]
    assert values.tolist() == [0.01, 0.7, 0.5, 0.1]  # of the same protocol where it has run them


def test_factors_are_those_on_chosen_bandwidths(tmp_path: Path, drawn: list[Figure]) -> None:
    mine = {"protocol": "ours", "method": "local_v_wta"}
    rows = [{**mine, "h": factor, "value": factor} for factor in (0.5, 1.0, 2.0)]
    rows += [{**mine, "h": 1.3, "tuned": True, "value": 0.4}]
    rows += [{"method": "v_wta", "h": h, "value": 10 * h} for h in (0.1, 0.2, 0.5)]
    rows += [{"method": "v_wta", "h": 0.2, "tuned": True, "value": 2.0}]
    rows += [{"method": "truth", "K": None, "seed": None, "value": 0.3}]
    common = {**COMMON, "dataset": "rotating_moons", "protocol": "paper", "metric": "nll_large"}
    table = tidy([{**common, "K": 16, "n": 10, "seed": 1, **row} for row in rows])
    write_table(tmp_path / "metrics", table, {})
    nll_against_factor(tmp_path / "metrics", [], "ours", "paper", ["rotating_moons"], 16)
    lines = {line.get_label(): line for line in drawn[0].axes[0].lines}
    assert [*lines] == ["V-WTA, local kernels", "V-WTA", "True law"]
    local, plain, _ = (line.get_xydata().tolist() for line in lines.values())
    assert local == [[0.5, 0.5], [1.0, 1.0], [2.0, 2.0]]
    assert [pytest.approx(point) for point in plain] == [[0.5, 1.0], [1.0, 2.0], [2.5, 5.0]]
    with pytest.raises(ValueError, match="no NLL of ours at factors on single_gaussian"):
        nll_against_factor(tmp_path / "metrics", [], "ours", "paper", ["single_gaussian"], 16)
    plt.close("all")


def test_unused_hypotheses_are_means_over_seeds() -> None:
    rows = [
        {"protocol": name, "method": method, "metric": metric, "K": K, "seed": s, "value": v * s}
        for name in ("literal", "paper", "other")
        for method in ("wta", "mdn")
        for metric, v in (("dead", 2.0), ("never_wins", 1.0), ("zador_ratio", 7.0))
        for K in (9, 16)
        for s in (1, 3)
    ]
    optimum = {"protocol": "paper", "method": "lloyd", "metric": "dead", "K": 9, "value": 0.0}
    table = tidy([*rows, optimum], study="synthetic", dataset="moons", n=10)
    found = unused_hypotheses(table, ["paper", "literal"])
    assert found.columns.tolist() == ["protocol", "dataset", "model", "count", "K = 9", "K = 16"]
    assert found["protocol"].tolist() == ["paper"] * 4 + ["literal"] * 4
    assert found["model"].tolist() == ["mdn", "mdn", "wta", "wta"] * 2
    assert found["K = 9"].tolist() == found["K = 16"].tolist() == [4.0, 2.0] * 4


def test_both_formats_have_the_numbers(tmp_path: Path) -> None:
    write(table(), tmp_path / "a.csv", tmp_path / "a.md", "**What.**")
    assert pd.read_csv(tmp_path / "a.csv")["paper"].tolist() == [1.0, 0.5]
    lines = (tmp_path / "a.md").read_text().splitlines()
    assert lines[:3] == [
        "**What.**",
        "",
        "| dataset | metric | method | K | h | seeds | paper | released |",
    ]
    assert lines[4] == "| moons | nll | v_wta | 16 | 0.1 | 1 | 1 | 5 |"
    assert lines[5] == "| moons | nll tuned | v_wta | 16 | – | 1 | 0.5 | 0.25 |"
