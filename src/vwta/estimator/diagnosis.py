r"""How good a model is on rows that it has not seen: likelihood, scores and calibration.

Log-likelihoods stand beside those of laws that know no inputs: a Gaussian with the mean and the
standard deviation of the training targets on each axis (on the sphere the uniform law), and a
kernel density of the targets given, each of which is left out in turn,

.. math:: \hat p_i = \frac{1}{n - 1} \sum_{j \neq i} \kappa_h(y_i - y_j)

with the h that makes their likelihood highest. A model that does not beat both has learned nothing
from its inputs.

The masses of cells and of scenarios are odds: among pairs of a row and a cell to which about .3 was
given, the target should lie in the cell in about 30 %: see :mod:`vwta.distributions.odds`.
"""

from __future__ import annotations

__all__ = ["Diagnosis", "diagnose"]

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vwta.distributions.bandwidth import golden_section
from vwta.distributions.calibration import coverage, crps, pit_deviation
from vwta.distributions.mixtures import KernelMixture
from vwta.distributions.odds import Odds, odds_of
from vwta.distributions.scenarios import scenarios
from vwta.estimator.predicted import PredictedLaw, masses_of
from vwta.geometry.kernels import Gaussian, VonMisesFisher
from vwta.geometry.spaces import Sphere

CHUNK = 1024  # rows whose scenarios are sought at once
MOST = 2000  # targets of the kernel density
SAMPLES = 64  # of a row, for the energy score
LEVELS = (0.5, 0.9)
CRITICAL = 1.36  # Kolmogorov distance times the root of n that is exceeded with probability .05
Array = NDArray[np.float64]


