"""Tables of all methods on common splits, against numbers worked out by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vwta.io.storage import write_table
from vwta.paper.collection import collect
from vwta.paper.metrics import tidy
from vwta.paper.uci.paired import difference
from vwta.paper.uci.rivals import costs_of, write_costs, write_rivals

SIZES = pd.DataFrame([{"dataset": "boston", "rows": 506, "discrete": False}])


def numbers(method: str, values: list[list[float]], metric: str = "nll") -> list[dict[str, object]]:
    """Rows of a method: for each split those of its networks."""
    return [
        {"method": method, "metric": metric, "value": value, "split": split, "seed": seed, "n": 9}
        for split, networks in enumerate(values)
        for seed, value in enumerate(networks)
    ]


@pytest.fixture
def tables(tmp_path: Path) -> tuple[pd.DataFrame, str]:
    rows = [
        *numbers("mdn", [[1.0, 3.0], [2.0, 2.2], [2.0, 2.0], [50.0, 50.0]]),
        *numbers("v_wta", [[2.5, 2.6], [2.6, 2.7], [2.5, 2.6], [0.0, 0.0]]),
        *numbers("flow", [[2.1, 2.1], [2.0, 2.2], [2.0, 2.1]]),  # on three splits of four
        *numbers("ngboost", [[2.4], [np.nan], [2.4]]),
        *numbers("wta", [[0.5], [0.5], [0.5]], "risk"),
        *numbers("mdn", [[0.8], [0.9], [0.7]], "risk"),
        *numbers("mdn", [[0.8], [0.9], [0.7]], "coverage90"),
    ]
    table = tidy(rows, study="uci", protocol="ours", dataset="boston", K=5)
    write_rivals(table, SIZES, tmp_path, ["boston"])
    return pd.read_csv(tmp_path / "uci_rivals.csv"), (tmp_path / "uci_rivals.md").read_text()


def test_methods_are_compared_on_the_splits_that_all_have(
    tables: tuple[pd.DataFrame, str],
) -> None:
    found = tables[0].query("metric == 'nll'").set_index("method")
    assert (found["splits"] == 3).all()
    assert found.loc["mdn", "mean"] == pytest.approx((2.0 + 2.1 + 2.0) / 3)
    mdn, flow, v_wta = (
        pd.Series(values) for values in ([2.0, 2.1, 2.0], [2.1, 2.1, 2.05], [2.55, 2.65, 2.55])
    )
    for name, values in {"flow": flow, "v_wta": v_wta}.items():
        part = difference(values, mdn)
        assert part is not None
        assert found.loc[name, ["difference", "low", "high"]].tolist() == pytest.approx(
            [part.mean, part.low, part.high]
        )
    assert found["wins"].to_dict() == {
        "mdn": True,
        "flow": True,  # the interval of the flow reaches 0
        "v_wta": False,
        "ngboost": False,
    }


def test_winners_are_bold(tables: tuple[pd.DataFrame, str]) -> None:
    line = next(line for line in tables[1].splitlines() if "NLL, single" in line)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[0] == "Boston"
    assert cells[2:4] == ["3", "**2.03**"]
    assert cells[4].startswith("2.58 [+")
    assert cells[5:] == ["**2.08**", "--"]
    risk = next(line for line in tables[1].splitlines() if "risk, atoms" in line)
    assert "**0.500**" in risk
    assert "0.800 [" in risk


def test_no_coverage_wins(tables: tuple[pd.DataFrame, str], tmp_path: Path) -> None:
    more = pd.read_csv(tmp_path / "uci_rivals_more.csv")
    assert more["metric"].tolist() == ["coverage90"]
    assert not more["wins"].any()


def test_costs_come_from_the_records_of_parts(tmp_path: Path) -> None:
    parts = []
    for dataset, protocol in (("boston", "ours"), ("wine", "ours"), ("wine", "paper")):
        rows = numbers("mdn", [[1.0]])
        table = tidy(rows, study="uci", protocol=protocol, dataset=dataset, K=5)
        seconds = {"training": 3.0 if protocol == "ours" else 9.0, "prediction": 0.0125}
        facts = {"protocol": protocol, "dataset": dataset, "costs": {"mdn": seconds}}
        parts.append(tmp_path / f"{dataset}_{protocol}.parquet")
        write_table(parts[-1], table, {"provenance": {}, **facts})
    collect(parts, tmp_path / "evaluation.parquet")
    costs = costs_of(tmp_path / "evaluation.parquet")
    assert costs["dataset"].tolist() == ["boston", "wine"]
    assert (costs["training"] == 3).all()
    write_costs(costs, tmp_path, ["boston", "wine", "year"])
    text = (tmp_path / "uci_costs.md").read_text()
    assert "| training | MDN | 3.0 | 3.0 |" in " ".join(text.split())
    assert "0.0125" in text
