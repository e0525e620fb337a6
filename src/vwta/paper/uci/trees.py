r"""Boosted regression trees as a network: inputs to the mean and variance of a Gaussian.

Trees are tensors, so that they are stored, restored and measured as the weights of networks are.
"""

from __future__ import annotations

__all__ = ["BoostedTrees", "flatten"]

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vwta.nn.heads import Components

LEAF = -1  # the child of a leaf, as scikit-learn has it


class BoostedTrees(nn.Module):
    r"""Sum of trees for the location and the log-scale of a Gaussian.

    .. math:: (\mu, \log \sigma)(x) = c - \sum_t s_t \, (f_{t1}(x), f_{t2}(x))

    Every tree asks at each node whether an input is at most a threshold, up to `depth` times.

    Arguments:
        inputs: number of inputs.
        trees: number T of steps, each of two trees.
        nodes: largest number of nodes of a tree.
        depth: of the trees.
    """

    left: Tensor
    right: Tensor
    feature: Tensor
    threshold: Tensor
    value: Tensor
    scale: Tensor
    start: Tensor

    def __init__(self, inputs: int, trees: int, nodes: int, depth: int) -> None:
        super().__init__()
        self.inputs, self.depth = inputs, depth
        shape = (trees, 2, nodes)
        for name in ("left", "right", "feature"):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.long))
        for name in ("threshold", "value"):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("scale", torch.zeros(trees, dtype=torch.float64))
        self.register_buffer("start", torch.zeros(2, dtype=torch.float64))

    def forward(self, x: Tensor) -> Components:
        """Components of inputs `(n, d)`: one for each row."""
        seen = x.float()  # trees were grown on such inputs
        total = self.start.expand(len(x), 2).clone()
        for tree in range(len(self.scale)):
            total -= self.scale[tree] * self._outputs(tree, seen)
        location, log_scale = total.to(x.dtype).unbind(-1)
        points = location[:, None, None]
        return Components(points, torch.zeros_like(points[..., 0]), 2 * log_scale[:, None])

    def _outputs(self, tree: int, x: Tensor) -> Tensor:
        """Outputs of the two trees of a step, `(n, 2)`."""
        columns = []
        for side in range(2):
            left, right, feature, threshold, value = (
                part[tree, side]
                for part in (self.left, self.right, self.feature, self.threshold, self.value)
            )
            node = torch.zeros(len(x), dtype=torch.long, device=x.device)
            for _ in range(self.depth):
                goes_left = x.gather(1, feature[node][:, None])[:, 0] <= threshold[node]
                child = torch.where(goes_left, left[node], right[node])
                node = torch.where(child == LEAF, node, child)
            columns.append(value[node])
        return torch.stack(columns, 1)


def flatten(
    trees: Sequence[Sequence[Any]], scales: Sequence[float], start: Sequence[float]
) -> dict[str, Tensor]:
    """The state of :class:`BoostedTrees`, from trees of scikit-learn.

    Arguments:
        trees: for each step its two trees, `DecisionTreeRegressor` of one output.
        scales: factor of each step.
        start: location and log-scale before the first step.
    """
    grown = [[regressor.tree_ for regressor in step] for step in trees]
    nodes = max((tree.node_count for step in grown for tree in step), default=1)
    shape = (len(grown), 2, nodes)
    children = {name: np.full(shape, LEAF) for name in ("left", "right")}
    arrays = {**children, "feature": np.zeros(shape, int)}
    arrays |= {"threshold": np.zeros(shape), "value": np.zeros(shape)}
    for place, step in enumerate(grown):
        for side, tree in enumerate(step):
            of = (place, side, slice(tree.node_count))
            arrays["left"][of], arrays["right"][of] = tree.children_left, tree.children_right
            arrays["feature"][of] = tree.feature.clip(min=0)
            arrays["threshold"][of] = tree.threshold
            arrays["value"][of] = tree.value[:, 0, 0]
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    factors = {"scale": scales, "start": start}
    double = torch.float64
    return tensors | {name: torch.tensor(x, dtype=double) for name, x in factors.items()}
