"""A diagnosis has the numbers that follow from laws and targets, and its page is safe."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import norm

from vwta import VoronoiRegressor
from vwta.distributions.odds import odds_of
from vwta.estimator.diagnosis import Diagnosis, diagnose
from vwta.estimator.predicted import PredictedLaw
from vwta.estimator.targets import Targets
from vwta.nn.heads import SoftmaxHypotheses

ROWS = 400
ODDS = [0.25, 0.45, 0.3, 0.0]  # the last hypothesis is far away


def laws(name: str = "price") -> PredictedLaw:
    """The same law in every row: two modes, around 80 and around 120, in the unit of the target."""
    points = torch.tensor([-2.0, 1.8, 2.2, 50.0]).double().expand(ROWS, 4)[..., None]
    logits = torch.tensor(ODDS).double().log().clamp_min(-1e3).expand(ROWS, 4)
    targets = Targets("line", [100.0], [10.0], flat=True, names=[name])
    return PredictedLaw([SoftmaxHypotheses(points, logits)], "voronoi", 0.3, targets)


def found(law: PredictedLaw, y: np.ndarray) -> Diagnosis:  # type: ignore[type-arg]
    return diagnose(law, y[:, None], law.log_prob(y), {"voronoi": -3.0, "mdn": -3.1})


@pytest.fixture(scope="module")
def right() -> Diagnosis:
    """The diagnosis of laws that are right."""
    return found(laws(), laws().sample(random_state=1))


def test_likelihoods(right: Diagnosis) -> None:
    y = right.y[:, 0]
    assert np.isclose(right.log_likelihood["model"].mean, laws().log_prob(y).mean())
    gaussian = right.log_likelihood["Gaussian without inputs"]
    values = norm(100, 10).logpdf(y)
    assert np.isclose(gaussian.mean, values.mean())
    assert np.isclose(gaussian.error, values.std(ddof=1) / math.sqrt(ROWS))
    best = max(left_one_out(y, h) for h in np.geomspace(0.1, 10, 60))
    assert abs(right.log_likelihood["kernel density without inputs"].mean - best) < 0.003
    assert right.held_out == {"voronoi": -3.0, "mdn": -3.1}


def left_one_out(y: np.ndarray, h: float) -> float:  # type: ignore[type-arg]
    p = norm(y[:, None], h).pdf(y)
    np.fill_diagonal(p, 0)
    return float(np.log(p.sum(1) / (len(y) - 1)).mean())


def test_right_laws_are_calibrated(right: Diagnosis) -> None:
    assert right.pit is not None
    assert right.pit < 1.36 / math.sqrt(ROWS)
    assert abs(right.covered["regions of 90 %"] - 0.9) < 0.05
    assert abs(right.covered["central intervals of 50 %"] - 0.5) < 0.08
    assert right.cells is not None
    assert right.cells.error < 0.06
    assert right.scenarios.error < 0.06
    assert right.unused == 1
    assert right.hypotheses == 4


def test_wrong_laws_are_not(right: Diagnosis) -> None:
    wrong = found(laws(), 200 - right.y[:, 0])  # the odds of both modes are exchanged
    assert wrong.pit is not None
    assert wrong.pit > 0.3
    assert wrong.scenarios.error > 0.3
    assert wrong.score["model"].mean > 1.5 * right.score["model"].mean
    assert wrong.log_likelihood["model"].mean < right.log_likelihood["model"].mean


def test_crps_of_a_gaussian_without_inputs(right: Diagnosis) -> None:
    z = (right.y[:, 0] - 100) / 10
    exact = 10 * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / math.sqrt(math.pi))
    assert np.isclose(right.score["Gaussian without inputs"].mean, exact.mean())


def test_odds_in_bins() -> None:
    p = np.repeat([0.1, 0.6], 100)
    event = np.arange(200) % 10 < np.repeat([1, 5], 100)
    odds = odds_of(p, event, bins=2)
    assert np.allclose(odds.observed, [0.1, 0.5])
    assert np.isclose(odds.error, 0.05)


def test_table(right: Diagnosis) -> None:
    text = repr(right)
    assert re.search(r"^log-likelihood, model +-?\d\.\d{4} ± 0\.\d{4}$", text, re.MULTILINE)
    assert "hypotheses that win no row" in text
    assert "1 of 4" in text


def test_page_is_one_file_without_scripts(tmp_path: Path) -> None:
    law = laws("<script>alert(1)</script>")
    path = tmp_path / "page.html"
    text = found(law, law.sample(random_state=1)).to_html(path)
    assert path.read_text() == text
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "script-src 'none'" in text
    sources = re.findall(r'<img src="([^"]{22})', text)
    assert sources == ["data:image/png;base64,"] * 4
    assert "http:" not in text.replace("http-equiv", "")


@pytest.mark.parametrize("head", ["voronoi", "kernel", "local"])
def test_several_columns(plane: dict[str, VoronoiRegressor], head: str) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    y = plane[head].predict_dist(X).sample(random_state=0)
    result = plane[head].calibrate(X, y).diagnose(X, y)
    assert result.pit is None
    assert result.score_name == "energy score"
    assert np.isclose(result.log_likelihood["model"].mean, plane[head].score(X, y))
    model, other = list(result.log_likelihood.values())[:2]
    assert model.mean > other.mean
    assert result.covered["calibrated regions of 90 %"] >= 0.9
    plane[head].calibration_ = None


def test_other_models_stand_beside(models: dict[str, VoronoiRegressor]) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    y = models["voronoi"].predict_dist(X).sample(random_state=0)
    result = models["voronoi"].diagnose(X, y, beside={"an MDN": models["mdn"]})
    assert np.isclose(result.log_likelihood["an MDN"].mean, models["mdn"].score(X, y))
    assert "log-likelihood, an MDN" in str(result)


def test_directions(sphere: dict[str, VoronoiRegressor]) -> None:
    X = np.linspace(-1, 1, 50)[:, None]
    y = sphere["mdn"].predict_dist(X).sample(random_state=0)
    result = sphere["mdn"].diagnose(X, y)
    assert result.cells is None
    assert np.isclose(result.log_likelihood["uniform"].mean, -math.log(4 * math.pi))
    assert result.log_likelihood["kernel density without inputs"].mean > -math.log(4 * math.pi)
