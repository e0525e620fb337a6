"""Gauss-Legendre nodes on the part of an edge that feels the kernel."""

from __future__ import annotations

__all__ = ["REACH", "beyond", "nodes", "rule", "within"]

from functools import cache

import numpy as np
import torch
from torch import Tensor

NODES = 24
REACH = 22.0  # exp(-REACH) is 3e-10: what the kernel has left beyond the outermost node


def nodes(start: Tensor, end: Tensor, count: int = NODES) -> tuple[Tensor, Tensor]:
    """Nodes and weights of quadrature from `start` to `end` `(E,)`, `(E, count)` each."""
    x, weight = rule(start.dtype, start.device, count)
    half = (end - start)[:, None] / 2
    return torch.addcmul((end + start)[:, None] / 2, half, x), half * weight


@cache
def rule(dtype: torch.dtype, device: torch.device, count: int = NODES) -> tuple[Tensor, Tensor]:
    """Nodes and weights of Gauss-Legendre quadrature on `[-1, 1]`, `(count,)` each."""
    x, weight = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(count))
    return x.to(device, dtype), weight.to(device, dtype)


def within(s1: Tensor, s2: Tensor, limit: Tensor) -> tuple[Tensor, Tensor]:
    """The part of an edge `[s1, s2]` inside `[-limit, limit]`, of length 0 if there is none."""
    return s1.clamp(-limit, limit), s2.clamp(-limit, limit)


def beyond(s1: Tensor, s2: Tensor, limit: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
    """The two parts of an edge `[s1, s2]` outside `[-limit, limit]`, of length 0 where none is."""
    start = torch.maximum(s1, limit)
    return (s1, torch.maximum(s1, torch.minimum(s2, -limit))), (start, torch.maximum(start, s2))
