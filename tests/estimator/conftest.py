"""Models that several tests look at; each is fitted once."""

import numpy as np
import pytest
from bimodal import two_modes

from vwta import VoronoiRegressor

HEADS = ("voronoi", "kernel", "mdn", "local", "continuous")
QUICK = {"n_hypotheses": 6, "steps": 250, "hidden": (32,), "random_state": 0}


@pytest.fixture(scope="session")
def models() -> dict[str, VoronoiRegressor]:
    """A model of the bimodal target for each head."""
    X, y = two_modes(800, seed=0)
    return {head: VoronoiRegressor(head=head, **QUICK).fit(X, y) for head in HEADS}


@pytest.fixture(scope="session")
def plane() -> dict[str, VoronoiRegressor]:
    """Models with targets in the plane, whose columns have very different units."""
    X, y = two_modes(600, seed=1)
    rng = np.random.default_rng(2)
    Y = np.stack([y, 1e-3 * (X[:, 1] + 0.3 * rng.normal(size=len(y)))], 1)
    options = {**QUICK, "steps": 60}
    return {
        "voronoi": VoronoiRegressor(head="voronoi", **options).fit(X, Y),
        "kernel": VoronoiRegressor(head="kernel", members=2, **options).fit(X, Y),
        "local": VoronoiRegressor(head="local", **options).fit(X, Y),
        "mdn": VoronoiRegressor(head="mdn", members=2, **options).fit(X, Y),
    }


@pytest.fixture(scope="session")
def sphere() -> dict[str, VoronoiRegressor]:
    """Models of directions around (1, x, 0) or (0, x, 1)."""
    rng = np.random.default_rng(3)
    X, first = rng.uniform(-1, 1, (500, 1)), rng.random(500) < 0.5
    y = np.stack([first, X[:, 0], ~first], 1) + 0.1 * rng.normal(size=(500, 3))
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    options = {**QUICK, "steps": 60}
    return {
        head: VoronoiRegressor(head=head, **options).fit(X, y)
        for head in ("voronoi", "kernel", "mdn")
    }
