"""Lloyd's optimum in place of trained hypotheses."""

import pytest

from vwta.paper.metrics import tidy
from vwta.paper.verdicts.optimum import as_evidence, concerns


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
    [("wta", "hist", True), ("hist", "v_wta", True), ("hist", "mdn", False)],
)
def test_which_queries_it_concerns(method: str, minus: str, wanted: bool) -> None:
    query = {"metric": "nll", "method": method, "minus": {"metric": "nll", "method": minus}}
    assert concerns(query) == wanted
