"""Queries: what they select from tidy rows, and how means and standard deviations come about."""

import math
from typing import Any

import pandas as pd
import pytest

from vwta.paper.metrics import tidy
from vwta.paper.verdicts.selection import Evidence, select, shared, words


def evidence(
    rows: list[dict[str, Any]],
    borrows: dict[str, Any] | None = None,
    printed: list[dict[str, Any]] | None = None,
) -> Evidence:
    """Numbers of the synthetic study under `paper`, unless rows say something else."""
    common = {"study": "synthetic", "protocol": "paper", "dataset": "moons", "n": 1}
    common |= {"metric": "nll", "method": "v_wta"}
    measured = tidy([{**common, **row} for row in rows]).assign(table="synthetic/evaluation")
    own = [{**common, "protocol": "printed", "value": 0.0, **row} for row in printed or []]
    paper = tidy(own).assign(table="printed", deviation=math.nan)
    return Evidence(measured, paper, borrows or {})


def pick(source: Evidence, datasets: list[str] | None = None, **query: Any) -> list[tuple]:
    query = {"metric": "nll", "method": "v_wta", **query}
    found = select(source, "synthetic", "paper", query, datasets)
    rows = found.drop(columns=["deviation", "count"])
    return [tuple(row) for row in rows.itertuples(index=False)]


SEEDS = [{"K": 9, "h": h, "seed": seed, "value": h + seed} for h in (0.1, 1.0) for seed in (1, 2)]


def test_means_over_seeds() -> None:
    found = select(evidence(SEEDS), "synthetic", "paper", {"metric": "nll", "method": "v_wta"})
    assert found["value"].tolist() == pytest.approx([1.6, 2.5])
    assert found["deviation"].tolist() == pytest.approx([math.sqrt(0.5)] * 2)
    assert found["count"].tolist() == [2, 2]
    assert found.columns[:3].tolist() == ["dataset", "K", "h"]


def test_one_seed_has_no_deviation() -> None:
    (row,) = select(
        evidence([{"K": 9, "value": 1.0}]),
        "synthetic",
        "paper",
        {"metric": "nll", "method": "v_wta"},
    ).itertuples(index=False)
    assert math.isnan(row.deviation)
    assert "h" not in row._fields


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_not_left_out(bad: float) -> None:
    rows = [{"K": 9, "seed": 1, "value": 1.0}, {"K": 9, "seed": 2, "value": bad}]
    ((_, _, value),) = pick(evidence(rows))
    assert not math.isfinite(value)


def test_given_and_tuned_bandwidths() -> None:
    rows = [{"h": 0.1, "value": 2.0}, {"h": 0.123, "tuned": True, "value": 1.0}]
    assert pick(evidence(rows)) == [("moons", 0.1, 2.0)]
    assert pick(evidence(rows), tuned=True) == [("moons", 1.0)]
    assert pick(evidence(rows[1:])) == [("moons", 1.0)]  # there are no others


def test_which_K_and_h() -> None:
    rows = [
        {"dataset": name, "K": K, "h": h, "value": K + h}
        for name, counts in {"moons": (9, 16), "damier": (16, 25)}.items()
        for K in counts
        for h in (0.1, 1.0)
    ]
    source = evidence(rows)
    assert pick(source, K=[16], h=[0.1]) == [("damier", 16, 0.1, 16.1), ("moons", 16, 0.1, 16.1)]
    assert [row[:2] for row in pick(source, K="largest", h="smallest")] == [
        ("damier", 25),
        ("moons", 16),
    ]
    assert pick(source, ["damier"], K=[9]) == []
    assert len(pick(source, ["damier"])) == 4


def test_reduced_over_a_key() -> None:
    values = {0.1: 3.0, 0.5: 1.0, 1.0: 4.0}
    source = evidence([{"K": 9, "h": h, "value": value} for h, value in values.items()])
    assert pick(source, reduce={"over": "h", "by": "lowest"}) == [("moons", 9, 1.0)]
    assert pick(source, reduce={"over": "h", "by": "range"}) == [("moons", 9, 3.0)]
    assert pick(source, h=[0.1, 0.5], reduce={"over": "h", "by": "range"}) == [("moons", 9, 2.0)]
    lost = evidence([{"K": 9, "h": h, "value": math.nan} for h in values])
    ((_, _, value),) = pick(lost, reduce={"over": "h", "by": "lowest"})
    assert math.isnan(value)


def test_differences_join_what_is_shared() -> None:
    rows = [{"K": K, "h": h, "value": K + h} for K in (9, 16) for h in (0.1, 1.0)]
    rows += [{"method": "unif_v_wta", "K": 9, "value": 1.0}]
    minus = {"metric": "nll", "method": "unif_v_wta"}
    assert pick(evidence(rows), minus=minus) == [("moons", 9, 0.1, 8.1), ("moons", 9, 1.0, 9.0)]


