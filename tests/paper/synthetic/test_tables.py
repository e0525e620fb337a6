"""Tables of the synthetic study say what the metrics say."""

import math
from pathlib import Path

import pandas as pd

from vwta.paper.metrics import tidy
from vwta.paper.synthetic.tables import protocols_side_by_side, unused_hypotheses
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
