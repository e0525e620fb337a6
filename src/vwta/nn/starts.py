"""Initial hypotheses at targets that k-means++ picks, so that few hypotheses remain unused."""

from __future__ import annotations

__all__ = ["k_means_plus_plus", "start_at"]

import torch
from torch import Tensor

from vwta.nn.heads import WTAHead


def k_means_plus_plus(y: Tensor, K: int, generator: torch.Generator | None = None) -> Tensor:
    r"""Starting points `(K, d)` of hypotheses: targets, picked as the first centres of k-means++.

    The first one is drawn uniformly; each next one with a probability proportional to
    :math:`\min_{l} \|y_i - z_l\|^2`, its squared distance to the nearest of those picked before.

    References:
        | k-means++: The Advantages of Careful Seeding (Arthur and Vassilvitskii, 2007)

    Arguments:
        y: targets, with shape `(n, d)`; at least K of them differ.
        K: how many to pick.
        generator: source of randomness.

    Example:
        >>> k_means_plus_plus(torch.tensor([[0.0], [1.0]]), 2).sort(0).values
        tensor([[0.],
                [1.]])
    """
    first = torch.randint(len(y), (), generator=generator)
    picked = [y[first]]
    squares = (y - picked[0]).square().sum(-1)
    for k in range(1, K):
        if not squares.any():
            raise ValueError(
                f"only {k} of the {len(y)} targets differ, but K = {K}: lower K or add targets"
            )
        index = torch.multinomial(squares, 1, generator=generator).squeeze()
        picked.append(y[index])
        squares = torch.minimum(squares, (y - y[index]).square().sum(-1))
    return torch.stack(picked)


@torch.no_grad()
def start_at(head: WTAHead, points: Tensor) -> None:
    """Moves the hypotheses of a head that is not trained yet to points, in place.

    They then lie there for every input: their biases say where, and their other weights are 0.
    Training moves both.

    Arguments:
        head: the head, such as `network.heads`.
        points: a point for each hypothesis, with shape `(K, d)`; inside (-1, 1) if the head is
            bounded.
    """
    flat = points.flatten()
    if len(flat) != head.sizes[0]:
        raise ValueError(
            f"points have shape {tuple(points.shape)}, but the head has {head.sizes[1]} hypotheses "
            f"of dimension {head.outputs}: give one point for each"
        )
    if head.bounded and not (flat.abs() < 1).all():
        raise ValueError(
            f"points reach {flat.abs().max():g}, but a bounded head stays in (-1, 1): rescale them"
        )
    head.weight[: len(flat)] = 0
    head.bias[: len(flat)] = torch.atanh(flat) if head.bounded else flat
