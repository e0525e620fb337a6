"""The rule for numbers, at its borders."""

import math
from typing import Any

import pandas as pd
import pytest

from vwta.paper.metrics import tidy
from vwta.paper.verdicts import numbers
from vwta.paper.verdicts.numbers import Rule
from vwta.paper.verdicts.selection import Evidence

RULE: dict[str, Any] = {
    "deviations": 1.0,
    "standard_errors": 2.0,
    "rounding": 0.005,
    "reading": {},
    "tolerance": {"nll": {"absolute": 0.05}, "risk": {"relative": 0.1}, "emd": {"absolute": 0.0}},
    "measured_as": {},
    "tier": "full",
    "not_comparable": [],
    "remarks": [],
}
PRINTED: dict[str, Any] = {
    "study": "uci",
    "dataset": "boston",
    "metric": "nll",
    "method": "v_wta",
    "measured_as": "v_wta",
    "scale": 1.0,
    "K": 5,
    "h": math.nan,
    "source": "printed",
    "printed": 2.0,
    "printed_deviation": 0.3,
    "printed_runs": 4,
    "in_source": math.nan,
    "in_source_deviation": math.nan,
    "quoted_from": "T1",
}
# Four splits with a mean of 0 and a standard deviation of .4.
SPLITS = [0.4 * sign * math.sqrt(0.75) for sign in (1, -1, 1, -1)]


def evidence(values: list[float], **columns: Any) -> Evidence:
    about = {"study": "uci", "protocol": "paper", "dataset": "boston", "method": "v_wta", "K": 5}
    about |= {"metric": "nll", "n": 1, **columns}
    rows = [{**about, "split": split, "value": value} for split, value in enumerate(values)]
    measured = tidy(rows).assign(table="uci/evaluation")
    return Evidence(measured, measured.iloc[:0].assign(deviation=math.nan), {})


def judge(
    values: list[float],
    printed: dict[str, Any] | None = None,
    rule: dict[str, Any] | None = None,
    tier: str = "full",
    protocol: str = "paper",
    **columns: Any,
) -> dict[str, Any]:
    reported = {**PRINTED, **(printed or {})}
    source = evidence(values, **columns)
    return numbers.judge(reported, source, protocol, Rule(**{**RULE, **(rule or {})}), tier)


def around(mean: float) -> list[float]:
    """Splits with this mean and a standard deviation of .4."""
    return [mean + value for value in SPLITS]


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [
        (2.5049, "reproduced"),  # root of .3^2 + .4^2 and half a digit: .505
        (2.5051, "worse"),
        (1.4951, "reproduced"),
        (1.4949, "better"),
    ],
)
def test_the_border_is_both_deviations_and_the_rounding(mean: float, verdict: str) -> None:
    found = judge(around(mean))
    assert found["verdict"] == verdict
    assert found["margin"] == pytest.approx(0.505)
    assert found["difference"] == pytest.approx(mean - 2.0)
    interval = [found[name] for name in ("low", "high", "printed_low", "printed_high")]
    assert interval == pytest.approx([mean - 0.4, mean + 0.4, 1.7, 2.3])
    assert "both standard deviations + 0.005" in found["rule"]


def test_strict_takes_standard_errors() -> None:
    """Two of the root of (.3 / 2)^2 + (.4 / 2)^2, and half a digit: .505."""
    rule = {"standard_errors": 1.0}  # .255
    assert judge(around(2.254), rule=rule)["strict"] == "reproduced"
    assert judge(around(2.256), rule=rule)["strict"] == "worse"
    assert judge(around(1.744), rule=rule)["strict"] == "better"
    assert judge([2.0], {"printed_deviation": math.nan})["strict"] == ""  # none is printed
    assert judge([2.0])["strict"] == ""  # a single run has no standard error


def test_a_tolerance_stands_for_a_deviation_that_is_not_printed() -> None:
    printed = {"printed_deviation": math.nan, "source": "read off"}
    assert judge([2.05], printed)["verdict"] == "reproduced"  # no rounding, no deviation of one run
    assert judge([2.0501], printed)["verdict"] == "worse"
    assert judge([2.0549], {"printed_deviation": math.nan})["verdict"] == "reproduced"  # rounded
    found = judge([2.0], printed)
    assert "a tolerance of 0.05" in found["rule"]
    assert (found["printed_low"], found["printed_high"]) == (1.95, 2.05)
    risk = {**printed, "metric": "risk", "printed": 0.02}
    pixel = {"reading": {"risk": 0.001}}
    assert judge([0.02299], risk, pixel, metric="risk")["verdict"] == "reproduced"
    assert judge([0.02301], risk, pixel, metric="risk")["verdict"] == "worse"
    assert judge([0.02], risk, pixel, metric="risk")["rule"].endswith(" + 0.001")
    assert judge([0.02199], risk, metric="risk")["verdict"] == "reproduced"
    assert judge([0.02201], risk, metric="risk")["verdict"] == "worse"
    assert judge([0.0179], risk, metric="risk")["verdict"] == "better"


def test_counts_must_be_equal() -> None:
    printed = {"metric": "inputs", "method": "data", "measured_as": "data", "K": math.nan}
    printed |= {"printed": 14.0, "printed_deviation": math.nan, "printed_runs": pd.NA}
    columns = {"metric": "inputs", "method": "data", "K": None}
    assert judge([14.0], printed, **columns)["verdict"] == "reproduced"
    other = judge([8.0], printed, **columns)
    assert other["verdict"] == "not comparable"
    assert "another count" in other["reason"]
    assert judge([14.0], printed, tier="quick", **columns)["verdict"] == "reproduced"


