"""Scores of predicted laws, the same for all methods: by log-densities and samples alone."""

from __future__ import annotations

__all__ = ["Law", "scores"]

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from problems import Problem

Array = NDArray[np.float64]
SAMPLES = 256
LEVEL = 0.9


class Law(Protocol):
    """Laws of the targets of m rows, in their own unit."""

    def log_prob(self, y: Array) -> Array:
        """Log-densities `(s, m)` at targets `(s, m, d)`."""

    def sample(self, count: int, seed: int) -> Array:
        """Samples `(count, m, d)`."""


def scores(law: Law, problem: Problem) -> dict[str, float]:
    """Scores on the rows to test on.

    `nll` is the mean negative log-likelihood. `crps` is the CRPS from samples, without bias; for
    several columns the energy score of targets by their standard deviations. `coverage90` is the
    share of targets in highest-density regions of .9: those at which fewer than 90 % of the samples
    have a higher density. `odds_error` is the root mean square error of the probability that the
    target is nearer to the first mode than to the second, where it is known.
    """
    y = problem.y_test
    log_p = law.log_prob(y[None])[0]
    samples = law.sample(SAMPLES, seed=0)
    higher = (law.log_prob(samples) > log_p).mean(0)
    found = {
        "nll": float(-log_p.mean()),
        "crps": float(_energy(samples, y, problem.y.std(0)).mean()),
        "coverage90": float((higher < LEVEL).mean()),
    }
    if problem.modes is not None and problem.odds is not None:
        apart = ((samples[:, :, None] - problem.modes) ** 2).sum(-1)
        share = (apart[..., 0] < apart[..., 1]).mean(0)
        found["odds_error"] = float(np.sqrt(np.mean((share - problem.odds) ** 2)))
    return found


def _energy(samples: Array, y: Array, scale: Array) -> Array:
    r"""Energy scores `(m,)`, :math:`E|Y - y| - E|Y - Y'| / 2`; on the line CRPS, in its unit."""
    unit = scale if y.shape[1] > 1 else 1.0
    samples, y = samples / unit, y / unit
    near = np.linalg.norm(samples - y, axis=-1).mean(0)
    count = len(samples)
    total = np.zeros(len(y))
    for shift in range(1, count // 2 + 1):  # each pair once; at the last shift twice, if it is even
        weight = 0.5 if 2 * shift == count else 1.0
        total += weight * np.linalg.norm(samples - np.roll(samples, shift, 0), axis=-1).sum(0)
    return near - total / (count * (count - 1))
