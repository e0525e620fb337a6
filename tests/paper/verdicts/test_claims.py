"""Claims: how cases become a verdict, and what a wrong entry is told."""

import json
import math
from typing import Any

import pytest
from loading import ROOT

from vwta.paper.metrics import tidy
from vwta.paper.verdicts.claims import Claim, judge, problems
from vwta.paper.verdicts.configuration import load
from vwta.paper.verdicts.selection import Evidence

ENTRY: dict[str, Any] = {
    "id": "wta_is_lower",
    "section": "5.2",
    "study": "synthetic",
    "says": "WTA is below the Histogram",
    "kind": "below",
    "datasets": ["moons", "damier"],
    "a": {"metric": "risk", "method": "wta"},
    "b": {"metric": "risk", "method": "hist"},
}


def evidence(wta: dict[tuple[str, int], float], hist: float = 1.0) -> Evidence:
    rows = [
        {"dataset": name, "K": K, "method": method, "value": value}
        for (name, K), mine in wta.items()
        for method, value in (("wta", mine), ("hist", hist))
    ]
    common = {"study": "synthetic", "protocol": "paper", "metric": "risk", "n": 1}
    measured = tidy(rows, **common).assign(table="synthetic/evaluation")
    return Evidence(measured, measured.iloc[:0].assign(deviation=math.nan), {})


def verdict(held: int, judged: int, quantifier: str = "all") -> str:
    """The word for so many cases that hold."""
    values = {("moons", K): 0.5 if held > K else 2.0 for K in range(judged)}
    claim = Claim.of({**ENTRY, "quantifier": quantifier}, trend=0.8)
    return judge(claim, evidence(values), "paper", most=0.75).verdict


@pytest.mark.parametrize(
    ("quantifier", "held", "word"),
    [
        ("all", 4, "holds"),
        ("all", 3, "mostly"),
        ("all", 2, "mixed"),
        ("all", 1, "rarely"),
        ("all", 0, "fails"),
        ("most", 3, "holds"),
        ("most", 2, "mixed"),
        ("most", 1, "fails"),
        ("some", 1, "holds"),
        ("some", 0, "fails"),
    ],
)
def test_words(quantifier: str, held: int, word: str) -> None:
    assert verdict(held, 4, quantifier) == word


def test_no_data_is_not_run() -> None:
    outcome = judge(Claim.of(ENTRY, 0.8), evidence({}), "paper", 0.75)
    assert outcome.verdict == "not run"
    assert outcome.missing == "moons, damier"
    assert (outcome.cases, outcome.numbers, outcome.holds_at, outcome.fails_at) == ([], "", "", "")


def test_an_outcome_says_where_and_by_what_numbers() -> None:
    values = {("moons", 9): 0.5, ("moons", 16): 3.0, ("damier", 9): 0.9}
    outcome = judge(Claim.of(ENTRY, 0.8), evidence(values), "paper", 0.75)
    assert outcome.verdict == "mixed"
    assert outcome.holds_at == "damier, moons (K = 9)"
    assert outcome.fails_at == "moons (K = 16)"
    assert outcome.numbers == (
        "fails: moons K = 16: wta 3, hist 1; holds, closest: damier K = 9: wta 0.9, hist 1"
    )
    assert outcome.missing == ""
    assert len(json.dumps([case._asdict() for case in outcome.cases])) > 0


def test_numbers_of_curves_are_told_by_their_ends() -> None:
    entry = {**ENTRY, "kind": "falls", "along": "K"}
    entry = {key: value for key, value in entry.items() if key != "b"}
    values = {("moons", 9): 3.0, ("moons", 16): 2.0, ("moons", 25): 1.0}
    outcome = judge(Claim.of(entry, 0.8), evidence(values), "paper", 0.75)
    assert outcome.numbers == "holds, closest: moons: wta 3 (at 9) to 1 (at 25), share 1"


def test_other_sets_do_not_count() -> None:
    values = {("moons", 9): 0.5, ("elsewhere", 9): 2.0}
    assert judge(Claim.of(ENTRY, 0.8), evidence(values), "paper", 0.75).verdict == "holds"
    anywhere = {key: value for key, value in ENTRY.items() if key != "datasets"}
    outcome = judge(Claim.of(anywhere, 0.8), evidence(values), "paper", 0.75)
    assert (outcome.verdict, outcome.missing) == ("mixed", "")


