r"""Split-conformal calibration of highest-density regions.

The score of a target is the mass of the region whose border runs through it,

.. math:: s(x, y) = P(p(Y | x) > p(y | x)), \qquad Y \sim p(\cdot | x)

so that the highest-density region of mass m is the set of y with s(x, y) <= m. If a model is right,
scores are uniform. Whether it is or not, the :math:`\lceil (n + 1) l \rceil`-th smallest of the
scores of n rows that the model has not seen is a mass whose regions cover a new target with a
probability of at least l, and of at most :math:`l + 1 / (n + 1)` if no two scores are equal.

On the line masses are exact, elsewhere shares of samples. Beyond all samples of a row a score is 1
plus how much the log-density falls below their lowest one, so that regions of a model that is far
too sure still have an end.

References:
    | Distribution-free Conditional Predictive Bands using Density Estimators (Izbicki et al., 2020)
"""

from __future__ import annotations

__all__ = ["Calibration", "hdr_scores", "sampled_densities"]

import math
import warnings
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.regions import density_rank
from vwta.estimator.columns import DataWarning

SAMPLES = 256  # of a row, by which scores are estimated
SLACK = 1e-9  # rounding of ranks


class Calibration:
    """Scores of held-out rows, by which highest-density regions keep their promise.

    Arguments:
        scores: outcomes of :func:`hdr_scores`, `(n,)`.
    """

    def __init__(self, scores: Tensor) -> None:
        self.scores = scores.double().sort().values

    def mass(self, level: float) -> float:
        """Mass of the highest-density regions that cover targets with a probability `level`.

        It is infinite, for regions without an end, if there are too few scores for the level.

        Arguments:
            level: between 0 and 1.
        """
        count = len(self.scores)
        rank = math.ceil((count + 1) * level - SLACK)
        if rank > count:
            warnings.warn(
                f"calibrated with {count} rows, regions of level {level:g} are unbounded. Remedy: "
                f"calibrate with at least {math.ceil(level / (1 - level) - SLACK)} rows",
                DataWarning,
                stacklevel=3,
            )
            return math.inf
        return self.scores[rank - 1].item()


@torch.no_grad()
def hdr_scores(laws: Iterable[Distribution], u: Tensor, seed: int = 0) -> Tensor:
    """Scores `(n,)` of scaled targets `(n, d)`: masses of all points with a higher density.

    Samples of a row do not depend on its target, so that scores of rows are as exchangeable as the
    rows are, and coverage holds whatever the number of samples.

    Arguments:
        laws: laws of the rows, some rows at a time.
        u: scaled targets, one for each row.
        seed: of the samples, elsewhere than on the line.
    """
    source, found, start = torch.Generator().manual_seed(seed), [], 0
    for law in laws:
        here = u[start : start + law.batch_shape[0]]
        start += law.batch_shape[0]
        if tuple(law.event_shape) == (1,):
            found.append(density_rank(law, here))
            continue
        log_p, at = sampled_densities(law, source), law.log_prob(here)
        beyond = (log_p.amin(0) - at).clamp_min(0)
        found.append((log_p > at).double().mean(0) + beyond)
    return torch.cat(found)


def sampled_densities(law: Distribution, source: torch.Generator) -> Tensor:
    """Log-densities `(samples, n)` of a law at samples of its own."""
    return law.log_prob(law.sample((SAMPLES,), source))  # type: ignore[call-arg]
