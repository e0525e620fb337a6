"""The estimator: a conditional density of targets given a table of inputs."""

from __future__ import annotations

__all__ = ["VoronoiRegressor"]

import logging
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from vwta.estimator.columns import Columns, DataWarning, others
from vwta.estimator.conformal import Calibration, hdr_scores
from vwta.estimator.diagnosis import Diagnosis, diagnose
from vwta.estimator.files import write_model
from vwta.estimator.fitting import Fitted, Recipe, Rows, fit_heads, law_of
from vwta.estimator.heads import HEADS, TOLERANCE, Sizes, heads_for
from vwta.estimator.parameters import check_parameters
from vwta.estimator.predicted import PredictedLaw
from vwta.estimator.targets import FEWEST, Targets, check_targets, place_of
from vwta.geometry.spaces import Box
from vwta.seeds import generator
from vwta.training.loop import pick_device

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"VoronoiRegressor needs the package {error.name}. Remedy: pip install 'vwta[sklearn]'"
    ) from error

logger = logging.getLogger(__name__)

CHUNK = 8192  # rows predicted at once
COUNTED = 4096  # training rows by which unused hypotheses are counted


class VoronoiRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts the whole law of a target: K hypotheses with odds, and a density around them.

    Inputs may be an array or a DataFrame. Columns of texts or categories become indicators, missing
    values (NaN, None) are filled in with medians and marked. Targets have one column or several, or
    are directions. Scaling happens inside; everything predicted is in the unit of the targets.

    A part of the rows is held out: it selects the best epoch, the bandwidth and the head. The
    chosen networks are then trained again on all rows.

    Arguments:
        n_hypotheses: number K of hypotheses of a network.
        head: `voronoi` cuts a kernel to the Voronoi cell of each hypothesis, `kernel` does not cut,
            `mdn` is a mixture density network, `local` has a kernel of its own for each cell, and
            so has `continuous`, whose density is. `auto` takes the one with the highest likelihood
            of held-out rows; it tries `local`, which is slow, for one column and up to 500 rows
            alone; `all` tries all that apply.
        space: where targets lie: `line` for all numbers, `box` for their range and a tenth of it on
            each side, a :class:`vwta.Box` in their unit, `sphere` for unit vectors of three
            columns. `auto` recognises unit vectors, and takes the line otherwise.
        members: networks whose densities are averaged.
        hidden: widths of the layers.
        steps: of the optimiser, at most.
        batch_size: rows of a step.
        learning_rate: the highest one.
        weight_decay: of AdamW.
        validation_fraction: part of the rows that is held out.
        refit: whether to train again on all rows.
        device: `cpu`, `cuda` or `auto`: where networks are trained.
        random_state: seed of everything random.
        progress: whether a bar is drawn; `auto` draws it on a terminal.
        checkpoint: folder in which an interrupted fit leaves its work, for the next call; without
            one, signals act as usual.

    Attributes:
        head_: name of the head.
        heads_: for each head that was tried the mean log-likelihood of held-out rows.
        number_: bandwidth of the head, or its factor on all widths, for scaled targets.
        n_hypotheses_: K, lower than `n_hypotheses` if there are fewer distinct targets.
        unused_hypotheses_: how many hypotheses of the first member win no training row.
        networks_: the members.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, (400, 1))
        >>> y = rng.choice([-1, 1], 400) * (2 + X[:, 0]) + 0.1 * rng.normal(size=400)
        >>> model = VoronoiRegressor(n_hypotheses=4, head="voronoi", steps=300, random_state=0)
        >>> law = model.fit(X, y).predict_dist([[0.0]])
        >>> bool(0.3 < law.cdf(0.0).item() < 0.7)
        True
    """

    columns_: Columns
    targets_: Targets
    sizes_: Sizes
    networks_: list[torch.nn.Module]
    calibration_: Calibration | None
    head_: str
    heads_: dict[str, float]
    number_: float

    def __init__(
        self,
        n_hypotheses: int = 16,
        *,
        head: str = "auto",
        space: str | Box = "auto",
        members: int = 1,
        hidden: tuple[int, ...] = (64, 64),
        steps: int = 4000,
        batch_size: int = 256,
        learning_rate: float = 0.005,
        weight_decay: float = 0.3,
        validation_fraction: float = 0.2,
        refit: bool = True,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        progress: bool | str = "auto",
        checkpoint: str | Path | None = None,
    ) -> None:
        self.n_hypotheses = n_hypotheses
        self.head = head
        self.space = space
        self.members = members
        self.hidden = hidden
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.device = device
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fits the model.

        Arguments:
            X: inputs, `(n, c)`.
            y: targets, `(n,)` or `(n, d)`.
        """
        check_parameters(self)
        X = self._inputs(X, y)
        names, flat = _names(y), np.asarray(y).ndim == 1
        targets = self._enough(check_targets(y, len(X)))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.targets_ = place_of(targets, self.space, flat, names)
        self.columns_ = Columns.learn(X)
        self.calibration_ = None
        keep = self._inside(targets)
        rows = Rows(
            torch.as_tensor(self.columns_.encode(X), dtype=torch.float32)[keep],
            torch.as_tensor(self.targets_.scaled(targets), dtype=torch.float32)[keep],
        )
        self.sizes_ = self._sizes(rows)
        self.n_hypotheses_ = self.sizes_.hypotheses
        domain = self.targets_.domain()
        best, found = fit_heads(
            heads_for(self.head, domain, rows.y.shape[1], len(rows.y)),
            rows,
            _held_out(len(rows.y), self.validation_fraction, seed),
            domain,
            self.sizes_,
            self._recipe(),
            seed,
            pick_device(self.device),
            None if self.checkpoint is None else Path(self.checkpoint),
            None if self.progress == "auto" else bool(self.progress),
        )
        self._take(best, found, rows)
        return self

    def predict_dist(self, X: Any) -> PredictedLaw:
        """The law of the target of each row of inputs `(n, c)`."""
        check_is_fitted(self)
        return self._law(self._inputs(X))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Means of the predicted laws, in the shape of the targets; on the sphere, of length 1."""
        check_is_fitted(self)
        X = self._inputs(X)
        parts = [X[start : start + CHUNK] for start in range(0, len(X), CHUNK)]
        means = np.concatenate([self._law(part).mean for part in parts])
        if self.targets_.space == "sphere":
            means = means / np.linalg.norm(means, axis=1, keepdims=True)
        return means

    def score(self, X: Any, y: ArrayLike) -> float:
        """Mean log-likelihood of targets, higher is better; -inf if one lies outside a box."""
        return float(self.log_likelihood(X, y).mean())

    def log_likelihood(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Log-density of each row's law at its target, `(n,)`."""
        law = self.predict_dist(X)
        targets = self._known(check_targets(y, len(law)))
        outside = int(self.targets_.outside(targets).sum())
        if outside:
            _warn(
                f"{outside} of {len(targets)} targets lie outside the box, where the density is 0. "
                "Remedy: fit with space='line', or with a wider Box"
            )
        return law.log_prob(targets[:, 0] if self.targets_.flat else targets)

    def calibrate(self, X: Any, y: ArrayLike) -> Self:
        """Calibrates highest-density regions with rows that the model was not fitted with.

        After that they cover the target of a new row with the probability asked for, or more,
        if it is drawn as these rows were; see :mod:`vwta.estimator.conformal`.

        Arguments:
            X: inputs, `(n, c)`; at least 9 rows for regions of level .9, better some hundred.
            y: their targets.
        """
        law = self.predict_dist(X)
        targets = self._known(check_targets(y, len(law)))
        scaled = torch.as_tensor(self.targets_.scaled(targets))
        self.calibration_ = Calibration(hdr_scores(law.laws(), scaled, seed=1))
        return self

    def diagnose(
        self, X: Any, y: ArrayLike, beside: Mapping[str, VoronoiRegressor] | None = None
    ) -> Diagnosis:
        """Likelihood, scores and calibration on rows that the model was not fitted with.

        Arguments:
            X: inputs, `(n, c)`.
            y: their targets; all must lie in the box, if there is one.
            beside: other fitted models by name, such as a mixture density network (`head="mdn"`),
                whose log-likelihoods of the same rows are shown too.
        """
        law = self.predict_dist(X)
        targets = self._known(check_targets(y, len(law)))
        outside = self.targets_.outside(targets)
        if outside.any():
            row = int(outside.argmax())
            raise ValueError(
                f"y, row {row}: {_listed(targets[row])} lies outside the box, where the density is "
                f"0{others(int(outside.sum()), 'such rows')}. Remedy: leave such rows out, or fit "
                "with space='line' or a wider Box"
            )
        values = law.log_prob(targets[:, 0] if self.targets_.flat else targets)
        more = {name: each.log_likelihood(X, y) for name, each in (beside or {}).items()}
        return diagnose(law, targets, values, dict(self.heads_), more)

    def save(self, path: str | Path) -> None:
        """Writes the model to one file, which :func:`vwta.load` reads anywhere; no pickle."""
        check_is_fitted(self)
        write_model(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # the score is a log-likelihood, which may be < 0.5
        return tags

    def _law(self, X: Any) -> PredictedLaw:
        x = torch.as_tensor(self.columns_.encode(X))
        with torch.no_grad():
            atoms = [network(x) for network in self.networks_]
        return PredictedLaw(atoms, self.head_, self.number_, self.targets_, self.calibration_)

    def _inputs(self, X: Any, y: Any = "no_validation") -> Any:
        """Checked inputs: a DataFrame as it is, anything else as an array."""
        training = not isinstance(y, str)
        try:
            X = self._validated(X, y, training)
        except ValueError as error:
            if training:
                raise
            raise ValueError(
                f"{error}\nRemedy: give the columns of the training table, in the same order"
            ) from error
        if not training:
            self.columns_.warn_of_far(X)
        return X

    def _validated(self, X: Any, y: Any, training: bool) -> Any:
        """Inputs as scikit-learn checks them."""
        if hasattr(X, "iloc") and hasattr(X, "columns"):
            validate_data(self, X, y, skip_check_array=True, reset=training)
            if not len(X) or not X.shape[1]:
                raise ValueError(
                    f"Found array with {len(X)} sample(s) and {X.shape[1]} feature(s) (shape="
                    f"{X.shape}) while a minimum of 1 is required."
                )
            return X
        if training and y is None:
            validate_data(self, X, None)
        return validate_data(self, X, dtype=None, ensure_all_finite=False, reset=training)

    def _enough(self, targets: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(targets) < FEWEST:
            raise ValueError(
                f"n_samples = {len(targets)}: too few rows to fit and to validate. Remedy: give at "
                f"least {FEWEST}, better some hundred"
            )
        return targets

    def _inside(self, targets: NDArray[np.float64]) -> torch.Tensor:
        """Rows whose targets lie in the box, bool `(n,)`; a warning tells of the others."""
        outside = self.targets_.outside(targets)
        if outside.any():
            _warn(
                f"{int(outside.sum())} of {len(targets)} targets lie outside the box and are left "
                "out. Remedy: give a wider Box"
            )
        self._enough(targets[~outside])
        return torch.as_tensor(~outside)

    def _sizes(self, rows: Rows) -> Sizes:
        K, distinct = int(self.n_hypotheses), len(torch.unique(rows.y, dim=0))
        limit = max(1, min(K, int(distinct * (1 - self.validation_fraction)) // 2))
        if limit < K:
            _warn(
                f"n_hypotheses={K} is too many for {distinct} distinct targets: {limit} are used. "
                "Remedy: give more rows, or lower n_hypotheses"
            )
        sphere = self.targets_.space == "sphere"
        widths = [int(width) for width in self.hidden]
        return Sizes(rows.x.shape[1], rows.y.shape[1], limit, widths, sphere)

    def _recipe(self) -> Recipe:
        return Recipe(
            members=int(self.members),
            steps=int(self.steps),
            batch_size=int(self.batch_size),
            learning_rate=float(self.learning_rate),
            weight_decay=float(self.weight_decay),
            refit=bool(self.refit),
        )

    def _take(self, best: Fitted, found: dict[str, float], rows: Rows) -> None:
        """Takes over what was fitted, and warns of what may be wrong with it."""
        self.head_, self.number_, self.networks_ = best.head, best.number, best.networks
        self.epochs_ = best.epochs.tolist()
        unit = float(np.log(self.targets_.scale).sum())
        self.heads_ = {name: -nll - unit for name, nll in found.items()}
        logger.info("head %s: log-likelihood of held-out rows by head: %s", self.head_, self.heads_)
        if best.border:
            _warn(_at_border(best))
        self._check_volumes(rows)
        self.unused_hypotheses_ = self._unused(rows)
        if self.unused_hypotheses_ > self.n_hypotheses_ / 2:
            _warn(
                f"{self.unused_hypotheses_} of {self.n_hypotheses_} hypotheses win no training "
                "row. Remedy: lower n_hypotheses"
            )

    @torch.no_grad()
    def _check_volumes(self, rows: Rows) -> None:
        """Warns if masses of cells are estimates, in four and more dimensions, and poor ones."""
        if self.head_ != "voronoi" or self.targets_.domain().dim(self.targets_.dimension) < 4:
            return
        laws = [
            law_of(self.head_, [network(rows.x[:8].double())], self.number_, self.targets_.domain())
            for network in self.networks_
        ]
        error = max(law.log_cell_mass_error.max().item() for law in laws)  # type: ignore[attr-defined]
        if error > TOLERANCE:
            _warn(
                f"volumes of cells have a standard error of up to {100 * error:.0f} %, and so have "
                "densities. Remedy: lower n_hypotheses, or take head 'kernel' or 'mdn'"
            )

    @torch.no_grad()
    def _unused(self, rows: Rows) -> int:
        x, y = (part[:COUNTED].double() for part in rows)
        points = self.networks_[0](x).points
        winners = torch.cdist(y[:, None], points)[:, 0].argmin(-1)
        return self.n_hypotheses_ - len(winners.unique())

    def _known(self, targets: NDArray[np.float64]) -> NDArray[np.float64]:
        if targets.shape[1] != self.targets_.dimension:
            raise ValueError(
                f"y has {targets.shape[1]} columns, and the model was fitted with "
                f"{self.targets_.dimension}. Remedy: give the same columns"
            )
        return targets


def _at_border(best: Fitted) -> str:
    """What a number at the border of its interval may mean."""
    name = HEADS[best.head].number
    unit = " (of scaled targets)" if name == "bandwidth" else ""
    if best.border < 0:
        return (
            f"the {name} is {best.number:.2g}{unit}, the lowest that was searched. Remedy: check "
            "whether targets repeat, follow from the inputs without noise, or have one far from "
            "all others; if not, raise steps"
        )
    return (
        f"the {name} is {best.number:.2g}{unit}, the highest that was searched: held-out targets "
        "lie far from what was learned. Remedy: give more rows, lower n_hypotheses, or check "
        "whether some inputs tell rows apart but nothing of the target, such as a number of the row"
    )


def _held_out(rows: int, fraction: float, seed: int) -> torch.Tensor:
    """Which rows are held out, bool `(n,)`; at least one is, and at least one is not."""
    count = min(max(math.ceil(fraction * rows), 1), rows - 1)
    chosen = torch.zeros(rows, dtype=torch.bool)
    chosen[torch.randperm(rows, generator=generator(seed, "held out"))[:count]] = True
    return chosen


def _names(y: Any) -> list[str] | None:
    """Names of the target's columns, if it is of pandas."""
    if hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    name = getattr(y, "name", None)
    return None if name is None else [str(name)]


def _listed(values: NDArray[np.float64]) -> str:
    """A target in a message."""
    text = ", ".join(f"{value:g}" for value in values)
    return f"({text})" if len(values) > 1 else text


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)
