r"""Gated recurrent units in both directions, as one program on a CPU.

With the gates of the inputs, which one matrix product gives for all times, a unit computes

.. math::
    r_t, u_t = \sigma(a_t + U h_{t-1}), \quad
    c_t = \tanh(a^c_t + r_t (U^c h_{t-1} + b)), \quad
    h_t = (1 - u_t) c_t + u_t h_{t-1}

Both directions take a step at once, in one product of a batch of two matrices. Gradients of the
recurrent weights are a single product, too, after all steps back. torch's own units compute the
same numbers up to rounding; on a GPU they are the faster ones.
"""

from __future__ import annotations

__all__ = ["both_ways"]

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


def both_ways(units: nn.GRU, x: Tensor) -> Tensor:
    """States `(B, T, 2 width)` of all layers' last one, as `units(x)[0]` gives them.

    Arguments:
        units: bidirectional units with biases, `batch_first` and no dropout.
        x: sequences, `(B, T, q)`.
    """
    if not x.is_cpu:
        states: Tensor = units(x)[0]
        return states
    out = x.transpose(0, 1)
    for layer in range(units.num_layers):
        ways = [_Direction(units, layer, suffix) for suffix in ("", "_reverse")]
        gates = torch.stack([ways[0].gates(out), ways[1].gates(out.flip(0))], 1)
        recurrent = torch.stack([way.recurrent.T for way in ways])
        bias = torch.stack([way.bias for way in ways])[:, None]
        both: Tensor = _Steps.apply(gates, recurrent, bias)  # type: ignore[no-untyped-call]
        out = torch.cat([both[:, 0], both[:, 1].flip(0)], -1)
    return out.transpose(0, 1)


class _Direction:
    """Weights of a layer in one direction."""

    def __init__(self, units: nn.GRU, layer: int, suffix: str) -> None:
        def named(name: str) -> Tensor:
            value: Tensor = getattr(units, f"{name}_l{layer}{suffix}")
            return value

        self.entering, self.entering_bias = named("weight_ih"), named("bias_ih")
        self.recurrent, self.bias = named("weight_hh"), named("bias_hh")

    def gates(self, x: Tensor) -> Tensor:
        """What inputs `(T, B, q)` add to the gates, `(T, B, 3 width)`."""
        return nn.functional.linear(x, self.entering, self.entering_bias)


class _Steps(torch.autograd.Function):
    """States `(T, D, B, w)` of D directions, from the gates `(T, D, B, 3 w)` of their inputs.

    Recurrent weights are `(D, w, 3 w)`, their biases `(D, 1, 3 w)`, in torch's order of gates:
    reset r, update u, candidate c.
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, recurrent: Tensor, bias: Tensor) -> Tensor:
        times, ways, batch, triple = gates.shape
        width = triple // 3
        states = gates.new_zeros(times + 1, ways, batch, width)
        switches = gates.new_empty(times, ways, batch, 2 * width)
        candidates, before = (torch.empty_like(states[1:]) for _ in range(2))
        for t in range(times):
            own = torch.baddbmm(bias, states[t], recurrent)
            torch.add(own[..., : 2 * width], gates[t, ..., : 2 * width], out=switches[t])
            reset, update = switches[t].sigmoid_().split(width, -1)
            before[t] = own[..., 2 * width :]
            torch.addcmul(gates[t, ..., 2 * width :], reset, before[t], out=candidates[t])
            torch.lerp(candidates[t].tanh_(), states[t], update, out=states[t + 1])
        ctx.save_for_backward(states, switches, candidates, before, recurrent)
        return states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states, switches, candidates, before, recurrent = ctx.saved_tensors
        width = states.shape[-1]
        reset, update = switches.split(width, -1)
        # Slopes of a state in what enters tanh and sigmoid, all but the part that recurs.
        of_candidate = (1 - update) * (1 - candidates.square())
        of_update = (states[:-1] - candidates) * update * (1 - update)
        of_reset = before * reset * (1 - reset)
        inner = g.new_empty(*g.shape[:-1], 3 * width)  # gradients of U h + b
        candidate = torch.empty_like(candidates)  # and of the input's part of the candidate
        back = recurrent.transpose(1, 2).contiguous()
        state = torch.zeros_like(g[0])
        for t in reversed(range(len(g))):
            state = state + g[t]
            torch.mul(state, of_candidate[t], out=candidate[t])
            torch.mul(candidate[t], of_reset[t], out=inner[t, ..., :width])
            torch.mul(state, of_update[t], out=inner[t, ..., width : 2 * width])
            torch.mul(candidate[t], reset[t], out=inner[t, ..., 2 * width :])
            state = torch.baddbmm(state * update[t], inner[t], back)
        of_gates = torch.cat([inner[..., : 2 * width], candidate], -1)
        entering = states[:-1].permute(1, 3, 0, 2).flatten(2)
        of_recurrent = entering @ inner.transpose(0, 1).flatten(1, 2)
        return of_gates, of_recurrent, inner.sum((0, 2))[:, None]
