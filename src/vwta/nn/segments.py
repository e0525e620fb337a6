r"""Networks with a single input, at the price of their straight pieces.

A network of linear layers and ReLUs is a chain of straight lines in a single input: it bends only
where one of its units turns on or off. Of the rows of a batch that lie on the same piece, the two
outermost alone go through the layers; those between them are weighted means of the two, and so are
their gradients. Trained networks of the synthetic study have about 70 to 230 pieces in all.
"""

from __future__ import annotations

__all__ = ["by_pieces"]

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag


def by_pieces(layers: Sequence[Callable[[Tensor], Tensor]], x: Tensor) -> Tensor:
    """Output of layers one after the other, with shape `(*, q)`, and gradients in their weights.

    Rows are told apart by the signs that units have at the ends of pieces, as computed: no rounding
    puts a gradient on the wrong side of a bend.

    Arguments:
        layers: linear layers, the first with a single input, and ReLUs.
        x: inputs, with shape `(*, 1)`, at least one. They get no gradient.
    """
    rows, order = x.detach().flatten().sort()
    starts = order.new_zeros(1)  # of the pieces, among the sorted rows
    while True:
        ends = torch.stack([starts, torch.cat([starts[1:], order.new_tensor([len(rows)])]) - 1])
        new, out = _through(layers, rows, ends)
        if not len(new):
            break
        starts = torch.cat([starts, new]).unique()
    low, high = rows[ends]
    sizes = ends[1] - ends[0] + 1
    piece = torch.repeat_interleave(sizes)
    share = (rows - low[piece]) / (high - low)[piece]
    share = torch.where(low[piece] < rows, share, 0.0)  # a single row is the low end of its piece
    mean: Tensor = _Between.apply(out.flatten(0, 1), share, piece, starts, order)  # type: ignore[no-untyped-call]
    return mean.reshape(*x.shape[:-1], -1)


def _through(
    layers: Sequence[Callable[[Tensor], Tensor]], rows: Tensor, ends: Tensor
) -> tuple[Tensor, Tensor]:
    """First rows of pieces that are still missing; if there is none, outputs `(2, pieces, q)`.

    Before a ReLU a unit is linear along a piece whose units have not turned before. If its signs at
    the two ends differ, the piece must end where the line between them meets zero.
    """
    out = rows[ends].unsqueeze(-1)
    for layer in layers:
        if isinstance(layer, nn.ReLU):
            on = out > 0
            place, unit = (on[0] != on[1]).nonzero(as_tuple=True)
            if len(place):
                a, b = out.detach()[:, place, unit]
                low, high = rows[ends[:, place]]
                new = torch.searchsorted(rows, low + (high - low) * (a / (a - b)))
                return new.clamp(ends[0, place] + 1, ends[1, place]), out
        out = layer(out)
    return ends.new_empty(0), out


class _Between(torch.autograd.Function):
    """Weighted means of the ends of pieces: `(1 - share) low + share high` for each row."""

    @staticmethod
    def forward(
        ctx: Any, ends: Tensor, share: Tensor, piece: Tensor, starts: Tensor, order: Tensor
    ) -> Tensor:
        ctx.save_for_backward(share, starts, order)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        piece, share = piece[place], share[place]
        entries = torch.stack([piece, piece + len(starts)], -1)
        shares = torch.stack([1 - share, share], -1)
        return embedding_bag(entries, ends, mode="sum", per_sample_weights=shares)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        share, starts, order = ctx.saved_tensors
        felt = [
            embedding_bag(order, g, starts, mode="sum", per_sample_weights=weights)
            for weights in (1 - share, share)
        ]
        return torch.cat(felt), None, None, None, None