class Score(NamedTuple):
    """A mean over rows, and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        """Both with as many decimals as give the error two digits.

        Example:
            >>> str(Score(52673.4, 4012.3)), str(Score(0.53219, 0.0213))
            ('52673 ± 4012', '0.532 ± 0.021')
        """
        if not (math.isfinite(self.error) and self.error > 0):
            return f"{self.mean:.4g}"
        decimals = max(0, 1 - math.floor(math.log10(self.error)))
        return f"{self.mean:.{decimals}f} ± {self.error:.{decimals}f}"


@dataclass(frozen=True)
class Diagnosis:
    """What is known of a model on some rows; `print` shows it as a table.

    Attributes:
        rows: number of rows.
        names: names of the target's columns.
        head: the model's head.
        log_likelihood: of the model, of laws that know no inputs, and of other models, by name.
        held_out: of all heads that were fitted, on rows that were held out while fitting.
        score: CRPS in the unit of the target; for several columns the energy score of scaled ones.
        score_name: which of them it is.
        pit: for one column the Kolmogorov distance of F(y) from uniform; None otherwise.
        covered: share of targets in regions, by their name.
        cells: calibration of the masses of cells; None without cells.
        scenarios: calibration of the probabilities of scenarios.
        hypotheses: number of hypotheses.
        unused: how many of them win no row; None without cells.
        law: the predicted laws.
        y: the targets.
    """

    rows: int
    names: list[str]
    head: str
    log_likelihood: dict[str, Score]
    held_out: dict[str, float]
    score: dict[str, Score]
    score_name: str
    pit: float | None
    covered: dict[str, float]
    cells: Odds | None
    scenarios: Odds
    hypotheses: int
    unused: int | None
    law: PredictedLaw = field(repr=False)
    y: Array = field(repr=False)

    def lines(self) -> list[tuple[str, str]]:
        """The table: what was measured, and the number as text."""
        found = [("rows", f"{self.rows}"), ("head", self.head)]
        for name, one in self.log_likelihood.items():
            found.append((f"log-likelihood, {name}", f"{one.mean:.4f} ± {one.error:.4f}"))
        for name, value in self.held_out.items():
            found.append((f"log-likelihood of rows held out by fit, head {name}", f"{value:.4f}"))
        for name, one in self.score.items():
            found.append((f"{self.score_name}, {name}", str(one)))
        if self.pit is not None:
            limit = CRITICAL / math.sqrt(self.rows)
            text = f"{self.pit:.3f} (a right model: below {limit:.3f} in 95 %)"
            found.append(("distance of F(y) from uniform", text))
        for name, share in self.covered.items():
            found.append((f"coverage, {name}", f"{100 * share:.1f} %"))
        if self.cells is not None:
            found.append(("error of the odds of cells", f"{self.cells.error:.3f}"))
        found.append(("error of the odds of scenarios", f"{self.scenarios.error:.3f}"))
        if self.unused is not None:
            found.append(("hypotheses that win no row", f"{self.unused} of {self.hypotheses}"))
        return found

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)

    __repr__ = __str__

    def to_html(self, path: str | Path | None = None) -> str:
        """One page with the table and pictures, which loads nothing; it needs the extra `plot`.

        Arguments:
            path: file to write it to, if any.
        """
        from vwta.estimator.report import report
        from vwta.io.storage import atomic

        shaped = self.y[:, 0] if self.law.targets.flat else self.y
        odds = {"scenario": self.scenarios} | ({} if self.cells is None else {"cell": self.cells})
        title = f"Predictions of {', '.join(self.names)}"
        text = report(title, self.lines(), self.law, shaped, odds)
        if path is not None:
            with atomic(Path(path)) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return text


def diagnose(
    law: PredictedLaw,
    y: Array,
    log_likelihood: Array,
    held_out: dict[str, float],
    beside: Mapping[str, Array] | None = None,
) -> Diagnosis:
    """Measures laws of rows at their targets.

    Arguments:
        law: the laws.
        y: targets, `(n, d)`.
        log_likelihood: log-densities there, `(n,)`.
        held_out: log-likelihoods of all heads while fitting.
        beside: log-densities under laws of other models, by their names, `(n,)` each.
    """
    targets = law.targets
    u = torch.as_tensor(targets.scaled(y))
    shaped = y[:, 0] if targets.flat else y
    unit = float(np.log(law.scale).sum())
    marginal, smooth = _marginal(u, targets.space == "sphere") - unit, _smooth(law, u) - unit
    name = "uniform" if targets.space == "sphere" else "Gaussian without inputs"
    likelihood = {
        "model": _mean(log_likelihood),
        name: _mean(marginal.numpy()),
        "kernel density without inputs": _mean(smooth.numpy()),
        **{name: _mean(values) for name, values in (beside or {}).items()},
    }
    score_name, score = _scores(law, u)
    cells, unused = _cells(law, u)
    values = torch.as_tensor(law.cdf(shaped)) if targets.dimension == 1 else None
    covered = {}
    for level in LEVELS:
        if values is not None:
            covered[f"central intervals of {100 * level:g} %"] = coverage(values, level)
        bare = law.density_rank(shaped) <= level
        covered[f"regions of {100 * level:g} %"] = float(bare.mean())
        if law.calibration is not None:
            kept = float(law.covers(shaped, level).mean())
            covered[f"calibrated regions of {100 * level:g} %"] = kept
    return Diagnosis(
        rows=len(y),
        names=targets.names or [f"y[{j}]" for j in range(targets.dimension)],
        head=law.head,
        log_likelihood=likelihood,
        held_out=held_out,
        score=score,
        score_name=score_name,
        pit=None if values is None else pit_deviation(values),
        covered=covered,
        cells=cells,
        scenarios=_scenarios(law, u),
        hypotheses=law.atoms[0].points.shape[-2],
        unused=unused,
        law=law,
        y=y,
    )


def _mean(values: Array) -> Score:
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return Score(float(values.mean()), error)


def _marginal(u: Tensor, sphere: bool) -> Tensor:
    """Log-densities `(n,)` of scaled targets `(n, d)` under the law of training targets."""
    if sphere:
        return torch.full_like(u[:, 0], -math.log(4 * math.pi))
    return -(u**2 / 2 + math.log(2 * math.pi) / 2).sum(-1)


@torch.no_grad()
def _smooth(law: PredictedLaw, u: Tensor) -> Tensor:
    """Log-densities of the first 2,000 scaled targets, each under a kernel density of the others.

    Copies of a target are left out, as they would make the density infinite.
    """
    some = torch.unique(u[:MOST], dim=0)
    spread = torch.cdist(some, some).square() / 2
    spread.fill_diagonal_(math.inf)
    kind = VonMisesFisher if isinstance(law.targets.domain(), Sphere) else Gaussian

    def log_density(log_h: float) -> Tensor:
        each = kind(math.exp(log_h)).log_density(spread.clamp_max(1e300), u.shape[1])
        each.fill_diagonal_(-math.inf)
        return torch.logsumexp(each, -1) - math.log(len(some) - 1)

    if len(some) < 3:
        return torch.full_like(some[:, 0], -math.inf)
    best = golden_section(
        lambda s: -log_density(s).mean().item(), math.log(1e-3), math.log(3), 0.02
    )
    return log_density(best.at)


@torch.no_grad()
def _scores(law: PredictedLaw, u: Tensor) -> tuple[str, dict[str, Score]]:
    """CRPS of the model and of a Gaussian without inputs; for several columns the energy score."""
    if u.shape[1] == 1:
        parts, start = [], 0
        for part in law.laws():
            end = start + part.batch_shape[0]
            parts.append(crps(part, u[start:end]))
            start = end
        alone = KernelMixture(torch.zeros(len(u), 1, 1).double(), torch.ones(len(u), 1).double(),
                              Gaussian(1.0))  # fmt: skip
        found = {"model": torch.cat(parts), "Gaussian without inputs": crps(alone, u)}
        return "CRPS", {key: _mean(each.numpy() * law.scale[0]) for key, each in found.items()}
    samples = law.sample(SAMPLES, random_state=0)
    y = torch.as_tensor((samples - law.location) / law.scale)
    near = torch.linalg.vector_norm(y - u, dim=-1).mean(0)
    apart = torch.linalg.vector_norm(y - y.roll(1, 0), dim=-1).mean(0)
    return "energy score", {"model": _mean((near - apart / 2).numpy())}


@torch.no_grad()
def _cells(law: PredictedLaw, u: Tensor) -> tuple[Odds | None, int | None]:
    """Calibration of the masses of the first member's cells, and how many of them win no row."""
    if law.head == "mdn":
        return None, None
    points, masses = law.atoms[0].points, masses_of(law)
    winner = torch.linalg.vector_norm(points - u[:, None], dim=-1).argmin(-1)
    hit = winner[:, None] == torch.arange(points.shape[-2])
    unused = points.shape[-2] - len(winner.unique())
    return odds_of(masses.flatten().double().numpy(), hit.flatten().numpy()), unused


def _scenarios(law: PredictedLaw, u: Tensor) -> Odds:
    """Calibration of the probabilities of scenarios."""
    predicted, hit = [], []
    for start in range(0, len(law), CHUNK):
        part = law[start : start + CHUNK].law
        found = scenarios(part)
        rank = found.assign(part, u[start : start + CHUNK])
        predicted.append(found.probability.numpy())
        hit.append((rank[found.row] == found.rank).numpy())
    return odds_of(np.concatenate(predicted), np.concatenate(hit))
