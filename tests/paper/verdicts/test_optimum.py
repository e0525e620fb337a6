"""Lloyd's optimum in place of trained hypotheses."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from loading import ROOT

from vwta.paper.metrics import tidy
from vwta.paper.verdicts.claims import Claim, Outcome, judge
from vwta.paper.verdicts.configuration import load
from vwta.paper.verdicts.optimum import OPTIMUM, as_evidence, concerns
from vwta.paper.verdicts.selection import Evidence


def test_the_optimum_stands_for_trained_methods() -> None:
    common = {"study": "synthetic", "dataset": "moons", "metric": "risk", "K": 9, "n": 1}
    rows = [
        {"protocol": "paper", "method": "lloyd", "value": 1.0},
        {"protocol": "paper", "method": "v_lloyd", "value": 2.0},
        {"protocol": "paper", "method": "wta", "value": 3.0},
        {"protocol": "released", "method": "lloyd", "value": 4.0},  # of another law
    ]
    found = as_evidence(tidy(rows, **common).assign(table=""))
    assert set(found["protocol"]) == {"optimum"}
    assert dict(zip(found["method"], found["value"], strict=True)) == {"wta": 1.0, "v_wta": 2.0}


@pytest.mark.parametrize(
    ("method", "minus", "wanted"),
    [
        ("wta", "hist", True),
        ("hist", "v_wta", True),
        ("hist", "m_vmf", True),
        ("hist", "mdn", False),
    ],
)
def test_which_queries_it_concerns(method: str, minus: str, wanted: bool) -> None:
    query = {"metric": "nll", "method": method, "minus": {"metric": "nll", "method": minus}}
    assert concerns(query) == wanted


def on_optimum(name: str, likely: Mapping[str, float]) -> Outcome:
    """The verdict on a claim of the audio study for a perfect learner with these likelihoods."""
    settings = load(ROOT / "config")
    common = {"study": "audio", "protocol": "paper", "dataset": "resynthesis", "metric": "nll"}
    rows: list[dict[str, Any]] = []
    for K in (9, 25):
        for method, value in likely.items():
            swept = {"v_lloyd": (0.3, 0.5, 1.0)}.get(method, (None,))
            rows += [{"method": method, "K": K, "h": h, "value": value} for h in swept]
    measured = tidy(rows, n=1, **common).assign(table="audio/evaluation")
    ours = pd.concat([measured, as_evidence(measured)], ignore_index=True)
    evidence = Evidence(ours, measured.iloc[:0].assign(deviation=0.0), settings.borrows)
    (entry,) = (one for one in settings.claims if one["id"] == name)
    return judge(Claim.of(entry, settings.trend), evidence, OPTIMUM, settings.most)


@pytest.mark.parametrize(("mixture", "verdict"), [(1.0, "fails"), (1.15, "holds")])
def test_a_perfect_learner_has_both_sides_of_a_claim_on_mixtures(
    mixture: float, verdict: str
) -> None:
    """Of the trained mixture, which is in the same table, nothing is taken."""
    likely = {"v_lloyd": 1.2, "best_m_vmf": mixture, "m_vmf": 3.0}
    found = on_optimum("audio_v_nearly_reaches_mixture", likely)
    assert (found.verdict, len(found.cases)) == (verdict, 2)


def test_a_perfect_learner_borrows_the_histogram() -> None:
    assert on_optimum("audio_v_beats_histogram", {"v_lloyd": 1.2}).verdict == "not run"
    found = on_optimum("audio_v_beats_histogram", {"v_lloyd": 1.2, "unif_hist": 1.5})
    assert (found.verdict, len(found.cases)) == ("holds", 6)
