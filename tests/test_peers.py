"""The comparison with other methods, at the size of a toy."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from loading import ROOT, load_module

FOLDER = ROOT / "benchmarks/peers"


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, ModuleType]]:
    """Its modules, which find each other by their names."""
    pytest.importorskip("ngboost")
    pytest.importorskip("zuko")
    names = ("problems", "scores", "models", "picture")
    sys.path.insert(0, str(FOLDER))
    try:
        main = load_module(FOLDER / "run.py")
        yield {name: sys.modules[name] for name in names} | {"main": main}
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)


def test_cells_are_done_once_and_go_into_table_and_figure(
    peers: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ["vwta_continuous", "deep_ensembles", "ngboost", "zuko_gmm", "quantile_boosting"]
    options = ["--output", str(tmp_path), "--steps", "4", "--rows", "60", "--splits", "1"]
    options += ["--datasets", "toy_line", "toy_plane", "--methods"]
    peers["main"].main([*options, *methods[:2]])
    first = sorted(tmp_path.glob("*.json"))
    times = [path.stat().st_mtime_ns for path in first]
    peers["main"].main([*options, *methods])
    assert [path.stat().st_mtime_ns for path in first] == times
    table = pd.read_csv(tmp_path / "peers.csv")
    expected = {("toy_line", method) for method in methods}
    expected |= {("toy_plane", method) for method in ("deep_ensembles", "zuko_gmm")}
    assert set(zip(table["dataset"], table["method"], strict=True)) == expected
    columns = ["nll", "crps", "coverage90", "odds_error", "fit_seconds", "predict_seconds"]
    assert np.isfinite(table[columns].to_numpy()).all()
    assert (tmp_path / "peers.png").stat().st_size > 10_000
    assert "**Error of scenario odds**" in (tmp_path / "peers.md").read_text()
    with pytest.raises(SystemExit, match="other steps or rows"):
        peers["main"].main([*options, "ngboost", "--steps", "5"])
    assert "toy_line-0-zuko_gmm: NLL" in capsys.readouterr().out


def test_splits_that_a_method_lacks_are_left_out_and_the_best_is_bold(
    peers: dict[str, ModuleType], tmp_path: Path
) -> None:
    cells = [("a", 0, "vwta", 1.0), ("a", 1, "vwta", 3.0), ("a", 2, "vwta", -9.0)]
    cells += [("a", 0, "ngboost", 1.5), ("a", 1, "ngboost", 1.5), ("b", 0, "vwta", 0.5)]
    frame = pd.DataFrame(cells, columns=["dataset", "split", "method", "nll"])
    frame["coverage90"] = [0.8, 0.8, 0.8, 0.97, 0.97, 0.7]
    picture = peers["picture"]
    table = picture.write_table(picture.complete(frame), tmp_path / "peers.csv")
    assert table.loc[("a", "vwta"), "nll"] == 2.0
    assert table.loc[("a", "vwta"), "nll_error"] == 1.0
    picture.write_markdown(table, tmp_path / "peers.md")
    lines = (tmp_path / "peers.md").read_text().splitlines()
    assert "| splits | 2 | 1 |" in lines
    assert "| vwta, head auto | 2.000 ± 1 | **0.500** |" in lines
    assert "| NGBoost | **1.500 ± 0** |  |" in lines
    assert "| NGBoost | **0.970 ± 0** |  |" in lines


def test_published_tables_are_those_of_the_published_numbers(
    peers: dict[str, ModuleType], tmp_path: Path
) -> None:
    folder = ROOT / "docs/peers"
    table = pd.read_csv(folder / "peers.csv").set_index(["dataset", "method"])
    peers["picture"].write_markdown(table, tmp_path / "peers.md")
    assert (tmp_path / "peers.md").read_text() == (folder / "peers.md").read_text()
    assert set(table.index.unique("method")) == set(peers["models"].METHODS)


class Truth:
    """The true law of a toy problem."""

    def __init__(self, problem: object) -> None:
        self.problem = problem

    def log_prob(self, y: np.ndarray) -> np.ndarray:
        noise = 0.1 * np.exp(self.problem.x_test[:, 2])
        apart = ((y[..., None, :] - self.problem.modes) ** 2).sum(-1) / 2 / noise[:, None] ** 2
        log_odds = np.log(np.stack([self.problem.odds, 1 - self.problem.odds], -1))
        volume = y.shape[-1] * np.log(noise * np.sqrt(2 * np.pi))
        return np.logaddexp.reduce(log_odds - apart, -1) - volume

    def sample(self, count: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        m, _, d = self.problem.modes.shape
        first = rng.random((count, m, 1)) < self.problem.odds[:, None]
        centre = np.where(first, self.problem.modes[:, 0], self.problem.modes[:, 1])
        noise = 0.1 * np.exp(self.problem.x_test[:, 2])[:, None]
        return centre + noise * rng.normal(size=(count, m, d))


@pytest.mark.parametrize("name", ["toy_line", "toy_plane"])
def test_truth_has_the_scores_of_the_truth(peers: dict[str, ModuleType], name: str) -> None:
    problem = peers["problems"].load(name, 0, ROOT)
    truth = Truth(problem)
    found = peers["scores"].scores(truth, problem)
    assert found["coverage90"] == pytest.approx(0.9, abs=0.03)
    assert found["odds_error"] == pytest.approx(np.sqrt(0.25 / 256), rel=0.3)
    entropy = -truth.log_prob(truth.sample(64, 5)).mean()
    assert found["nll"] == pytest.approx(entropy, abs=0.1)


def test_score_is_the_crps(peers: dict[str, ModuleType]) -> None:
    samples = np.random.default_rng(0).normal(size=(7, 3, 1))
    y = np.array([[-1.0], [0.2], [3.0]])
    pairs = np.abs(samples[:, None] - samples[None]).sum((0, 1))[:, 0] / (7 * 6)
    expected = np.abs(samples - y).mean(0)[:, 0] - pairs / 2
    np.testing.assert_allclose(peers["scores"]._energy(samples, y, np.ones(1)), expected)
    even = np.concatenate([samples, samples[:1] + 1])
    pairs = np.abs(even[:, None] - even[None]).sum((0, 1))[:, 0] / (8 * 7)
    expected = np.abs(even - y).mean(0)[:, 0] - pairs / 2
    np.testing.assert_allclose(peers["scores"]._energy(even, y, np.ones(1)), expected)


def test_law_of_quantiles(peers: dict[str, ModuleType]) -> None:
    rng = np.random.default_rng(1)
    law = peers["models"].Steps(np.concatenate([rng.normal(size=(2, 20)), np.zeros((1, 20))]))
    tails = np.concatenate([sign * np.geomspace(1e-6, 40, 2000) for sign in (-1, 1)])
    outer = (law.ends[:, [0, -1], None] + tails).ravel()
    edges = np.unique(np.concatenate([outer, law.ends.ravel()]))
    middle = (edges[1:] + edges[:-1]) / 2
    p = np.exp(law.log_prob(np.broadcast_to(middle[:, None, None], (len(middle), 3, 1))))
    below = (p * np.diff(edges)[:, None]).cumsum(0)
    np.testing.assert_allclose(below[-1], 1, atol=1e-3)
    samples = law.sample(4000, seed=0)[..., 0]
    for row in range(3):
        ranks = np.sort(np.interp(samples[:, row], edges[1:], below[:, row]))
        assert np.abs(ranks - (np.arange(4000) + 0.5) / 4000).max() < 0.03
