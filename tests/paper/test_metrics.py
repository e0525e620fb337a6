"""Metrics against plain arithmetic, and the tidy table."""

import math

import pytest
import torch

from vwta.paper.metrics import (
    COLUMNS,
    likelihood_rows,
    nll,
    nll_capped,
    of_protocol,
    risk,
    rmse,
    tidy,
)


def test_nll_is_a_mean() -> None:
    assert nll(torch.tensor([0.0, -1.0, 3.0])) == pytest.approx(-2 / 3)
    assert nll(torch.tensor([0.0, -math.inf])) == math.inf


def test_nll_capped_is_the_published_formula() -> None:
    densities = [0.0, 1e-9, 0.5, 20.0]
    expected = sum(min(-math.log(p + 1e-7), 16.1) for p in densities) / 4
    log_prob = torch.tensor(densities, dtype=torch.float64).log()
    assert nll_capped(log_prob, epsilon=1e-7, cap=16.1) == pytest.approx(expected, rel=1e-12)


def test_risk_against_a_loop() -> None:
    source = torch.Generator().manual_seed(0)
    points, y = torch.randn(5, 7, 3, generator=source), torch.randn(5, 3, generator=source)
    pairs = zip(points.tolist(), y.tolist(), strict=True)
    expected = sum(min(math.dist(z, t) ** 2 for z in atoms) for atoms, t in pairs) / 5
    assert risk(points, y) == pytest.approx(expected)


def test_rmse_against_a_loop() -> None:
    source = torch.Generator().manual_seed(0)
    mean, y = torch.randn(2, 5, 3, generator=source)
    pairs = zip(mean.tolist(), y.tolist(), strict=True)
    expected = math.sqrt(sum(math.dist(m, t) ** 2 for m, t in pairs) / 5)
    assert rmse(mean, y) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("shape", [(5,), (1, 3), (5, 1)])
def test_rmse_refuses_shapes_that_would_broadcast(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="same shape"):
        rmse(torch.zeros(5, 3), torch.zeros(shape))


def test_points_outside_are_left_out() -> None:
    log_prob = torch.tensor([1.0, 2.0, -math.inf, 5.0], dtype=torch.float64)
    inside = torch.tensor([True, True, False, False])
    rows = {row["metric"]: row for row in likelihood_rows(log_prob, inside, 1e-7, 16.1)}
    assert rows["nll"] == {"metric": "nll", "value": -1.5, "n": 2}
    assert rows["nll_capped"]["n"] == 4
    assert rows["nll_capped"]["value"] == pytest.approx((-1 - 2 + 16.1 - 5) / 4)


def test_table_has_all_columns() -> None:
    rows = [
        {"metric": "nll", "value": 0.5, "n": 3, "h": 0.1},
        {"metric": "risk", "value": 1, "n": 3},
    ]
    table = tidy(rows, study="synthetic", K=9)
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert table["K"].tolist() == [9, 9]
    assert table["h"].isna().tolist() == [False, True]
    assert table["split"].isna().all()
    assert table["tuned"].tolist() == [False, False]


def test_empty_table_has_columns() -> None:
    assert list(tidy([]).columns) == list(COLUMNS)


def test_unknown_column_is_named() -> None:
    with pytest.raises(ValueError, match="methd"):
        tidy([{"methd": "v_wta"}])


def test_another_protocol_stands_in_for_methods_without_rows() -> None:
    rows = [
        {"protocol": "literal", "method": "v_wta", "value": 1.0},
        {"protocol": "paper", "method": "v_wta", "value": 2.0},
        {"protocol": "paper", "method": "mdn", "value": 3.0},
        {"protocol": "other", "method": "mdn", "value": 4.0},
    ]
    table = tidy(rows, metric="nll", n=1)
    found = of_protocol(table, "literal", "paper")
    assert found[["protocol", "method", "value"]].values.tolist() == [
        ["literal", "v_wta", 1.0],
        ["literal", "mdn", 3.0],
    ]
    assert found.dtypes.equals(table.dtypes)
    assert of_protocol(table, "paper", "paper")["value"].tolist() == [2.0, 3.0]
