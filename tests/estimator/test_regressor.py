"""The estimator as a user meets it: choices, ensembles, messages at the door."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from bimodal import log_density, two_modes

from vwta import Box, Sphere, VoronoiRegressor
from vwta.estimator.columns import DataWarning
from vwta.estimator.heads import heads_for
from vwta.estimator.predicted import PredictedLaw
from vwta.geometry.spaces import Space
from vwta.io.errors import Interrupted

X, Y = two_modes(300, seed=0)
FAST: dict[str, Any] = {"n_hypotheses": 4, "steps": 60, "hidden": (16,), "random_state": 0}


def unit(x: np.ndarray) -> np.ndarray:
    """Unit vectors of three columns from rows of two."""
    y = np.c_[x, np.ones(len(x))]
    return y / np.linalg.norm(y, axis=1, keepdims=True)


def test_auto_takes_the_best_head_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model = VoronoiRegressor(**FAST).fit(X, Y)
    assert set(model.heads_) == {"voronoi", "kernel", "mdn", "local", "continuous"}
    assert model.head_ == max(model.heads_, key=model.heads_.__getitem__)
    boxed = VoronoiRegressor(space="box", **FAST).fit(X, Y)
    cut = {"voronoi", "local", "continuous"}
    assert set(boxed.heads_) == cut  # others would put mass outside
    monkeypatch.setattr("vwta.estimator.heads.FEW", 299)
    assert "local" not in VoronoiRegressor(**FAST).fit(X, Y).heads_  # slow, and rows are many


@pytest.mark.parametrize(
    ("name", "domain", "columns", "rows", "expected"),
    [
        ("auto", Box(-np.inf, np.inf), 2, 50, ["voronoi", "kernel", "mdn"]),
        ("all", Box(-np.inf, np.inf), 2, 9999, ["voronoi", "kernel", "mdn", "local"]),
        ("all", Box(0.0, np.inf), 1, 9999, ["voronoi", "local", "continuous"]),
        ("auto", Box(0.0, 1.0), 1, 9999, ["voronoi", "continuous"]),
        ("auto", Box(-np.inf, np.inf), 1, 9999, ["voronoi", "kernel", "mdn", "continuous"]),
        ("all", Box(-np.inf, np.inf), 3, 50, ["voronoi", "kernel", "mdn"]),
        ("all", Sphere(), 3, 50, ["voronoi", "kernel", "mdn"]),
        ("local", Box(-np.inf, np.inf), 2, 9999, ["local"]),
    ],
)
def test_heads_that_a_name_stands_for(
    name: str, domain: Space, columns: int, rows: int, expected: list[str]
) -> None:
    assert heads_for(name, domain, columns, rows) == expected


def test_held_out_likelihood_is_in_the_unit_of_targets() -> None:
    model = VoronoiRegressor(**{**FAST, "steps": 300}, head="voronoi", refit=False).fit(X, Y)
    assert abs(model.heads_["voronoi"] - log_density(X, Y).mean()) < 0.5


def test_same_seed_same_model() -> None:
    first, second = (VoronoiRegressor(head="mdn", **FAST).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    other = VoronoiRegressor(head="mdn", **{**FAST, "random_state": 1}).fit(X, Y)
    assert (other.predict(X) != first.predict(X)).any()


@pytest.mark.parametrize("head", ["kernel", "local", "continuous"])
def test_ensemble_is_the_average_of_its_members(head: str) -> None:
    model = VoronoiRegressor(head=head, members=3, **FAST).fit(X, Y)
    law = model.predict_dist(X[:5])
    assert len(model.networks_) == 3
    each = [
        PredictedLaw([atoms], head, law.number, law.targets).log_prob(Y[:5]) for atoms in law.atoms
    ]
    np.testing.assert_allclose(law.log_prob(Y[:5]), np.logaddexp.reduce(each) - np.log(3))
    assert (each[0] != each[1]).all()
    np.testing.assert_allclose(law.scenarios(0.0).groupby("row")["probability"].sum(), 1)
    np.testing.assert_allclose(law.cdf(law.quantile(0.3)), 0.3)
    assert model.diagnose(X[:50], Y[:50]).hypotheses == 4


@pytest.mark.parametrize("head", ["voronoi", "local", "continuous"])
def test_box_has_no_mass_outside(head: str) -> None:
    model = VoronoiRegressor(head=head, space=Box(0.0, 200.0), **FAST).fit(X, Y)
    law = model.predict_dist(X[:3])
    assert (law.log_prob(201.0) == -np.inf).all()
    np.testing.assert_allclose(law.cdf(200.0) - law.cdf(0.0), 1)
    with pytest.warns(DataWarning, match="1 of 3 targets lie outside the box"):
        assert model.score(X[:3], [100.0, 100.0, 300.0]) == -np.inf
    with pytest.raises(ValueError, match=r"head 'mdn' puts mass outside a box\. Remedy"):
        VoronoiRegressor(head="mdn", space="box", **FAST).fit(X, Y)


def test_diagnosis_refuses_targets_outside_the_box() -> None:
    model = VoronoiRegressor(head="voronoi", space=Box(0.0, 200.0), **FAST).fit(X, Y)
    message = r"y, row 2: 300 lies outside the box, where the density is 0\. Remedy: leave such"
    with pytest.raises(ValueError, match=message):
        model.diagnose(X[:3], [100.0, 100.0, 300.0])


@pytest.mark.parametrize("head", ["mdn", "kernel"])
def test_one_far_row_neither_stops_nor_decides_a_prediction(head: str) -> None:
    """A column that did not vary in training has weights that nothing has trained."""
    inputs = np.c_[X, np.ones(300)]
    model = VoronoiRegressor(head=head, **FAST).fit(inputs, Y)
    new = inputs[:4].copy()
    new[1, 0], new[2, 2] = 1e9, 1e6
    with pytest.warns(DataWarning, match="column 0, row 1 .* 1e.09 is taken as .*; 2 such columns"):
        law = model.predict_dist(new)
    plain = model.predict_dist(inputs[:4])
    np.testing.assert_array_equal(law.mean[[0, 2, 3]], plain.mean[[0, 2, 3]])
    assert np.abs(law.mean[1] - Y.mean()) < 20 * Y.std()
    with pytest.warns(DataWarning):
        assert np.isfinite(model.predict(1e6 * inputs)).all()


def test_targets_outside_the_box_are_left_out() -> None:
    y, box = np.where(np.arange(300) < 3, 500.0, Y), Box(0.0, 200.0)
    with pytest.warns(DataWarning, match="3 of 300 targets lie outside the box and are left out"):
        VoronoiRegressor(head="voronoi", space=box, **FAST).fit(X, y)


def test_three_columns() -> None:
    y = np.stack([Y, X[:, 0], X[:, 1]], 1) + 0.1 * np.random.default_rng(0).normal(size=(300, 3))
    model = VoronoiRegressor(head="voronoi", **FAST).fit(X, y)
    law = model.predict_dist(X[:4])
    samples = law.sample(1000, random_state=0)
    error = law.std / np.sqrt(1000)
    assert (np.abs(samples.mean(0) - law.mean) < 5 * error + 0.05 * law.std).all()


def test_names_of_pandas() -> None:
    table = pd.DataFrame(X, columns=["a", "b"])
    model = VoronoiRegressor(head="mdn", **FAST).fit(table, pd.Series(Y, name="price"))
    assert model.targets_.names == ["price"]
    assert list(model.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*Remedy: give the col"):
        model.predict(table[["b", "a"]])
    with pytest.raises(ValueError, match=r"X has 1 features, but .*\s+Remedy: give the columns of"):
        VoronoiRegressor(head="mdn", **FAST).fit(X, Y).predict(X[:, :1])


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (X[:4], Y[:4], {}, "n_samples = 4: too few rows .* Remedy"),
        (
            X,
            np.where(np.arange(300) == 5, np.nan, Y),
            {},
            r"y, row 5: nan is not finite \(NaN or inf\)\. R",
        ),
        (X, np.ones(300), {}, "column 0: all 300 targets are 1. Remedy: choose a target"),
        (X, Y[:-1], {}, "X has 300 rows and y has 299"),
        (X, np.array(["a"] * 300), {}, "y holds something that is no number"),
        (X, np.zeros((300, 1, 1)), {}, r"y has shape \(300, 1, 1\). Remedy"),
        (np.where(X > 0.99, np.inf, X), Y, {}, "inf .* Remedy"),
        (X, Y, {"head": "gauss"}, "head 'gauss'. Remedy: choose one of 'auto', 'all', 'voro"),
        (X, X, {"head": "continuous"}, "'continuous' is for targets of one column, these have 2"),
        (X, np.c_[X, Y], {"head": "local"}, "one or two columns, these have 3. Remedy: take head"),
        (X, unit(X), {"head": "local"}, "'local' is for .*, these are directions. Remedy"),
        (X, Y, {"space": "torus"}, "space 'torus'. Remedy: choose one of 'auto', 'line'"),
        (X, Y, {"space": "sphere"}, "needs unit vectors, found y of 1 columns"),
        (X, Y, {"n_hypotheses": 0}, "n_hypotheses is 0. Remedy: give a whole number from 1"),
        (X, pd.Series(pd.date_range("2020", periods=300)), {}, "y holds dates or times. Remedy"),
        (X, 1e14 + 0.1 * np.arange(300), {}, "targets differ by .* about 1e.14.* Remedy: subtract"),
        (X, Y, {"hidden": ()}, r"hidden is \(\). Remedy"),
        (X, Y, {"hidden": 64}, "hidden is 64. Remedy"),
        (X, Y, {"hidden": ("a",)}, r"hidden is \('a',\). Remedy"),
        (X, Y, {"learning_rate": 0.0}, "learning_rate is 0.0. Remedy: give a number above 0"),
        (X, Y, {"learning_rate": "a"}, "learning_rate is 'a'. Remedy"),
        (X, Y, {"weight_decay": -1}, "weight_decay is -1. Remedy: .* or 0 for no decay"),
        (X, Y, {"validation_fraction": "a"}, "validation_fraction is 'a'. Remedy"),
        (X, Y, {"progress": "foo"}, "progress is 'foo'. Remedy: give True, False or 'auto'"),
        (X, Y, {"random_state": -1}, "random_state is -1. Remedy: give a whole number from 0"),
        (X, Y, {"device": 1.5}, "device 1.5. Remedy: choose 'auto', 'cpu' or 'cuda'"),
        (X, Y, {"space": Box(500.0, 600.0)}, r"Box\(500.0, 600.0\): 0 of 300 targets lie in the"),
        (X, Y, {"space": Box([0, 0], [1, 1])}, "the box has 2 columns and y has 1. Remedy: give a"),
        (X, Y, {"device": "gpu"}, "device 'gpu'. Remedy: choose 'auto', 'cpu' or 'cuda'"),
        (X, Y, {"validation_fraction": 1.0}, "validation_fraction is 1.0. Remedy"),
    ],
)
def test_message_at_the_door(x: Any, y: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VoronoiRegressor(**{**FAST, **options}).fit(x, y)


def test_other_number_of_target_columns() -> None:
    model = VoronoiRegressor(head="mdn", **FAST).fit(X, Y)
    with pytest.raises(ValueError, match="y has 2 columns, and the model was fitted with 1"):
        model.score(X, np.stack([Y, Y], 1))


def test_warnings_about_targets() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 1)), rng.normal(size=400)
    y[11] = 1e3
    with pytest.warns(DataWarning) as caught:
        VoronoiRegressor(head="mdn", **FAST).fit(x[:200], y[:200])
    assert re.match(r"y, column 0, row 11: 1000 lies .* times as far from", str(caught[0].message))
    with pytest.warns(DataWarning) as caught:
        VoronoiRegressor(head="kernel", **FAST).fit(x, np.sign(y))
    text = " ".join(str(each.message) for each in caught)
    assert "y, column 0 is discrete: 2 values in 400 rows" in text
    assert "n_hypotheses=4 is too many for 2 distinct targets" in text


def test_bandwidth_at_the_border_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vwta.estimator.heads.BANDWIDTHS", (0.5, 0.8))
    low = r"the bandwidth is 0.5 \(of scaled targets\), the lowest .* Remedy: check whether targets"
    with pytest.warns(DataWarning, match=low):
        VoronoiRegressor(head="kernel", **FAST).fit(X, Y)
    monkeypatch.setattr("vwta.estimator.heads.FACTORS", (1e-3, 1e-2))
    high = r"the factor on all widths is 0.01, the highest .* Remedy: give more rows"
    with pytest.warns(DataWarning, match=high):
        VoronoiRegressor(head="mdn", **FAST).fit(X, Y)


def test_unused_hypotheses_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def far(y: torch.Tensor, count: int, _: torch.Generator) -> torch.Tensor:
        return torch.cat([y[:1], 1e3 + torch.rand(count - 1, 1)])

    monkeypatch.setattr("vwta.estimator.heads.k_means_plus_plus", far)
    with pytest.warns(DataWarning, match="3 of 4 hypotheses win no training row. Remedy: lower n_"):
        model = VoronoiRegressor(head="kernel", **FAST, learning_rate=1e-6).fit(X, Y)
    assert model.unused_hypotheses_ == 3


def test_volumes_with_large_errors_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """In four dimensions volumes are estimates, with an error of at most 5 % if that can be had."""
    y = np.random.default_rng(0).normal(size=(60, 4))
    VoronoiRegressor(head="voronoi", **FAST).fit(X[:60], y)
    monkeypatch.setattr("vwta.estimator.regressor.TOLERANCE", 1e-6)
    with pytest.warns(DataWarning, match="volumes of cells have a standard error of up to"):
        VoronoiRegressor(head="voronoi", **FAST).fit(X[:60], y)


def test_more_hypotheses_than_targets() -> None:
    with pytest.warns(DataWarning, match="n_hypotheses=50 is too many for 30 distinct targets"):
        model = VoronoiRegressor(head="voronoi", **{**FAST, "n_hypotheses": 50}).fit(X[:30], Y[:30])
    assert model.n_hypotheses_ == 12


def test_signals_act_as_usual_without_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a handler was installed")

    monkeypatch.setattr("signal.signal", refuse)
    VoronoiRegressor(head="mdn", **FAST).fit(X, Y)


def test_interrupted_fit_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"head": "mdn", **FAST}
    whole = VoronoiRegressor(**options).fit(X, Y)
    epochs: list[int] = []

    class Stop:
        def __init__(self, *_: Any) -> None: ...

        def update(self, epoch: int) -> None:
            epochs.append(epoch)
            if len(epochs) == 9:
                signal.raise_signal(signal.SIGTERM)

        def end(self) -> None: ...

    monkeypatch.setattr("vwta.estimator.fitting.Bar", Stop)
    with pytest.raises(Interrupted, match="run again to continue"):
        VoronoiRegressor(**options, checkpoint=tmp_path).fit(X, Y)
    again = VoronoiRegressor(**options, checkpoint=tmp_path).fit(X, Y)
    assert epochs[9] == 8  # not from the beginning
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    assert not list(tmp_path.iterdir())


def test_bar_is_drawn_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    VoronoiRegressor(head="mdn", **FAST).fit(X, Y)
    assert capsys.readouterr().err == ""
    VoronoiRegressor(head="mdn", progress=True, **FAST).fit(X, Y)
    assert "training mixture [" in capsys.readouterr().err


LARGE = """
import resource, time
import numpy as np
from vwta import VoronoiRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(10_000, 10))
y = X[:, 0] + rng.choice([-1, 1], 10_000) * (2 + X[:, 1]) + 0.3 * rng.normal(size=10_000)
size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before, start = size(), time.process_time()
VoronoiRegressor(random_state=0).fit(X, y)
print(time.process_time() - start, (size() - before) / 1024)
"""


@pytest.mark.slow
def test_defaults_fit_ten_thousand_rows_within_a_minute_and_little_memory() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LARGE], capture_output=True, text=True, check=True, env=environment
    )
    seconds, megabytes = map(float, done.stdout.split())
    assert seconds < 60
    assert megabytes < 500
