"""Methods that are compared, each with two settings of which held-out rows choose one.

All see the same rows. Each holds out a fifth of them to select a setting and to stop early; the
estimator draws this fifth itself. None is trained again on all rows. Networks have two layers of 64
and `steps` steps of 256 rows.
"""

from __future__ import annotations

__all__ = ["METHODS", "fit"]

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scores import Law
from torch import Tensor

from vwta import VoronoiRegressor

Array = NDArray[np.float64]
HELD_OUT = 0.2
WIDTHS = (64, 64)
MEMBERS = 5
COMPONENTS = 8  # of zuko's mixtures, and bins of its splines
LEVELS = np.linspace(0.025, 0.975, 20)  # of quantile regression


@dataclass(frozen=True)
class Rows:
    """Standardised rows to train on, and held-out ones."""

    x: Array
    y: Array
    x_held_out: Array
    y_held_out: Array


Model = Callable[[Array], Law]  # from inputs to laws


@dataclass(frozen=True)
class Method:
    """A method: how it is trained at a setting, the settings, and the most columns of targets."""

    train: Callable[[Rows, Any, int, int], Model]
    settings: tuple[Any, ...]
    columns: int = 9


def fit(name: str, x: Array, y: Array, steps: int, seed: int) -> tuple[Model, dict[str, Any]]:
    """A model of rows `(n, c)` and `(n, d)`, with the setting and head that held-out rows chose.

    The model maps inputs to laws of targets in their own unit.
    """
    method = METHODS[name]
    order = np.random.default_rng(seed).permutation(len(x))
    held_out, train = np.split(order, [int(HELD_OUT * len(x))])
    centre, scale = np.stack([f(x[train], 0) for f in (np.mean, np.std)])
    at, unit = np.stack([f(y[train], 0) for f in (np.mean, np.std)])
    scale = np.where(scale > 0, scale, 1.0)
    inner, outer = (x - centre) / scale, (y - at) / unit
    rows = Rows(inner[train], outer[train], inner[held_out], outer[held_out])
    found = []
    for setting in method.settings:
        model = method.train(rows, setting, steps, seed)
        found.append((_held_out_nll(model, rows), setting, model))
    _, setting, model = min(found, key=lambda each: each[0])
    chosen = {"setting": setting, "head": getattr(model, "head", None)}
    return lambda new: _Scaled(model((new - centre) / scale), at, unit), chosen


def _held_out_nll(model: Model, rows: Rows) -> float:
    """NLL of rows that a model was not trained with: the estimator has its own."""
    if isinstance(model, _Regressor):
        return -model.fitted.heads_[model.head]
    return -float(model(rows.x_held_out).log_prob(rows.y_held_out[None]).mean())


@dataclass(frozen=True)
class _Scaled:
    """A law of standardised targets, in their own unit."""

    law: Law
    at: Array
    unit: Array

    def log_prob(self, y: Array) -> Array:
        return self.law.log_prob((y - self.at) / self.unit) - np.log(self.unit).sum()

    def sample(self, count: int, seed: int) -> Array:
        return self.at + self.unit * self.law.sample(count, seed)


def _ours(**options: Any) -> Callable[[Rows, Any, int, int], Model]:
    def train(rows: Rows, setting: int, steps: int, seed: int) -> Model:
        share = len(rows.x_held_out) / (len(rows.x) + len(rows.x_held_out))
        model = VoronoiRegressor(
            setting, **options, hidden=WIDTHS, steps=steps, validation_fraction=share, refit=False,
            random_state=seed, progress=False,
        )  # fmt: skip
        x = np.concatenate([rows.x, rows.x_held_out])
        model.fit(x, np.concatenate([rows.y, rows.y_held_out]))
        return _Regressor(model)

    return train


@dataclass(frozen=True)
class _Regressor:
    fitted: VoronoiRegressor

    @property
    def head(self) -> str:
        """The head in use, which held-out rows chose if it was `auto`."""
        return self.fitted.head_

    def __call__(self, new: Array) -> Law:
        return _Predicted(self.fitted.predict_dist(new))


@dataclass(frozen=True)
class _Predicted:
    law: Any

    def log_prob(self, y: Array) -> Array:
        found: Array = self.law.log_prob(y)
        return found

    def sample(self, count: int, seed: int) -> Array:
        found: Array = self.law.sample(count, random_state=seed)
        return found


def _zuko(kind: str) -> Callable[[Rows, Any, int, int], Model]:
    def train(rows: Rows, setting: float, steps: int, seed: int) -> Model:
        import zuko

        torch.manual_seed(seed)
        sizes = {"features": rows.y.shape[1], "context": rows.x.shape[1], "hidden_features": WIDTHS}
        if kind == "gmm":
            flow = zuko.flows.GMM(**sizes, components=COMPONENTS)
        else:
            flow = zuko.flows.NSF(**sizes, bins=COMPONENTS, transforms=3)
        _train(flow, rows, steps, setting)
        return lambda new: _Flow(flow(torch.as_tensor(new, dtype=torch.float32)))

    return train


@dataclass(frozen=True)
class _Flow:
    law: Any

    @torch.no_grad()
    def log_prob(self, y: Array) -> Array:
        parts = [self.law.log_prob(torch.as_tensor(part, dtype=torch.float32)) for part in y]
        return torch.stack(parts).double().numpy()

    @torch.no_grad()
    def sample(self, count: int, seed: int) -> Array:
        torch.manual_seed(seed)
        return self.law.sample((count,)).double().numpy()


