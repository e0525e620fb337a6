"""scikit-learn's own checks, and its tools around the estimator."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bimodal import two_modes
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from vwta import VoronoiRegressor

X, Y = two_modes(150, seed=0)
FAST: dict[str, Any] = {"n_hypotheses": 3, "steps": 30, "hidden": (16,), "refit": False}


# No check is left out. The tag `poor_score` says that scores are log-likelihoods, not R^2.
@pytest.mark.filterwarnings("ignore::vwta.estimator.columns.DataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        VoronoiRegressor(head="voronoi", **FAST),
        VoronoiRegressor(**{**FAST, "steps": 2, "hidden": (4,)}),  # the default head, `auto`
    ]
)
def test_check_estimator(estimator: VoronoiRegressor, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_pipeline_and_grid_search() -> None:
    pipeline = make_pipeline(StandardScaler(), VoronoiRegressor(head="mdn", random_state=0, **FAST))
    search = GridSearchCV(pipeline, {"voronoiregressor__n_hypotheses": [1, 4]}, cv=2)
    search.fit(X, Y)
    assert np.isfinite(search.best_score_)
    assert search.predict(X).shape == (150,)


def test_cross_validation_scores_are_log_likelihoods() -> None:
    model = VoronoiRegressor(head="kernel", random_state=0, **FAST)
    scores = cross_val_score(model, X, Y, cv=3)
    assert ((scores > -6) & (scores < -2)).all()


def test_clone_has_the_same_parameters() -> None:
    model = VoronoiRegressor(head="mdn", members=2, **FAST)
    assert clone(model).get_params() == model.get_params()
