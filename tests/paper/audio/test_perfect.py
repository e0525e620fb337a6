"""The perfect learner is a bound: between the true law and any network."""

import math

import numpy as np
import pytest
import torch

from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.audio.frames import Fold, MappedRows
from vwta.paper.audio.perfect import Settings, perfect_rows
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


@pytest.mark.parametrize("sources", [1, 3])
def test_it_lies_above_the_true_law_and_more_atoms_have_less_risk(sources: int) -> None:
    targets = targets_of(sources)
    kind = torch.zeros(1, dtype=torch.long)
    entropy = NOISE.entropy(targets.direction[:1, 0], kind).item() + math.log(sources)
    risks = []
    for K in (3, 12):
        rows = [*perfect_rows(targets, NOISE, K, [0.1, 0.5], INTERVAL, 1, SETTINGS)]
        tuned = {row["method"]: row["value"] for row in rows if row.get("tuned")}
        given = [
            row["value"] for row in rows if row["metric"] == "nll" and row.get("tuned") is False
        ]
        assert set(tuned) == {"v_lloyd", "k_lloyd"}
        assert len(given) == 4
        assert tuned["v_lloyd"] <= min(given[:2]) + 1e-9
        assert all(value > entropy - 0.35 for value in tuned.values())  # of 60 targets
        risks.append(rows[-1]["value"])
    assert risks[1] < risks[0]
    again = [*perfect_rows(targets, NOISE, 3, [0.1], INTERVAL, 1, SETTINGS)]
    assert again == [*perfect_rows(targets, NOISE, 3, [0.1], INTERVAL, 1, SETTINGS)]


def test_risk_is_that_of_a_plain_quantiser() -> None:
    """One atom for a single source: the mean squared angle is the variance of the noise."""
    rows = [*perfect_rows(targets_of(1), NOISE, 1, [0.3], INTERVAL, 1, Settings(150, 500, 30))]
    angle = math.radians(20)
    assert rows[-1]["metric"] == "risk"
    assert rows[-1]["value"] == pytest.approx(2 * angle**2, rel=0.25)
