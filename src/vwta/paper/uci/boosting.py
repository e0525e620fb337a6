"""NGBoost (Duan et al., 2020) as a rival: trained on the rows that networks are trained on.

For each split the learning rate and the number of trees are those with the lowest NLL of the
validation rows; with them trees are grown again on all training rows, if networks are trained
again. `ngboost` is an extra, which is imported when trees are grown.
"""

from __future__ import annotations

__all__ = ["Boosting", "Sizes"]

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vwta.paper.uci.splits import Division
from vwta.paper.uci.trees import flatten
from vwta.seeds import stream
from vwta.training.stacking import Rows

logger = logging.getLogger(__name__)

SEEDS = 2**32  # of numpy's old generator, which scikit-learn uses


@dataclass(frozen=True)
class Sizes:
    """Sizes of the boosted trees of the UCI study.

    Attributes:
        trees: highest number of steps, each of which grows a tree for either parameter.
        depth: of a tree.
        learning_rates: those that are tried.
        patience: growing ends after so many steps without a lower validation NLL.
    """

    trees: int
    depth: int
    learning_rates: list[float]
    patience: int


class _Rows(NamedTuple):
    """Inputs `(n, d)` and targets `(n,)` of a split."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]


class Boosting:
    """Trainings of NGBoost on the splits of a UCI data set.

    Arguments:
        parts: rows of the splits.
        sizes: of the trees.
        retrained: whether trees are grown again on all training rows.
        seed: of the study.
    """

    def __init__(self, parts: Division, sizes: Sizes, retrained: bool, seed: int) -> None:
        self.parts, self.sizes, self.retrained, self.seed = parts, sizes, retrained, seed

    def of_split(self, split: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Trains a split: its trees as tensors, and what else is to be known of them."""
        parts = self.parts.train, self.parts.validation, self.parts.whole
        train, validation, whole = (_of_split(rows, split) for rows in parts)
        curves, best = {}, (np.inf, 0.0, None)
        for rate in self.sizes.learning_rates:
            model = self._grow(split, rate, self.sizes.trees, train, validation)
            curves[rate] = np.array(model.evals_result["val"]["LOGSCORE"])
            best = min(best, (curves[rate].min(), rate, model), key=lambda found: found[0])
        _, rate, model = best
        steps = int(curves[rate].argmin()) + 1
        logger.info("split %d: learning rate %g, %d steps", split, rate, steps)
        if self.retrained:
            model = self._grow(split, rate, steps, whole)
            steps = len(model.scalings)
        scales = [rate * scale for scale in model.scalings[:steps]]
        state = flatten(model.base_models[:steps], scales, model.init_params)
        size = {"trees": steps, "nodes": state["value"].shape[-1], "depth": self.sizes.depth}
        tensors = {f"last.0.{name}": value for name, value in state.items()}
        return {**tensors, "curve.loss.0": torch.from_numpy(curves[rate])}, {
            "network": {"kind": "ngboost", "inputs": train.x.shape[1], **size},
            "selected": "last",
            "retrained": False,  # these are the ones, whichever rows they were grown on
            "restarts": 1,
            "learning_rate": rate,
            "diverged": [0],
        }

    def _grow(
        self, split: int, rate: float, steps: int, rows: _Rows, validation: _Rows | None = None
    ) -> Any:
        """A regressor of NGBoost with so many steps, or fewer by early stopping."""
        from ngboost import NGBRegressor
        from sklearn.tree import DecisionTreeRegressor

        seed = stream(self.seed, "trees", split) % SEEDS
        base = DecisionTreeRegressor(max_depth=self.sizes.depth, random_state=seed)
        model = NGBRegressor(Base=base, n_estimators=steps, learning_rate=rate, verbose=False)
        if validation is None:
            return model.fit(*rows)
        x, y = validation
        patience = self.sizes.patience
        return model.fit(*rows, X_val=x, Y_val=y, early_stopping_rounds=patience)


def _of_split(rows: Rows, split: int) -> _Rows:
    return _Rows(rows.x[split].numpy(), rows.y[split, :, 0].numpy())
