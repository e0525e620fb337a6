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
    """Output `(*, n, q)` of ReLU networks with one input by linear segments, and its gradients.

    Rows are assigned to segments by the signs that units have at the ends of segments, as computed:
    no rounding puts a gradient on the wrong side of a bend. Each group of n rows has segments of
    its own, as in a stack of networks each group has a network of its own.

    Arguments:
        layers: linear maps, the first with a single input, and :class:`torch.nn.ReLU` modules. They
            map `(S, m, p)` to `(S, m, q)`, where S is the number of groups.
        x: inputs, with shape `(*, n, 1)`, at least one. They get no gradient.
    """
    n = x.shape[-2] if x.dim() > 1 else 1
    rows, order = x.detach().reshape(-1, n).sort(-1)
    bounds = n * torch.arange(len(rows) + 1)  # the first row of each group among all, and the end
    starts = bounds[:-1, None]
    search = _ascending(rows)
    rows = rows.flatten()
    while True:
        after = torch.cat([starts.flatten()[1:], bounds[-1:]]).view_as(starts)
        ends = torch.stack([torch.minimum(starts, after - 1), after - 1], 1)
        new, out = _through(layers, rows, ends, search)
        if not len(new):
            break
        starts = _by_group(torch.cat([starts.flatten(), new, bounds[-1:]]).unique(), bounds)
    segment = torch.repeat_interleave((after - starts).flatten())
    low, high = rows[ends.transpose(0, 1).flatten(1)][:, segment]
    share = torch.where(low < rows, (rows - low) / (high - low), 0.0)  # a single row is its low end
    order = (order + bounds[:-1, None]).flatten()
    mean: Tensor = _Between.apply(out, share, segment, starts, order)  # type: ignore[no-untyped-call]
    return mean.reshape(*x.shape[:-1], -1)


def _ascending(rows: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Finds the first row of a group that is not below a value.

    Arguments:
        rows: sorted rows of S groups, with shape `(S, n)`.
    """
    if len(rows) == 1:
        return lambda values, group: torch.searchsorted(rows[0], values)
    # Groups one after the other ascend as a whole if each is moved beyond the one before.
    span = (rows[:, -1].max() - rows[:, 0].min()).double()
    moved = (rows + span * torch.arange(len(rows))[:, None]).flatten()
    return lambda values, group: torch.searchsorted(moved, values + span * group)


def _by_group(starts: Tensor, bounds: Tensor) -> Tensor:
    """First rows of segments, with shape `(S, segments)`, where empty ones fill groups up.

    Arguments:
        starts: first rows of the segments of all groups, sorted, and the end.
        bounds: the first row of each group, and the end, with shape `(S + 1,)`.
    """
    places = torch.searchsorted(starts, bounds)
    count = int(places.diff().max())
    return starts[torch.minimum(places[:-1, None] + torch.arange(count), places[1:, None])]


def _through(
    layers: Layers, rows: Tensor, ends: Tensor, search: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """First rows of segments that are not known yet; without any, outputs `(S, 2 segments, q)`.

    Before a ReLU a unit is linear along a segment on which no earlier unit turns on or off. If its
    signs at the two ends differ, the segment must end where the line between them meets zero.
    """
    out = rows[ends.flatten(1)].unsqueeze(-1)
    for layer in layers:
        if isinstance(layer, nn.ReLU):
            on = (out > 0).unflatten(1, (2, -1))
            group, place, unit = (on[:, 0] != on[:, 1]).nonzero(as_tuple=True)
            if len(place):
                a, b = out.detach().unflatten(1, (2, -1)).movedim(1, 0)[:, group, place, unit]
                first, last = ends.movedim(1, 0)[:, group, place]
                low, high = rows[first], rows[last]
                new = search(low + (high - low) * (a / (a - b)), group)
                return new.clamp(first + 1, last), out
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
        count = starts.shape[1]
        low = segment + count * (segment // count)  # high ends follow the low ones of each group
        entries = torch.stack([low, low + count], -1)[place]
        shares = torch.stack([1 - share, share], -1)[place]
        return embedding_bag(entries, ends.flatten(0, 1), mode="sum", per_sample_weights=shares)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        share, starts, order = ctx.saved_tensors
        gradients = [
            embedding_bag(order, g, starts.flatten(), mode="sum", per_sample_weights=weights)
            for weights in (1 - share, share)
        ]
        grouped = torch.cat([part.view(*starts.shape, -1) for part in gradients], 1)
        return grouped, None, None, None, None
