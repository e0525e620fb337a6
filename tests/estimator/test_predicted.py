"""Predicted laws in the unit of the targets, against brute force."""

import numpy as np
import pytest
import torch
from bimodal import log_density, two_modes

from vwta import VoronoiRegressor
from vwta.distributions.line import truncated_kernels
from vwta.estimator.predicted import PredictedLaw

X, Y = two_modes(40, seed=7)
GRID = np.arange(20.0, 180.0, 0.02)
HEADS = ["voronoi", "kernel", "mdn", "local", "continuous"]
Models = dict[str, VoronoiRegressor]


def on_grid(law: PredictedLaw) -> np.ndarray:
    """Densities `(points, n)` on a grid of targets."""
    return np.exp(law.log_prob(np.repeat(GRID[:, None], len(law), 1)))


@pytest.mark.parametrize("head", HEADS)
def test_density_is_one_in_all_and_has_the_moments(models: Models, head: str) -> None:
    law = models[head].predict_dist(X[:3])
    p, step = on_grid(law), GRID[1] - GRID[0]
    np.testing.assert_allclose(p.sum(0) * step, 1, atol=1e-3)
    mean = (p * GRID[:, None]).sum(0) * step
    np.testing.assert_allclose(law.mean, mean, rtol=2e-3)
    variance = (p * (GRID[:, None] - mean) ** 2).sum(0) * step
    np.testing.assert_allclose(law.variance, variance, rtol=2e-2)
    np.testing.assert_allclose(law.std**2, law.variance)
    entropy = -(p * np.log(p, where=p > 0, out=np.zeros_like(p))).sum(0) * step
    np.testing.assert_allclose(law.entropy(), entropy, atol=1e-2)
    np.testing.assert_allclose(law.cdf(110.0), p[GRID < 110].sum(0) * step, atol=1e-2)
    highest = law.log_prob(law.mode)
    assert (np.exp(highest) >= p.max(0) * (1 - 1e-6)).all()


@pytest.mark.parametrize("head", HEADS)
def test_density_is_the_slope_of_the_distribution_function(models: Models, head: str) -> None:
    """Between borders of cells, by Gauss quadrature: a plain grid would miss jumps there."""
    law = models[head].predict_dist(X[:1])
    kernels = truncated_kernels(law.law)
    ends = torch.cat([kernels.points - kernels.left, kernels.points + kernels.right], -1)[0].numpy()
    borders = law.location + law.scale * ends[np.isfinite(ends)]
    nodes = np.unique(np.concatenate([np.arange(-200.0, 400.0, 0.5), borders]))
    place, weight = np.polynomial.legendre.leggauss(10)
    width = np.diff(nodes)
    y = nodes[:-1, None] + width[:, None] * (place + 1) / 2
    found = (np.exp(law.log_prob(y[..., None])[..., 0]) * weight / 2).sum(1) * width
    np.testing.assert_allclose(found, np.diff(law.cdf(nodes[:, None])[:, 0]), atol=1e-9)
    np.testing.assert_allclose(found.sum(), 1, atol=1e-9)


@pytest.mark.parametrize("head", HEADS)
def test_log_prob_is_near_the_truth(models: Models, head: str) -> None:
    new, targets = two_modes(2000, seed=8)
    lost = log_density(new, targets).mean() - models[head].score(new, targets)
    assert 0 < lost < 0.35


@pytest.mark.parametrize("head", HEADS)
def test_quantiles_and_intervals(models: Models, head: str) -> None:
    law = models[head].predict_dist(X)
    q = np.array([0.05, 0.5, 0.95])
    values = law.quantile(q)
    assert values.shape == (3, 40)
    np.testing.assert_allclose(law.cdf(values), np.repeat(q[:, None], 40, 1), atol=1e-8)
    low, high = law.interval(0.9)
    np.testing.assert_allclose([low, high], values[[0, 2]], rtol=1e-12)
    assert law.quantile(0.5).shape == (40,)


@pytest.mark.parametrize("head", HEADS)
def test_samples_follow_the_law(models: Models, head: str) -> None:
    law = models[head].predict_dist(X[:5])
    samples = law.sample(4000, random_state=0)
    assert samples.shape == (4000, 5)
    np.testing.assert_array_equal(samples, law.sample(4000, random_state=0))
    error = law.std / np.sqrt(4000)
    assert (np.abs(samples.mean(0) - law.mean) < 5 * error).all()
    ranks = law.cdf(samples)
    assert np.abs(np.sort(ranks, 0) - (np.arange(4000)[:, None] + 0.5) / 4000).max() < 0.035
    assert law.sample().shape == (5,)


