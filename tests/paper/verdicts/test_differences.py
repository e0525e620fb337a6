"""The register of differences: effects are differences of what two queries find."""

import math
from typing import Any

import pytest
from loading import ROOT

from vwta.paper.metrics import tidy
from vwta.paper.verdicts.configuration import load
from vwta.paper.verdicts.differences import COLUMNS, measure
from vwta.paper.verdicts.selection import Evidence

ENTRY: dict[str, Any] = {
    "id": "validation",
    "study": "uci",
    "text": "a fifth of the rows",
    "code": "the test rows",
    "here": "both",
    "matters": "every number",
}
TO = {"protocol": "released", "metric": "nll", "method": "v_wta"}
FROM = {"protocol": "paper", "metric": "nll", "method": "v_wta"}
VALUES = {
    ("paper", "boston"): 3.0,
    ("released", "boston"): 2.5,
    ("paper", "wine"): 1.0,
    ("released", "wine"): 0.75,
    ("paper", "yacht"): 2.0,  # not run under `released`
}


def evidence() -> Evidence:
    rows = [
        {"protocol": protocol, "dataset": name, "value": value}
        for (protocol, name), value in VALUES.items()
    ]
    common = {"study": "uci", "method": "v_wta", "metric": "nll", "K": 5, "n": 1}
    measured = tidy(rows, **common).assign(table="uci/evaluation")
    return Evidence(measured, measured.iloc[:0].assign(deviation=math.nan), {})


def effect(**changes: Any) -> Any:
    one = {"of": "NLL of V-WTA", "to": TO, "from": FROM, "alone": False, **changes}
    one = {key: value for key, value in one.items() if value is not None}
    (row,) = measure([{**ENTRY, "effects": [one]}], evidence()).itertuples(index=False)
    return row


def test_an_effect_is_a_difference_of_what_both_have() -> None:
    row = effect()
    assert (row.state, row.cases, row.alone) == ("measured", 2, False)
    assert (row.mean, row.lowest, row.highest) == (-0.375, -0.5, -0.25)
    assert row.by_dataset == "boston -0.5; wine -0.25"
    assert row.query == "(nll of v_wta under released) less (nll of v_wta under paper)"
    assert row.text == "a fifth of the rows"


def test_an_effect_may_be_of_some_sets() -> None:
    assert effect(datasets=["wine"]).mean == -0.25


def test_a_metric_may_be_an_effect() -> None:
    row = effect(to=FROM, **{"from": None})
    assert (row.cases, row.mean) == (3, 2.0)


def test_without_numbers_it_is_not_run() -> None:
    for row in (effect(to={**TO, "protocol": "literal"}), effect(datasets=["yacht"])):
        assert row.state == "not run"
        assert math.isnan(row.mean)


def test_what_cannot_be_measured_says_why() -> None:
    table = measure([{**ENTRY, "unmeasured": "not run: a misprint"}], evidence())
    assert table["state"].tolist() == ["not run: a misprint"]
    assert table.dtypes.astype(str).to_dict() == COLUMNS


def test_queries_need_a_protocol() -> None:
    with pytest.raises(ValueError, match="the effect on NLL of V-WTA: each query needs a protocol"):
        effect(to={"metric": "nll", "method": "v_wta"})


def test_the_published_denominator_of_mixtures_is_measured_once_it_ran() -> None:
    """The entry of the register, with a table made up for two numbers of modes."""
    (entry,) = (one for one in load(ROOT / "config").differences if one["id"] == "audio_average")
    common = {"study": "audio", "protocol": "released", "dataset": "resynthesis", "n": 1}
    rows = [
        {"metric": metric, "K": K, "method": "m_vmf", "value": value}
        for K in (9, 16)
        for metric, value in (("nll", 1.0 + K), ("nll_all_places", 0.5 + K))
    ]
    found = []
    for there in (rows[:1], rows):
        measured = tidy(there, **common).assign(table="audio/evaluation")
        numbers = Evidence(measured, measured.iloc[:0].assign(deviation=math.nan), {})
        found += [*measure([entry], numbers).itertuples(index=False)]
    before, after = found
    assert before.state == "not run"
    assert (after.state, after.alone, after.cases, after.mean) == ("measured", True, 2, -0.5)
