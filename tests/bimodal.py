"""A bimodal target whose law is known, for tests of the estimator."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def two_modes(n: int, seed: int) -> tuple[Array, Array]:
    """Targets near 100 + 10 (2 + x) or 100 - 10 (2 + x), with odds of 7 to 3, sigma 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    side = np.where(rng.random(n) < 0.7, 1.0, -1.0)
    return X, 100 + 10 * side * (2 + X[:, 0]) + 2 * rng.normal(size=n)


def log_density(X: Array, y: Array) -> Array:
    """The true log-density of :func:`two_modes`."""
    centre = 10 * (2 + X[:, 0])
    terms = [
        np.log(odds) - ((y - 100 - side * centre) / 2) ** 2 / 2
        for odds, side in ((0.7, 1), (0.3, -1))
    ]
    return np.logaddexp(*terms) - np.log(2 * np.sqrt(2 * np.pi))