def test_seeds_and_numbers_of_samples(models: Models) -> None:
    law = models["mdn"].predict_dist(X[:2])
    first, second = (law.sample(5, np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert law.sample(0).shape == (0, 2)
    with pytest.raises(ValueError, match=r"n is -1\. Remedy: give a number of samples from 0 on"):
        law.sample(-1)
    with pytest.raises(ValueError, match=r"random_state is 'a'\. Remedy: give a whole number from"):
        law.sample(2, "a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"q is 2\. Remedy: give probabilities from 0 to 1"):
        law.quantile(2)
    with pytest.raises(ValueError, match=r"column 3\. Remedy: choose 0$"):
        law.marginal(3)


def test_rows_can_be_taken(models: Models) -> None:
    law = models["voronoi"].predict_dist(X)
    assert len(law) == 40
    np.testing.assert_allclose(law[5:9].log_prob(Y[5:9]), law.log_prob(Y)[5:9])
    np.testing.assert_allclose(law[3].mean, law.mean[[3]])


def test_many_rows_are_done_in_parts(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    law = models["voronoi"].predict_dist(X)
    expected = law.log_prob(Y), law.quantile([0.2, 0.7]), law.mean, law.log_prob(100.0)
    monkeypatch.setattr("vwta.estimator.predicted.CHUNK", 7)
    found = law.log_prob(Y), law.quantile([0.2, 0.7]), law.mean, law.log_prob(100.0)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b)
    assert law.sample(3).shape == (3, 40)


def test_regions_of_many_rows_are_found_in_parts(
    models: Models, plane: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = models["voronoi"].predict_dist(X)
    expected = line.hdr(0.8)
    monkeypatch.setattr("vwta.estimator.predicted.CHUNK", 7)
    monkeypatch.setattr("vwta.estimator.predicted.CHUNK_REGIONS", 7)
    found = line.hdr(0.8)
    for name in ("log_threshold", "mass", "volume", "row", "intervals"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    law = plane["voronoi"].predict_dist(X)
    region = law.hdr(0.7)
    assert tuple(region.batch_shape) == region.volume.shape == (40,)
    assert region.intervals is None
    samples = law.sample(500, random_state=1)
    inside = law.log_prob(samples) >= region.log_threshold.numpy()
    np.testing.assert_allclose(inside.mean(), 0.7, atol=0.02)


def test_shapes_of_targets(models: Models) -> None:
    law = models["mdn"].predict_dist(X)
    np.testing.assert_array_equal(law.log_prob(Y), law.log_prob(Y[:, None]))
    assert law.log_prob(np.stack([Y, Y])).shape == (2, 40)
    assert law.log_prob(99.0).shape == (40,)
    with pytest.raises(ValueError, match=r"y has shape \(39,\), but there are 40 laws .* Remedy"):
        law.log_prob(Y[1:])
    with pytest.raises(ValueError, match="NaN or inf"):
        law.log_prob(np.full(40, np.nan))
    with pytest.raises(ValueError, match=r"level 90\. Remedy: give a number between 0 and 1"):
        law.interval(90)


def test_unit_of_the_target_enters_the_density(models: Models) -> None:
    """A thousandth of the unit, fitted anew: densities are 1,000 times as high."""
    rows, targets = two_modes(800, seed=0)
    params = models["kernel"].get_params()
    small = VoronoiRegressor(**params).fit(rows, targets / 1000)
    log_p = models["kernel"].predict_dist(X).log_prob(Y)
    np.testing.assert_allclose(
        small.predict_dist(X).log_prob(Y / 1000), log_p + np.log(1000), atol=0.02
    )


@pytest.mark.parametrize("head", ["voronoi", "kernel", "mdn", "local"])
def test_targets_in_the_plane(plane: Models, head: str) -> None:
    law = plane[head].predict_dist(X[:4])
    assert law.mean.shape == law.variance.shape == law.mode.shape == (4, 2)
    samples = law.sample(1000, random_state=1)
    assert samples.shape == (1000, 4, 2)
    error = law.std / np.sqrt(1000)
    assert (np.abs(samples.mean(0) - law.mean) < 5 * error).all()
    inverse = np.exp(-law.log_prob(samples))  # their mean is the area of the support
    inside = (np.abs(samples - law.mean) < 6 * law.std).all(-1)
    assert np.isfinite(inverse[inside]).all()
    with pytest.raises(ValueError, match=r"quantile is for targets of one column.*marginal\(j\)"):
        law.quantile(0.5)


@pytest.mark.parametrize("head", ["voronoi", "mdn", "local"])
def test_density_in_the_plane_is_one_in_all(plane: Models, head: str) -> None:
    law = plane[head].predict_dist(X[:1])
    a, b = np.linspace(20, 180, 300), np.linspace(-4e-3, 4e-3, 100)
    points = np.stack(np.meshgrid(a, b, indexing="ij"), -1).reshape(-1, 1, 2)
    total = np.exp(law.log_prob(points)).sum() * (a[1] - a[0]) * (b[1] - b[0])
    assert total == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("head", ["voronoi", "kernel", "mdn", "local"])
def test_marginals(plane: Models, head: str) -> None:
    law = plane[head].predict_dist(X[:4])
    samples = law.sample(1500, random_state=1)
    for column in (0, 1):
        marginal = law.marginal(column)
        assert marginal.mean.shape == (4,)
        tolerance = {"kernel": 1e-9, "mdn": 1e-9}.get(head, 0.15) * law.std[:, column].max()
        np.testing.assert_allclose(marginal.mean, law.mean[:, column], atol=tolerance, rtol=1e-9)
        ranks = marginal.cdf(samples[..., column])
        assert np.abs(np.sort(ranks, 0) - (np.arange(1500)[:, None] + 0.5) / 1500).max() < 0.07
    with pytest.raises(ValueError, match=r"column 'price'\. Remedy: choose 0 to 1"):
        law.marginal("price")


@pytest.mark.parametrize("head", HEADS[:3])
def test_directions(sphere: Models, head: str) -> None:
    model = sphere[head]
    assert model.targets_.space == "sphere"
    law = model.predict_dist([[-0.5], [0.5]])
    samples = law.sample(100, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(samples, axis=-1), 1, atol=1e-6)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(8000, 1, 3))
    points /= np.linalg.norm(points, axis=-1, keepdims=True)
    total = 4 * np.pi * np.exp(law.log_prob(points)).mean(0)
    np.testing.assert_allclose(total, 1, atol=0.2)
    np.testing.assert_allclose(np.linalg.norm(model.predict([[0.3]]), axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(law.mode, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("head", HEADS)
def test_scenarios_are_the_two_modes_with_their_odds(models: Models, head: str) -> None:
    rows, _ = two_modes(200, seed=11)
    law = models[head].predict_dist(rows)
    table = law.scenarios(min_mass=0.1)
    assert set(table["row"]) == set(range(200))
    assert table["probability"].between(0.1, 1 + 1e-9).all()
    above = table[table["mean"] > 100].groupby("row")["probability"].sum()
    assert above.mean() == pytest.approx(0.7, abs=0.1)
    low, high = (
        law.cdf(table.set_index("row")[end].groupby("row").first()) for end in ("lower", "upper")
    )
    first = table.groupby("row")["probability"].first()
    np.testing.assert_allclose(high - low, 0.9 * first, atol=1e-3)
    assert (table["low"] <= table["peak"]).all()
    assert (table["peak"] <= table["high"]).all()


@pytest.mark.parametrize("head", HEADS)
def test_highest_density_regions_have_their_mass(models: Models, head: str) -> None:
    law = models[head].predict_dist(X[:6])
    region = law.hdr(0.8)
    assert region.intervals is not None
    ends = region.intervals.numpy()
    mass = np.zeros(6)
    for row, (low, high) in zip(region.row, ends, strict=True):
        mass[row] += (law.cdf(high) - law.cdf(low))[row]
    np.testing.assert_allclose(mass, 0.8, atol=1e-6)
    middle = ends.mean(1)
    inside = [law[int(row)].log_prob(y).item() for row, y in zip(region.row, middle, strict=True)]
    assert (inside >= region.log_threshold[region.row].numpy() - 1e-9).all()


@pytest.mark.parametrize("head", ["voronoi", "mdn", "local"])
def test_scenarios_and_regions_in_the_plane(plane: Models, head: str) -> None:
    law = plane[head].predict_dist(X[:4])
    table = law.scenarios()
    assert {"mean_0", "mean_1", "peak_0", "probability"} <= set(table)
    assert (np.abs(table["mean_1"]) < 0.01).all()
    for j in (0, 1):
        assert (table[f"lower_{j}"] < table[f"mean_{j}"]).all()
        assert (table[f"mean_{j}"] < table[f"upper_{j}"]).all()
    one = law.scenarios(valley=1e-9)  # all is one scenario, whose ends are quantiles of the law
    np.testing.assert_allclose(law.marginal(0).cdf(one["lower_0"].to_numpy()), 0.05, atol=0.04)
    samples = law.sample(400, random_state=0)
    inside = np.exp(law.log_prob(samples)) >= np.exp(law.hdr(0.7).log_threshold.numpy())
    np.testing.assert_allclose(inside.mean(0), 0.7, atol=0.12)
