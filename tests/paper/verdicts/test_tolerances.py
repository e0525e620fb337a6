"""Claims with half and with twice their tolerances."""

import math
from typing import Any

from vwta.paper.metrics import tidy
from vwta.paper.verdicts.claims import Claim
from vwta.paper.verdicts.selection import Evidence
from vwta.paper.verdicts.tolerances import COLUMNS, for_readers, sentence, vary

RATIOS = {"moons": 1.04, "damier": 1.08, "gaussian": 1.15}  # of two methods


def claim(**entry: Any) -> Claim:
    queries = {"a": {"metric": "risk", "method": "wta"}, "b": {"metric": "risk", "method": "hist"}}
    about = {"id": "equal", "section": "5", "study": "synthetic", "says": "they are equal"}
    return Claim.of({**about, "kind": "coincide", **queries, **entry}, trend=0.8)


def evidence() -> Evidence:
    rows = [
        {"dataset": name, "method": method, "value": value}
        for name, ratio in RATIOS.items()
        for method, value in (("wta", ratio), ("hist", 1.0))
    ]
    common = {"study": "synthetic", "protocol": "paper", "metric": "risk", "n": 1, "K": 9}
    measured = tidy(rows, **common).assign(table="synthetic/evaluation")
    return Evidence(measured, measured.iloc[:0].assign(deviation=math.nan), {})


def test_verdicts_with_other_tolerances() -> None:
    claims = [
        claim(within={"absolute": 0.3}),
        claim(id="near", within={"absolute": 0.1}),
        claim(id="lower", kind="below"),  # has no tolerance
        claim(id="elsewhere", within={"absolute": 0.1}, protocols=["released"]),  # was not run
    ]
    table = vary(claims, evidence(), "paper", most=0.75)
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert table["id"].tolist() == ["equal", "near"]
    near = table.iloc[1]
    assert near[["halved", "stated", "doubled"]].tolist() == ["mixed", "mixed", "holds"]
    assert near[["halved_held", "stated_held", "doubled_held", "judged"]].tolist() == [1, 2, 3, 3]
    assert table.loc[0, ["halved", "stated", "doubled"]].tolist() == ["holds"] * 3
    assert sentence(table) == (
        "The tolerances of claims are ours: of 2 claims that have one, 0 get another verdict if it "
        "is halved, and 1 if it is doubled."
    )
    read = for_readers(table)
    assert read["tolerance"].tolist() == ["within 0.1 absolute", "within 0.3 absolute"]
    assert read.iloc[0]["halved"] == "**mixed**, 1 of 3"


def test_no_claims() -> None:
    table = vary([], evidence(), "paper", most=0.75)
    assert (len(table), len(for_readers(table))) == (0, 0)
    assert table.dtypes.astype(str).to_dict() == COLUMNS
