"""How much memory a computation may hold at once, and how to keep to it."""

from __future__ import annotations

__all__ = ["MEMORY", "in_parts", "slices"]

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

ALIGNED = 64  # elements: parts of such sizes are computed by the same instructions as the whole
MEMORY = 2**29  # bytes: what any result needs besides itself and its arguments


def slices(count: int, size: int) -> list[slice]:
    """Slices of `count` rows that hold `MEMORY` bytes at most, with `size` bytes a row."""
    step = _aligned(MEMORY // size)
    return [slice(start, start + step) for start in range(0, max(count, 1), step)]


def in_parts(
    function: Callable[..., Tensor], tensors: Sequence[Tensor], trailing: Sequence[int], size: int
) -> Tensor:
    """A function of tensors that broadcast, computed in parts that hold `MEMORY` bytes at most.

    If it is computed in parts and has gradients, these compute each part again, so that they do not
    need more memory either.

    Arguments:
        function: its value has the shape to which the tensors' leading axes broadcast.
        tensors: its arguments.
        trailing: how many last axes of each of them take no part in broadcasting.
        size: bytes that one element of the value needs on the way.
    """
    if _parts(tensors, trailing, size) <= 1:
        return function(*tensors)
    if not torch.is_grad_enabled() or not any(x.requires_grad for x in tensors):
        return _in_parts(function, tensors, trailing, size)

    def again(*part: Tensor) -> Tensor:
        value: Tensor = checkpoint(function, *part, use_reentrant=False)
        return value

    return _in_parts(again, tensors, trailing, size)


def _aligned(step: int) -> int:
    """A step that leaves no rest of a vector register, so that parts have the bits of the whole."""
    return step // ALIGNED * ALIGNED if step >= ALIGNED else max(step, 1)


def _parts(tensors: Sequence[Tensor], trailing: Sequence[int], size: int) -> float:
    """How many times `MEMORY` a function needs, see :func:`in_parts`; 1 if it cannot be split."""
    shape = np.broadcast_shapes(*_leading(tensors, trailing))
    count = math.prod(shape)
    return count * size / MEMORY if count > 1 else 1.0


def _in_parts(
    function: Callable[..., Tensor], tensors: Sequence[Tensor], trailing: Sequence[int], size: int
) -> Tensor:
    """:func:`in_parts` by cutting the longest axis."""
    parts = _parts(tensors, trailing, size)
    if parts <= 1:
        return function(*tensors)
    leading = _leading(tensors, trailing)
    shape = np.broadcast_shapes(*leading)
    axis = int(np.argmax(shape)) - len(shape)
    step = _aligned(int(shape[axis] / parts))
    values = []
    for start in range(0, shape[axis], step):
        length = min(step, shape[axis] - start)
        part = [
            x.narrow(axis - n, start, length) if len(lead) >= -axis and lead[axis] > 1 else x
            for x, n, lead in zip(tensors, trailing, leading, strict=True)
        ]
        values.append(_in_parts(function, part, trailing, size))
    return torch.cat(values, axis)


def _leading(tensors: Sequence[Tensor], trailing: Sequence[int]) -> list[tuple[int, ...]]:
    """The axes of tensors that broadcast."""
    return [tuple(x.shape[: max(x.dim() - n, 0)]) for x, n in zip(tensors, trailing, strict=True)]
