"""Means over splits stand beside the printed numbers, and the paper's rule finds the best."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from loading import ROOT

from vwta.paper.methods import in_panel
from vwta.paper.metrics import tidy
from vwta.paper.uci.comparison import best, compare, over_splits, shown

REPORTED = ROOT / "config/reported/uci.csv"
PAPER = ("pbp", "mc_dropout", "deep_ensembles", "mdn", "tk_hist", "k_wta", "v_wta")
# Where the paper's print does not follow the paper's own rule.
BOLD_AGAINST_THE_RULE = {
    *(("nll", "boston", "pbp"), ("rmse", "concrete", "pbp")),
    *(("rmse", "power", "pbp"), ("rmse", "wine", "pbp")),
}
PLAIN_AGAINST_THE_RULE = {
    (metric, "energy", method) for metric in ("nll", "rmse") for method in ("k_wta", "v_wta")
}
# In print, a letter for each method of PAPER: bold, plain, or no number.
PRINT = {
    "nll": {
        "boston": "bbbppbb",
        "concrete": "pbbppbb",
        "energy": "ppbbppp",
        "kin8nm": "ppbpppp",
        "naval": "ppbbppp",
        "power": "pbbppbb",
        "protein": "ppp-pbb",
        "wine": "pppbppp",
        "yacht": "ppbpppp",
        "year": "ppp-pbp",
    },
    "rmse": {
        "boston": "bbbbpbb",
        "concrete": "bbppppp",
        "energy": "pbppppp",
        "kin8nm": "pppbppp",
        "naval": "ppbbpbb",
        "power": "bbbbpbb",
        "protein": "pbp-pbb",
        "wine": "bbbbpbb",
        "yacht": "bbppppp",
        "year": "pbp-ppp",
    },
}


def rows(*values: float, **columns: Any) -> list[dict[str, Any]]:
    """A row for each split."""
    common = {"protocol": "paper", "dataset": "boston", "method": "v_wta", "metric": "nll", "K": 5}
    return [
        {**common, "seed": 1, "split": split, "value": value, "n": 10, **columns}
        for split, value in enumerate(values)
    ]


def summary(*parts: list[dict[str, Any]]) -> pd.Series:
    (found,) = [row for _, row in over_splits(tidy([r for p in parts for r in p])).iterrows()]
    return found


def test_mean_and_deviation_are_over_splits() -> None:
    found = summary(rows(1.0, 2.0, 6.0))
    assert found[["splits", "mean", "K"]].tolist() == [3, 3.0, 5]
    assert found["std"] == pytest.approx(math.sqrt(7))
    assert found["standard_error"] == pytest.approx(math.sqrt(7 / 3))


def test_seeds_of_a_split_are_averaged_first() -> None:
    found = summary(rows(1.0, 5.0), rows(3.0, seed=2))
    assert found[["splits", "mean"]].tolist() == [2, 3.5]


def test_a_single_split_has_no_deviation() -> None:
    found = summary(rows(1.0))
    assert found["mean"] == 1.0
    assert math.isnan(found["std"])
    assert math.isnan(found["standard_error"])


def test_tuned_rows_go_before_others() -> None:
    assert summary(rows(9.0, 9.0, h=0.5), rows(1.0, 2.0, h=0.3, tuned=True))["mean"] == 1.5


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_splits_that_are_not_finite_are_not_hidden(value: float) -> None:
    found = summary(rows(1.0, value, 2.0))
    assert found[["splits", "not_finite"]].tolist() == [3, 1]
    assert np.array_equal(found["mean"], value, equal_nan=True)
    assert math.isnan(found["std"])


def test_numbers_of_two_kinds_are_not_mixed() -> None:
    with pytest.raises(ValueError, match=r"two rows for .* method = v_wta.* split = 0"):
        over_splits(tidy([*rows(1.0, K=5), *rows(1.0, K=10)]))


def comparison(metric: str = "nll") -> pd.DataFrame:
    other = rows(1.0, protocol="released", dataset="wine")
    metrics = tidy([*rows(2.0, 3.0), *rows(2.4, 2.4, method="k_wta"), *other])
    datasets = ["wine", "boston", "year", "mine"]
    methods = ["mdn", "k_wta", "v_wta"]
    return compare(metrics, pd.read_csv(REPORTED), "paper", metric, methods, datasets)


def test_ours_stand_beside_printed_ones() -> None:
    table = comparison().set_index(["dataset", "method"])
    row = table.loc[("boston", "v_wta")]
    assert row[["mean", "printed_mean", "printed_std"]].tolist() == [2.5, 2.48, 0.19]
    assert row["difference"] == pytest.approx(0.02)
    assert table.loc["boston", "best"].tolist() == [False, True, True]
    assert table.loc["boston", "printed_best"].tolist() == [False, True, True]
    assert list(table.index.unique("dataset")) == ["wine", "boston", "year", "mine"]


def test_what_is_missing_says_why() -> None:
    table = comparison().groupby("dataset", sort=False)[["missing", "splits"]].max()
    assert table["missing"].to_dict() == {
        "wine": "not run",
        "boston": "",
        "year": "no data",
        "mine": "no data",
    }
    assert table["splits"].tolist() == [0, 2, 0, 0]


def test_a_printed_dash_is_not_an_empty_cell() -> None:
    table = comparison().set_index(["dataset", "method"])
    assert table.loc[("year", "mdn"), "printed"]
    assert math.isnan(table.loc[("year", "mdn"), "printed_mean"])
    assert not table.loc["mine", "printed"].any()


def test_none_is_best_where_low_is_not_good() -> None:
    metrics = tidy(rows(0.5, metric="coverage90"))
    table = compare(metrics, pd.read_csv(REPORTED), "paper", "coverage90", ["v_wta"], ["boston"])
    assert table["mean"].tolist() == [0.5]
    assert table["best"].tolist() == [False]


def test_best_is_the_lowest_mean_and_what_reaches_it() -> None:
    mean = pd.Series([1.0, 1.5, 1.5, math.nan, math.inf, 1.0])
    std = pd.Series([9.0, 0.5, 0.4, math.nan, math.nan, math.nan])
    assert best(mean, std).tolist() == [True, True, False, False, False, True]


def test_without_any_number_none_is_best() -> None:
    nothing = pd.Series([math.nan, math.nan])
    assert best(nothing, nothing).tolist() == [False, False]


def test_the_rule_is_the_papers_where_the_paper_follows_it() -> None:
    reported = pd.read_csv(REPORTED)
    off = set()
    for metric, sets in PRINT.items():
        table = compare(tidy([]), reported, "paper", metric, PAPER, list(sets))
        for dataset, mine in table.groupby("dataset"):
            for letter, (_, row) in zip(sets[str(dataset)], mine.iterrows(), strict=True):
                assert math.isnan(row["printed_mean"]) == (letter == "-")
                if row["printed_best"] != (letter == "b"):
                    off.add((metric, dataset, row["method"]))
    assert off == BOLD_AGAINST_THE_RULE | PLAIN_AGAINST_THE_RULE


def test_the_ensemble_is_shown_if_it_was_run() -> None:
    methods = list(in_panel("uci"))
    extra = ["gaussian", "gaussian_ensemble", "mdn_ensemble", "k_wta_ensemble", "v_wta_ensemble"]
    extra += ["local_v_wta", "local_v_wta_ensemble"]
    assert methods[-8:] == ["v_wta", *extra]
    assert shown("uci", tidy(rows(1.0))) == methods[:-7]
    assert shown("uci", tidy(rows(1.0, method=extra[4]))) == [*methods[:-7], extra[4]]