def test_our_number_is_brought_to_the_paper_s_scale_and_name() -> None:
    printed = {"study": "audio", "dataset": "ansyn", "metric": "risk", "printed": 0.42}
    printed |= {"measured_as": "wta", "scale": 100 / 24, "printed_deviation": math.nan, "K": 9}
    columns = {"study": "audio", "dataset": "ansyn", "metric": "risk", "method": "wta", "K": 9}
    found = judge([0.1008], printed, **columns)
    assert found["ours"] == pytest.approx(0.42)
    assert found["verdict"] == "reproduced"
    assert found["remark"].endswith("printed 0.101 rad², ours 0.101 rad²")
    assert judge([], printed, **columns)["remark"] == "printed 0.101 rad²"
    rule = {"measured_as": {"uci": {"paper": {"nll": "nll_capped"}}}}
    assert judge(around(2.0), rule=rule, metric="nll_capped")["verdict"] == "reproduced"
    assert judge(around(2.0), rule=rule)["verdict"] == "not run"


def test_other_data_and_other_scales_are_not_comparable() -> None:
    printed = {"study": "audio", "dataset": "ansyn", "K": 9, "printed_deviation": math.nan}
    columns = {"study": "audio", "K": 9}
    found = judge([2.0], printed, dataset="resynthesis", **columns)
    assert found["verdict"] == "not comparable"
    assert found["reason"] == "other scenes: resynthesis in place of ansyn"
    assert found["ours"] == 2.0  # it stands beside the printed one all the same
    assert judge([2.0], printed, dataset="ansyn", **columns)["verdict"] == "reproduced"
    small = judge(around(2.0), tier="quick")
    assert small["verdict"] == "not comparable"
    assert small["reason"] == "other scale: tier quick in place of full"


@pytest.mark.parametrize(
    ("dataset", "remark"), [("resynthesis", "other scenes: true law 0.66 nats"), ("ansyn", "")]
)
def test_the_true_law_stands_beside_likelihoods_of_other_scenes(dataset: str, remark: str) -> None:
    common = {"study": "audio", "protocol": "paper", "dataset": dataset, "n": 1}
    rows = [{"method": "truth", "value": 0.6551}, {"method": "v_wta", "K": 9, "value": 1.5}]
    rows += [{"method": "wta", "K": 9, "value": 0.1, "metric": "risk"}]
    table = tidy([{"metric": "nll", **common, **row} for row in rows]).assign(table="audio/a")
    found = Evidence(table, table.iloc[:0].assign(deviation=math.nan), {})
    printed = {**PRINTED, "study": "audio", "dataset": "ansyn", "K": 9, "printed_runs": 1}
    assert numbers.judge(printed, found, "paper", Rule(**RULE), "full")["remark"] == remark
    risk = {**printed, "metric": "risk", "measured_as": "wta"}
    assert numbers.judge(risk, found, "paper", Rule(**RULE), "full")["remark"] == ""
    assert numbers.judge(printed, found, "literal", Rule(**RULE), "full")["remark"] == ""  # no run


def test_named_numbers_are_not_comparable() -> None:
    flaw = {"where": {"dataset": ["boston"], "method": ["v_wta"]}, "reason": "a flaw"}
    assert judge(around(2.0), rule={"not_comparable": [flaw]})["reason"] == "a flaw"
    assert judge([], rule={"not_comparable": [flaw]})["verdict"] == "not comparable"
    here = {**flaw, "protocols": ["paper"]}
    assert judge(around(2.0), rule={"not_comparable": [here]})["verdict"] == "not comparable"
    assert judge([], rule={"not_comparable": [here]})["verdict"] == "not run"
    for change in ({"protocols": ["released"]}, {"where": {"dataset": ["wine"]}}):
        other = {**flaw, **change}
        assert judge(around(2.0), rule={"not_comparable": [other]})["verdict"] == "reproduced"


def test_what_is_missing() -> None:
    assert judge(around(2.0), {"dataset": "year"})["reason"] == "no numbers of year under paper"
    assert judge(around(2.0), {"metric": "risk"})["reason"] == "not measured under paper"
    unknown = judge(around(2.0), protocol="literal")
    assert unknown["verdict"] == "not run"
    assert unknown["reason"] == "no numbers of the study under literal"
    assert judge([math.nan, 1.0])["reason"] == "our number is not finite"


@pytest.mark.parametrize(
    ("found", "deviation", "word"),
    [(2.0, 0.3, "quoted"), (2.1, 0.3, "not comparable"), (2.0, 0.4, "not comparable")],
)
def test_quotations_are_compared_with_their_source(
    found: float, deviation: float, word: str
) -> None:
    outcome = judge([9.0], {"in_source": found, "in_source_deviation": deviation})
    assert outcome["verdict"] == word
    if word != "quoted":
        assert outcome["reason"] == f"misquoted: T1 has {found:g} ± {deviation:g}"


def test_remarks() -> None:
    note = {"where": {"dataset": ["boston"]}, "remark": "a note"}
    found = judge(around(2.0)[:2], rule={"remarks": [note]})
    assert found["remark"] == "a note; 2 of 4 seeds or splits"
    assert judge(around(2.0))["remark"] == ""
