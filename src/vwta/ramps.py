r"""Two layers of a network with a single input, at the price of less than one.

Every unit of the first layer is a ramp in the input, :math:`\max(w_i x + b_i, 0)`, which turns at
its knot :math:`-b_i / w_i`. Between two knots a linear layer on top of them is linear in x as well.
So there is a table of straight lines, one for each interval, and a row of the batch takes the
line of its interval: no matrix product over the batch, neither here nor for gradients.
"""

from __future__ import annotations

__all__ = ["ramp_layers"]

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag


def ramp_layers(x: Tensor, w: Tensor, b: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    r"""Linear layer on top of a layer with a single input, with shape `(*, q)`.

    .. math:: W \max(w x + b, 0) + a

    Gradients are exact, up to the first order; at a knot they are those of one of its sides. The
    cost goes as q times the sum of inputs and knots among them, not as q times n times p.

    Arguments:
        x: inputs, with shape `(*)`.
        w: weights of the first layer, with shape `(p,)`.
        b: its biases, with shape `(p,)`.
        weight: weights W of the second layer, with shape `(q, p)`.
        bias: its biases a, with shape `(q,)`.
    """
    if not x.numel():
        return x.unsqueeze(-1) * bias
    out: Tensor = _RampLayers.apply(x.reshape(-1), w, b, weight, bias)  # type: ignore[no-untyped-call]
    return out.reshape(*x.shape, -1)


class _RampLayers(torch.autograd.Function):
    """Lines have an entry for each interval: the slope of each output, then its value at 0."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        low, high = x.aminmax()
        on = w * low + b > 0  # at the lowest input
        turning = (on != (w * high + b > 0)).nonzero().squeeze(-1)
        knots, order = (-b[turning] / w[turning]).sort(stable=True)
        turning = turning[order]
        interval = torch.searchsorted(knots, x)
        ramps = torch.stack([w, b], -1)
        steps = x.new_empty(len(turning) + 1, 2, len(bias))  # from one line to the next
        steps[0] = (weight @ (on.unsqueeze(-1) * ramps)).t()
        steps[0, 1] += bias
        change = torch.where(on, -1.0, 1.0).unsqueeze(-1) * ramps
        columns = weight.t().index_select(0, turning)
        torch.mul(columns.unsqueeze(1), change[turning].unsqueeze(-1), out=steps[1:])
        lines = steps.cumsum(0)
        ctx.save_for_backward(x, w, b, weight, on, turning, interval, lines)
        entries = torch.stack([2 * interval, 2 * interval + 1], -1)
        factors = torch.stack([x, torch.ones_like(x)], -1)
        return embedding_bag(entries, lines.flatten(0, 1), mode="sum", per_sample_weights=factors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        x, w, b, weight, on, turning, interval, lines = ctx.saved_tensors
        interval_of_row, rows = interval.sort(stable=True)
        numbers = torch.arange(len(turning) + 1, device=x.device)
        starts = torch.searchsorted(interval_of_row, numbers)

        def felt(weights: Tensor | None) -> tuple[Tensor, Tensor]:
            """Sum of weighted g over all rows, and over those for which a unit is on."""
            sums = embedding_bag(rows, g, starts, mode="sum", per_sample_weights=weights)
            below = sums.cumsum(0)
            by_unit = on.unsqueeze(-1) * below[-1]
            is_on = on[turning].unsqueeze(-1)
            by_unit[turning] = torch.where(is_on, below[:-1], below[-1] - below[:-1])
            return below[-1], by_unit

        total, constant = felt(None)
        _, linear = felt(x[rows])
        return (
            torch.linalg.vecdot(g, lines[interval, 0]) if ctx.needs_input_grad[0] else None,
            torch.linalg.vecdot(weight.t(), linear),
            torch.linalg.vecdot(weight.t(), constant),
            (linear * w.unsqueeze(-1)).addcmul_(constant, b.unsqueeze(-1)).t(),
            total,
        )
