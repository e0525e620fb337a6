"""The perfect learner is a bound: between the true law and any network."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.audio.em import concentration, fit_mixture
from vwta.paper.audio.frames import Fold, MappedRows
from vwta.paper.audio.perfect import Settings, _normal, _points, perfect_rows
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.targets import Targets
from vwta.seeds import generator

NOISE = Perturbation(dict.fromkeys(CLASSES, 20.0))
SETTINGS = Settings(targets=60, points=500, steps=30)
INTERVAL = (0.02, 2.0, 0.05)


def targets_of(sources: int) -> Targets:
    """Frames with some sources, on the equator and far apart."""
    angle = torch.tensor([0.0, 2.0, 4.0], dtype=torch.float64)
    direction = torch.stack([angle.cos(), angle.sin(), 0 * angle], -1).expand(2, 100, 3, 3)
    kind = torch.zeros(2, 100, 3, dtype=torch.long)
    kind[..., sources:] = -1
    fold = Fold(MappedRows([np.zeros((0, 1), np.float16)]), kind, direction, [])
    return Targets.of(fold, NOISE, generator(0))


def values_of(rows: Sequence[Mapping[str, Any]], metric: str) -> dict[str, float]:
    """Values by method: at the tuned bandwidth, or without one."""
    chosen = (row for row in rows if row["metric"] == metric and row.get("tuned", True))
    return {row["method"]: row["value"] for row in chosen}


@pytest.mark.parametrize("sources", [1, 3])
def test_it_lies_above_the_true_law_and_more_atoms_have_less_risk(sources: int) -> None:
    targets = targets_of(sources)
    kind = torch.zeros(1, dtype=torch.long)
    entropy = NOISE.entropy(targets.direction[:1, 0], kind).item() + math.log(sources)
    risks = []
    for K in (3, 12):
        rows = [*perfect_rows(targets, NOISE, K, [0.1, 0.5], INTERVAL, 1, SETTINGS)]
        likely = values_of(rows, "nll")
        given = [row["value"] for row in rows if row.get("tuned") is False]
        assert set(likely) == {"v_lloyd", "k_lloyd", "unif_v_lloyd", "best_m_vmf"}
        assert len(given) == 4
        assert likely["v_lloyd"] <= min(given[:2]) + 1e-9
        assert likely["best_m_vmf"] < min(likely.values()) + 0.02
        assert all(value > entropy - 0.35 for value in likely.values())  # of 60 targets
        risks.append(values_of(rows, "risk"))
        assert risks[-1]["lloyd"] < 1.1 * risks[-1]["best_m_vmf"]
    assert risks[1]["lloyd"] < risks[0]["lloyd"]
    again = [*perfect_rows(targets, NOISE, 3, [0.1], INTERVAL, 1, SETTINGS)]
    assert again == [*perfect_rows(targets, NOISE, 3, [0.1], INTERVAL, 1, SETTINGS)]


def test_risk_is_that_of_a_plain_quantiser() -> None:
    """One atom for a single source: the mean squared angle is the variance of the noise."""
    rows = [*perfect_rows(targets_of(1), NOISE, 1, [0.3], INTERVAL, 1, Settings(150, 500, 30))]
    angle = math.radians(20)
    assert values_of(rows, "risk")["lloyd"] == pytest.approx(2 * angle**2, rel=0.25)


def test_points_are_those_of_the_true_law() -> None:
    """Its mean vector in closed form, and that of a single mode, which is then the best M-vMF."""
    targets = targets_of(3)
    y = _points(targets, NOISE, 0, _normal(3000, 1))
    expected = NOISE.mean(targets.direction[0], targets.kind[0])
    torch.testing.assert_close(y.view(3, -1, 3).mean(1), expected, atol=2e-3, rtol=0)
    one = fit_mixture(y, torch.zeros(len(y), dtype=torch.long), 1, 1, 0.01)
    length = expected.mean(0).norm()
    assert one.h.item() == pytest.approx(concentration(length).rsqrt().item(), rel=0.01)