def test_ratios_join_what_is_shared() -> None:
    """Their relative deviations add up as squares do: .3 and .4 make .5."""
    rows = [{"K": 9, "seed": seed, "value": 2.0 + 0.6 * sign} for seed, sign in ((1, 1), (2, -1))]
    rows += [
        {"K": 9, "seed": seed, "method": "mdn", "value": 4.0 + 1.6 * sign}
        for seed, sign in ((1, 1), (2, -1))
    ]
    query = {"metric": "nll", "method": "v_wta"}
    query["divided_by"] = {"metric": "nll", "method": "mdn"}
    (row,) = select(evidence(rows), "synthetic", "paper", query).itertuples()
    assert row.value == pytest.approx(0.5)
    assert row.deviation == pytest.approx(0.5 * 0.5 * math.sqrt(2))
    assert row.count == 2


def test_the_paper_s_bandwidths() -> None:
    """Those of the data set; of one that the paper has no numbers of, those of all others."""
    rows = [
        {"dataset": name, "h": h, "value": h}
        for name in ("moons", "damier", "gaussian")
        for h in (0.1, 0.2, 0.3, 1.0)
    ]
    printed = [{"dataset": "moons", "h": 0.1}, {"dataset": "damier", "h": 0.3}]
    printed += [{"method": "k_wta", "h": 1.0}, {"metric": "emd", "h": 0.2}, {"dataset": "moons"}]
    source = evidence(rows, printed=printed)
    found = pick(source, h="printed")
    assert sorted(row[:2] for row in found) == [
        ("damier", 0.3),
        ("gaussian", 0.1),
        ("gaussian", 0.3),
        ("moons", 0.1),
    ]
    lowest = {"over": "h", "by": "lowest"}
    assert pick(source, ["damier"], h="printed", reduce=lowest) == [("damier", 0.3)]
    assert pick(source, ["elsewhere"], h="printed") == []
    assert pick(evidence(rows), h="printed") == []  # nothing is printed


def test_nothing_to_select() -> None:
    source = evidence(SEEDS)
    assert pick(source, metric="emd") == []
    assert pick(source, protocol="released") == []
    assert pick(source, minus={"metric": "emd", "method": "v_wta"}) == []
    assert pick(source, method="unif_v_wta", reduce={"over": "h", "by": "lowest"}) == []


def test_a_protocol_borrows_what_it_has_none_of() -> None:
    rows = [
        {"protocol": "literal", "method": "wta", "metric": "risk", "value": 1.0},
        {"method": "wta", "metric": "risk", "value": 2.0},
        {"method": "hist", "metric": "risk", "value": 3.0},
        {"method": "zador", "metric": "risk", "value": 4.0},
    ]
    borrows = {"synthetic": {"literal": {"of": "paper"}}}

    def values(source: Evidence, protocol: str) -> dict[str, float]:
        table = source.rows("synthetic", protocol)
        return dict(zip(table["method"], table["value"], strict=True))

    whole = values(evidence(rows, borrows), "literal")
    assert whole == {"wta": 1.0, "hist": 3.0, "zador": 4.0}
    borrows["synthetic"]["literal"]["methods"] = ["zador"]
    assert values(evidence(rows, borrows), "literal") == {"wta": 1.0, "zador": 4.0}
    assert values(evidence(rows), "literal") == {"wta": 1.0}
    assert values(evidence(rows[1:], borrows), "literal") == {}  # it was not run at all


def test_splits_can_be_kept_apart() -> None:
    rows = [{"split": split, "h": 0.1, "value": float(split)} for split in (0, 1)]
    assert pick(evidence(rows)) == [("moons", 0.1, 0.5)]
    assert len(pick(evidence(rows), by_split=True)) == 2


def test_selections_without_common_keys_are_crossed() -> None:
    a = pd.DataFrame(
        {"dataset": ["moons"], "K": [9], "value": [1.0], "deviation": [0], "count": [1]}
    )
    assert len(shared(a, pd.concat([a, a.assign(K=16)]), ignore=["dataset", "K"])) == 2


def test_words() -> None:
    query = {"metric": "nll", "method": "v_wta", "K": "largest", "h": [0.1, 1.0]}
    assert words(query) == "nll of v_wta, K = largest, h = 0.1, 1"
    query = {"metric": "nll", "method": "mdn", "protocol": "printed"}
    assert words(query) == "nll of mdn as printed"
    query = {"metric": "nll", "method": "v_wta", "tuned": True, "minus": query}
    assert words(query) == "(nll of v_wta, h tuned) - (nll of mdn as printed)"


def test_seeds_of_a_split_are_averaged_first() -> None:
    """The deviation is that of the two splits, 1 and 3, not of the four networks."""
    values = {(0, 1): 0.0, (0, 2): 2.0, (1, 1): 3.0, (1, 2): 3.0}
    rows = [{"split": split, "seed": seed, "value": v} for (split, seed), v in values.items()]
    query = {"metric": "nll", "method": "v_wta"}
    (row,) = select(evidence(rows), "synthetic", "paper", query).itertuples(index=False)
    assert (row.value, row.deviation, row.count) == (2.0, pytest.approx(math.sqrt(2)), 2)
    assert len(pick(evidence(rows), by_split=True)) == 2
    rows[0]["value"] = math.nan
    (row,) = select(evidence(rows), "synthetic", "paper", query).itertuples(index=False)
    assert math.isnan(row.value)

    query = {"metric": "risk", "method": "wta", "divided_by": {"metric": "risk", "method": "hist"}}
    assert words(query) == "(risk of wta) / (risk of hist)"
