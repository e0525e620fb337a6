"""Tables for readers say what the metrics say."""

import math
from pathlib import Path

import pandas as pd

from vwta.metrics import tidy
from vwta.tables import protocols_side_by_side, to_markdown, write

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
    assert found.loc["nll", ["h", "paper", "released"]].tolist() == [0.1, 2.0, 5.0]
    tuned = found.loc["nll tuned"]
    assert math.isnan(tuned["h"])
    assert tuned[["paper", "released"]].tolist() == [0.5, 0.25]
    assert len(found) == 2  # h = .2 has no number of `released`


def test_both_formats_have_the_numbers(tmp_path: Path) -> None:
    write(table(), tmp_path / "a.csv", tmp_path / "a.md")
    assert pd.read_csv(tmp_path / "a.csv")["paper"].tolist() == [2.0, 0.5]
    lines = (tmp_path / "a.md").read_text().splitlines()
    assert lines[0] == "| dataset | metric | method | K | h | paper | released |"
    assert lines[2] == "| moons | nll | v_wta | 16 | 0.1 | 2 | 5 |"
    assert lines[3] == "| moons | nll tuned | v_wta | 16 | – | 0.5 | 0.25 |"


def test_digits_are_significant_ones() -> None:
    assert "| 0.001235 |" in to_markdown(pd.DataFrame({"value": [0.00123456]}))
