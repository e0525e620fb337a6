"""Paired differences of the UCI study, against scipy and closed forms."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from vwta.paper.metrics import tidy
from vwta.paper.uci.headline import write_headline
from vwta.paper.uci.paired import difference, write_ablations, write_paired

SPLITS = 12


def rows(
    protocol: str, method: str, values: Any, dataset: str = "boston", seed: int = 1
) -> list[dict[str, Any]]:
    where = {"protocol": protocol, "method": method, "dataset": dataset, "seed": seed}
    return [
        {**where, "metric": "nll", "split": split, "value": float(value), "n": 9}
        for split, value in enumerate(values)
    ]


def table(*parts: list[dict[str, Any]]) -> pd.DataFrame:
    return tidy([row for part in parts for row in part], study="uci", K=5)


def lines(path: Path) -> list[list[str]]:
    text = [line for line in path.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text]


def test_the_interval_and_the_test_are_those_of_scipy() -> None:
    source = np.random.default_rng(0)
    a, b = pd.Series(source.normal(0.3, 1, SPLITS)), pd.Series(source.normal(0, 1, SPLITS))
    found = difference(a, b)
    assert found is not None
    reference = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high))
    assert found.mean == pytest.approx((a - b).mean())
    assert found.p == pytest.approx(stats.wilcoxon(a, b).pvalue)
    assert found.splits == SPLITS


def test_a_value_that_is_not_finite_leaves_no_difference() -> None:
    good, bad = pd.Series([1.0, 2.0]), pd.Series([1.0, math.nan])
    assert difference(good, bad) is None
    assert difference(bad, good) is None
    assert difference(good, pd.Series([1.0, math.inf])) is None
    assert difference(good, good + 0.0) == (2, 0.0, 0.0, 0.0, 1.0, 1)
    one = difference(pd.Series([3.0]), pd.Series([1.0]))
    assert one is not None
    assert (one.splits, one.mean) == (1, 2.0)
    assert math.isnan(one.p)


def test_networks_of_a_split_are_averaged_first(tmp_path: Path) -> None:
    base = np.arange(SPLITS) / 100
    metrics = table(
        rows("paper", "v_wta", base + 1.2),
        rows("paper", "v_wta", base + 1.0, seed=2),
        rows("paper", "k_wta", base + 1.0 + 0.001 * base),
        rows("paper", "k_wta", base + 1.0 + 0.001 * base, seed=2),
        rows("paper", "k_wta", base + 9.0, seed=3),  # V-WTA has no such network
        rows("ours", "mdn", base),
    )
    write_paired(metrics, tmp_path, ["paper", "ours"], ["boston", "year"])
    head, _, *cells = lines(tmp_path / "uci_paired.md")
    assert head == ["Protocol", "Difference", "Boston", "Year"]
    assert cells == [["paper", "V-WTA − K-WTA", "**+0.10** [+0.10, +0.10]", ""]]
    found = pd.read_csv(tmp_path / "uci_paired.csv")
    assert found.loc[0, "mean"] == pytest.approx(0.1 - 0.001 * base.mean())
    assert found.loc[0, "splits"] == SPLITS


def test_five_splits_are_never_significant(tmp_path: Path) -> None:
    base = np.arange(5.0)
    metrics = table(rows("paper", "v_wta", base), rows("paper", "k_wta", base + 1 + base / 10))
    write_paired(metrics, tmp_path, ["paper"], ["boston"])
    _, _, row = lines(tmp_path / "uci_paired.md")
    assert "**" not in row[2]
    assert row[2].startswith("-1.20 [")


def test_each_switch_is_compared_with_the_text(tmp_path: Path) -> None:
    base = np.linspace(0, 1, SPLITS)
    metrics = table(
        rows("paper", "v_wta", base + 2),
        rows("paper", "v_wta", base + 3, seed=2),  # the switch has no such network
        rows("test_rows", "v_wta", base + 1.5 + base / 100),
        rows("released", "v_wta", base + 1),
        rows("paper", "mdn", base),
    )
    reported = pd.DataFrame(
        {"dataset": ["boston"], "metric": ["nll"], "method": ["v_wta"], "mean": [1.25]}
    )
    write_ablations(metrics, reported, tmp_path, ["boston", "year"])
    head, _, voronoi, mixture = lines(tmp_path / "uci_ablations.md")
    assert voronoi[:4] == ["Boston", "V-WTA", "3.00", "2.50"]
    assert voronoi[head.index("validation rows = test rows")].startswith("**-0.49**")
    assert voronoi[head.index("domain")] == ""
    assert voronoi[-2:] == ["1.50", "1.25"]
    assert mixture[:4] == ["", "MDN", "0.50", "0.50"]
    assert set(mixture[4:]) == {""}
    assert pd.read_csv(tmp_path / "uci_ablations.csv")["seeds"].tolist() == [1]


def test_the_headline_marks_the_lowest_of_each_group(tmp_path: Path) -> None:
    metrics = table(
        rows("paper", "mdn", [1.0, 1.002]),
        rows("paper", "v_wta", [1.0, 1.0]),
        rows("paper", "k_wta", [math.nan, 0.5]),
        rows("ours", "v_wta_ensemble", [0.5]),
        rows("ours", "mdn_ensemble", [0.25]),
        rows("ours", "local_v_wta", [0.1], "wine"),
    )
    sizes = pd.DataFrame({"dataset": ["boston"], "discrete": [True]})
    reported = pd.DataFrame(
        {"dataset": "boston", "metric": "nll", "method": ["mdn", "v_wta"], "mean": [0.1, 0.2]}
    )
    searches = pd.DataFrame(
        {"protocol": "paper", "dataset": "boston", "method": ["v_wta", "v_wta", "k_wta", "k_wta"]}
    ).assign(chosen=True, border=[True, True, True, False])
    write_headline(metrics, searches, sizes, reported, tmp_path, ["boston"])
    assert lines(tmp_path / "uci_headline.md") == [
        ["", "Method", "Boston†§"],
        ["---", "---", "---"],
        ["printed, single networks", "MDN", "**0.10**"],
        ["", "V-WTA", "0.20"],
        ["paper, single networks", "MDN", "**1.00**"],
        ["", "K-WTA", "--"],
        ["", "V-WTA", "**1.00**‡"],
        ["ours, ensembles", "MDN ensemble", "**0.25**"],
        ["", "V-WTA ensemble", "0.50"],
    ]
    text = (tmp_path / "uci_headline.md").read_text()
    for note in ("Discrete target", "§ Under `ours`, rows of an earlier", "‡ Most searches"):
        assert note in text
