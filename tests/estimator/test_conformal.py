"""Calibrated regions cover what they promise, however wrong the model is."""

import math

import numpy as np
import pytest
import torch
from bimodal import two_modes

from vwta import VoronoiRegressor
from vwta.estimator.columns import DataWarning
from vwta.estimator.conformal import Calibration, hdr_scores
from vwta.estimator.predicted import PredictedLaw
from vwta.estimator.targets import Targets
from vwta.nn.heads import Components

SETS, ROWS = 1000, 19
LEVEL = 0.9


def narrow_law(rows: int) -> PredictedLaw:
    """Two narrow Gaussians at -1 and 1, for every row."""
    points = torch.tensor([[-1.0], [1.0]]).double().expand(rows, 2, 1)
    atoms = Components(points, torch.zeros(rows, 2).double(), torch.full((rows, 2), -3.0).double())
    return PredictedLaw([atoms], "mdn", 1.0, Targets("line", [0.0], [1.0], flat=True))


def test_coverage_over_many_data_sets() -> None:
    """Of 1,000 data sets of 19 rows each, the next target is covered in 90 %: 18 of 20 ranks."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], (SETS, ROWS + 1), p=[0.8, 0.2]) + 0.6 * rng.standard_t(
        4, (SETS, ROWS + 1)
    )
    law = narrow_law(y.size)
    scores = hdr_scores([law.law], torch.as_tensor(y).reshape(-1, 1)).view(SETS, ROWS + 1)
    covered = [
        float(new) <= Calibration(known).mass(LEVEL)
        for known, new in zip(scores[:, :-1], scores[:, -1], strict=True)
    ]
    error = math.sqrt(LEVEL * (1 - LEVEL) / SETS)
    assert abs(np.mean(covered) - LEVEL) < 3 * error
    assert np.mean(scores.numpy() <= LEVEL) < 0.7  # uncalibrated


def test_rank_of_the_mass() -> None:
    calibration = Calibration(torch.arange(9).flip(0) / 10)
    assert calibration.mass(0.9) == pytest.approx(0.8)
    assert calibration.mass(0.5) == pytest.approx(0.4)
    with pytest.warns(DataWarning, match="9 rows, regions of level 0.95 .* at least 19 rows"):
        assert calibration.mass(0.95) == math.inf


def test_scores_are_uniform_if_the_law_is_right(models: dict[str, VoronoiRegressor]) -> None:
    X, _ = two_modes(1000, seed=1)
    law = models["kernel"].predict_dist(X)
    y = torch.as_tensor(law.targets.scaled(law.sample(random_state=0)[:, None]))
    scores = hdr_scores([law.law], y).clamp_max(1).sort().values
    assert (scores - torch.arange(1000) / 1000).abs().max() < 0.06


@pytest.mark.parametrize("head", ["voronoi", "mdn"])
def test_calibrated_model_covers(models: dict[str, VoronoiRegressor], head: str) -> None:
    """The model is fitted with targets of another kind than those it is calibrated with."""
    X, y = two_modes(1500, seed=2)
    y = y + 3 * np.random.default_rng(0).normal(size=len(y))
    model = VoronoiRegressor(**models[head].get_params()).fit(*two_modes(400, seed=3))
    before = model.predict_dist(X[500:]).covers(y[500:], LEVEL).mean()
    model.calibrate(X[:500], y[:500])
    after = model.predict_dist(X[500:]).covers(y[500:], LEVEL).mean()
    assert before < 0.8
    assert abs(after - LEVEL) < 4 * math.sqrt(LEVEL * (1 - LEVEL) * (1 / 500 + 1 / 1000))


def test_regions_without_an_end(models: dict[str, VoronoiRegressor]) -> None:
    model = VoronoiRegressor(**models["kernel"].get_params())
    model.__dict__.update(vars(models["kernel"]))
    X, y = two_modes(5, seed=4)
    law = model.calibrate(X, y).predict_dist(X)
    with pytest.warns(DataWarning, match="calibrated with 5 rows, regions of level 0.9 are unb"):
        assert law.hdr(0.9).intervals.isinf().all()
    with pytest.warns(DataWarning):
        assert law.covers(y + 1e6, 0.9).all()


def test_coverage_by_samples_beyond_them() -> None:
    """In the plane scores are shares of samples, and go on where these end."""
    rng = np.random.default_rng(0)
    y = 3 * rng.normal(size=(4000, 2))
    points = torch.zeros(4000, 1, 2).double()
    atoms = Components(points, torch.zeros(4000, 1).double(), torch.zeros(4000, 1).double())
    law = PredictedLaw([atoms], "mdn", 1.0, Targets("line", [0.0] * 2, [1.0] * 2))
    scores = hdr_scores([law.law], torch.as_tensor(y))
    mass = Calibration(scores[:2000]).mass(LEVEL)
    assert mass > 1
    error = math.sqrt(LEVEL * (1 - LEVEL) * 2 / 2000)
    assert abs((scores[2000:] <= mass).double().mean().item() - LEVEL) < 4 * error