def _train(flow: Any, rows: Rows, steps: int, highest: float, batch: int = 256) -> None:
    """Trains a flow by its likelihood, and leaves it at the best epoch on held-out rows."""
    x, y, x_held_out, y_held_out = (
        torch.as_tensor(part, dtype=torch.float32)
        for part in (rows.x, rows.y, rows.x_held_out, rows.y_held_out)
    )
    epochs = max(1, min(600, steps // -(-len(x) // batch)))
    adam = torch.optim.AdamW(flow.parameters(), lr=highest)
    count = epochs * -(-len(x) // batch)
    rate = torch.optim.lr_scheduler.OneCycleLR(adam, highest, total_steps=count)
    best, weights = np.inf, deepcopy(flow.state_dict())
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(batch):
            adam.zero_grad()
            loss = -flow(x[part]).log_prob(y[part]).mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
            adam.step()
            rate.step()
        with torch.no_grad():
            nll = _nll(flow, x_held_out, y_held_out)
        if nll < best:
            best, weights = nll, deepcopy(flow.state_dict())
    flow.load_state_dict(weights)


def _nll(flow: Any, x: Tensor, y: Tensor) -> float:
    return float(-flow(x).log_prob(y).mean())


def _ngboost(rows: Rows, setting: float, steps: int, seed: int) -> Model:
    from ngboost import NGBRegressor

    trees = max(10, min(1000, steps // 4))
    model = NGBRegressor(
        n_estimators=trees, learning_rate=setting, random_state=seed, verbose=False
    )
    held_out = rows.x_held_out, rows.y_held_out[:, 0]
    model.fit(rows.x, rows.y[:, 0], *held_out, early_stopping_rounds=50)
    return lambda new: _Normal(model.pred_dist(new))


@dataclass(frozen=True)
class _Normal:
    law: Any

    def log_prob(self, y: Array) -> Array:
        scale = self.law.scale
        found: Array = -(((y[..., 0] - self.law.loc) / scale) ** 2) / 2 - np.log(scale)
        return found - np.log(2 * np.pi) / 2

    def sample(self, count: int, seed: int) -> Array:
        noise = np.random.default_rng(seed).normal(size=(count, len(self.law.loc)))
        return (self.law.loc + self.law.scale * noise)[..., None]


def _quantiles(rows: Rows, setting: int, steps: int, seed: int) -> Model:
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = max(10, min(300, steps // 10))
    models = [
        HistGradientBoostingRegressor(
            loss="quantile", quantile=level, max_depth=setting, max_iter=trees, random_state=seed
        ).fit(rows.x, rows.y[:, 0])
        for level in LEVELS
    ]
    return lambda new: Steps(np.stack([model.predict(new) for model in models], -1))


class Steps:
    """Laws of predicted quantiles: even between neighbours, exponential beyond the outermost.

    Neighbours are kept 1e-3 apart, and the tails fall as fast as the density beside them.

    Arguments:
        quantiles: at :data:`LEVELS`, `(m, q)`, of standardised targets.
    """

    def __init__(self, quantiles: Array) -> None:
        ends = np.sort(quantiles, -1)
        ends = np.maximum.accumulate(ends - 1e-3 * np.arange(ends.shape[-1]), -1)
        self.ends = ends + 1e-3 * np.arange(ends.shape[-1])
        self.inner = np.diff(LEVELS) / np.diff(self.ends)
        self.rates = np.stack([self.inner[:, 0], self.inner[:, -1]]) / LEVELS[0]

    def log_prob(self, y: Array) -> Array:
        y = y[..., 0]
        cell = (y[..., None] > self.ends).sum(-1)
        row = np.broadcast_to(np.arange(len(self.ends)), y.shape)
        inside = np.log(self.inner[row, np.clip(cell - 1, 0, self.inner.shape[1] - 1)])
        left, right = np.log(LEVELS[0] * self.rates)
        below = left + self.rates[0] * np.minimum(y - self.ends[:, 0], 0)
        above = right - self.rates[1] * np.maximum(y - self.ends[:, -1], 0)
        found: Array = np.where(cell == 0, below, np.where(cell == len(LEVELS), above, inside))
        return found

    def sample(self, count: int, seed: int) -> Array:
        u = np.random.default_rng(seed).random((count, len(self.ends)))
        cell = np.searchsorted(LEVELS, u).clip(1, len(LEVELS) - 1)
        row = np.broadcast_to(np.arange(len(self.ends)), u.shape)
        inside = self.ends[row, cell - 1] + (u - LEVELS[cell - 1]) / self.inner[row, cell - 1]
        with np.errstate(divide="ignore"):
            below = self.ends[:, 0] + np.log(np.minimum(u / LEVELS[0], 1)) / self.rates[0]
            above = self.ends[:, -1] - np.log(np.minimum((1 - u) / LEVELS[0], 1)) / self.rates[1]
        found = np.where(u < LEVELS[0], below, np.where(u > LEVELS[-1], above, inside))
        return found[..., None]


METHODS = {
    "vwta": Method(_ours(head="auto"), (8, 16)),
    "vwta_ensemble": Method(_ours(head="auto", members=MEMBERS), (8, 16)),
    "vwta_voronoi": Method(_ours(head="voronoi"), (8, 16)),
    "vwta_local": Method(_ours(head="local"), (8, 16), columns=2),
    "vwta_continuous": Method(_ours(head="continuous"), (8, 16), columns=1),
    "mdn_ensemble": Method(_ours(head="mdn", members=MEMBERS), (8, 16)),
    "deep_ensembles": Method(_ours(head="mdn", members=MEMBERS), (1,)),
    "ngboost": Method(_ngboost, (0.02, 0.1), columns=1),
    "zuko_gmm": Method(_zuko("gmm"), (1e-3, 5e-3)),
    "zuko_nsf": Method(_zuko("nsf"), (1e-3, 5e-3)),
    "quantile_boosting": Method(_quantiles, (3, 6), columns=1),
}
