r"""Networks with a single input, evaluated by their linear segments.

A network of linear layers and ReLUs is piecewise linear in a single input: it bends only where one
of its units turns on or off. Of the rows of a batch that lie on the same linear segment, only the
two outermost go through the layers; those between them are weighted means of the two, and so are
their gradients. Trained networks of the synthetic study have about 70 to 230 segments in all.
"""

from __future__ import annotations

__all__ = ["by_segments"]

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

Layers = Sequence[Callable[[Tensor], Tensor]]


def by_segments(layers: Layers, x: Tensor) -> Tensor:
    """Output `(*, q)` of a ReLU network with one input by its linear segments, and its gradients.

    Rows are assigned to segments by the signs that units have at the ends of segments, as computed:
    no rounding puts a gradient on the wrong side of a bend.

    Arguments:
        layers: linear maps, the first with a single input, and :class:`torch.nn.ReLU` modules.
        x: inputs, with shape `(*, 1)`, at least one. They get no gradient.
    """
    rows, order = x.detach().flatten().sort()
    starts = order.new_zeros(1)  # of the segments, among the sorted rows
    while True:
        ends = torch.stack([starts, torch.cat([starts[1:], order.new_tensor([len(rows)])]) - 1])
        new, out = _through(layers, rows, ends)
        if not len(new):
            break
        starts = torch.cat([starts, new]).unique()
    low, high = rows[ends]
    sizes = ends[1] - ends[0] + 1
    segment = torch.repeat_interleave(sizes)
    share = (rows - low[segment]) / (high - low)[segment]
    share = torch.where(low[segment] < rows, share, 0.0)  # a single row is its segment's low end
    mean: Tensor = _Between.apply(out.flatten(0, 1), share, segment, starts, order)  # type: ignore[no-untyped-call]
    return mean.reshape(*x.shape[:-1], -1)


def _through(layers: Layers, rows: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """First rows of segments that are not known yet; without any, outputs `(2, segments, q)`.

    Before a ReLU a unit is linear along a segment on which no earlier unit turns on or off. If its
    signs at the two ends differ, the segment must end where the line between them meets zero.
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
    """Weighted means of the ends of segments: `(1 - share) low + share high` for each row."""

    @staticmethod
    def forward(
        ctx: Any, ends: Tensor, share: Tensor, segment: Tensor, starts: Tensor, order: Tensor
    ) -> Tensor:
        ctx.save_for_backward(share, starts, order)
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        segment, share = segment[place], share[place]
        entries = torch.stack([segment, segment + len(starts)], -1)
        shares = torch.stack([1 - share, share], -1)
        return embedding_bag(entries, ends, mode="sum", per_sample_weights=shares)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        share, starts, order = ctx.saved_tensors
        gradients = [
            embedding_bag(order, g, starts, mode="sum", per_sample_weights=weights)
            for weights in (1 - share, share)
        ]
        return torch.cat(gradients), None, None, None, None