def test_a_rule_for_readers() -> None:
    claim = Claim.of({**ENTRY, "within": {"absolute": 0.1, "deviations": 1.0}}, 0.8)
    assert claim.rule == (
        "below: risk of wta; risk of hist; within 0.1 absolute + 1 deviations; in all cases"
    )


@pytest.mark.parametrize(
    ("options", "tolerance", "doubled"),
    [
        ({}, "", {}),
        (
            {"within": {"absolute": 0.1, "relative": 0.2}},
            "within 0.1 absolute + 0.2 relative",
            {"within": {"absolute": 0.2, "relative": 0.4}},
        ),
        ({"kind": "bounded", "high": 1.1, "ideal": 1.0}, "high 1.1 about 1", {"high": 1.2}),
        ({"kind": "bounded", "high": 0.05}, "high 0.05", {"high": 0.1}),
        (
            {"kind": "slope", "along": "K", "low": -1.2, "high": -0.9, "ideal": -1},
            "low -1.2; high -0.9 about -1",
            {"low": -1.4, "high": -0.8},
        ),
        ({"kind": "falls", "along": "K"}, "trend 0.8", {"trend": 0.6}),
        (
            {"kind": "diverges", "along": "h", "towards": "largest", "by": 0.5, "reach": 1.0},
            "by 0.5",
            {"by": 1.0, "reach": 1.0},
        ),
    ],
)
def test_tolerances_can_be_changed(
    options: dict[str, Any], tolerance: str, doubled: dict[str, Any]
) -> None:
    entry = {**ENTRY, **options}
    if entry["kind"] != "below":
        del entry["b"]
    claim = Claim.of(entry, 0.8)
    assert claim.tolerance == tolerance
    changed = claim.with_tolerance(2.0).options
    assert changed.keys() == claim.options.keys()
    for name, value in doubled.items():
        assert changed[name] == pytest.approx(value)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"kind": "beneath"}, "wta_is_lower.kind = beneath: must be one of below, coincide,"),
        ({"b": None}, "wta_is_lower.b: missing"),
        ({"along": "K"}, "wta_is_lower.along: not a key of the kind below, which has id, section,"),
        ({"kind": "coincide"}, "wta_is_lower.within: missing"),
        ({"quantifier": "few"}, "wta_is_lower.quantifier: must be one of all, most, some"),
        ({"says": None}, "wta_is_lower.says: missing"),
    ],
)
def test_wrong_entries_are_explained(change: dict[str, Any], line: str) -> None:
    entry = {key: value for key, value in {**ENTRY, **change}.items() if value is not None}
    found = problems([entry])
    assert any(one.startswith(line) for one in found), found
    with pytest.raises(ValueError, match="wta_is_lower"):
        Claim.of(entry, 0.8)


def test_ids_are_unique() -> None:
    assert problems([ENTRY, ENTRY]) == ["wta_is_lower: there is another claim of this id"]


@pytest.mark.parametrize(
    ("diverged", "word"), [([0.0, 1.0, 0.0], "holds"), ([0.0] * 3, "fails"), ([], "not run")]
)
def test_divergence_of_mixtures_is_judged_by_the_printed_density(
    diverged: list[float], word: str
) -> None:
    """The claim as it is configured, under `paper`; what another formula did does not matter."""
    (entry,) = (one for one in load(ROOT / "config").claims if one["id"].endswith("_is_unstable"))
    rows: list[dict[str, Any]] = [{"protocol": "released", "seed": 1, "value": 1.0}]
    rows += [
        {"protocol": "printed_density", "seed": seed, "value": value}
        for seed, value in enumerate(diverged)
    ]
    common = {"study": "audio", "dataset": "ansyn", "method": "m_vmf", "metric": "diverged"}
    measured = tidy(rows, K=9, n=1, **common).assign(table="audio/evaluation")
    numbers = Evidence(measured, measured.iloc[:0].assign(deviation=math.nan), {})
    claim = Claim.of(entry, 0.8)
    assert claim.protocols == ("paper",)
    assert judge(claim, numbers, "paper", 0.75).verdict == word
