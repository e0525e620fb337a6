r"""The functions :math:`H_m(v) = \int_0^1 t^m e^{-v t^2} dt` of Gaussians along rays.

They are entire, positive and decreasing, with :math:`H_m' = -H_{m+2}`. For even `m` they are Boys'
functions.
"""

from __future__ import annotations

__all__ = ["NEAR", "decay", "differences", "taylor"]

import math

import torch
from torch import Tensor

NEAR = 1.0  # increments up to which differences come from Taylor's series
TERMS = 17  # of Taylor's series: below 1e-16 for increments up to 1
SERIES = 64  # terms of the series for the last coefficient: below 1e-17 up to v = 36


def decay(m: int, v: Tensor) -> Tensor:
    """:math:`H_m(v)` for `m` = 0 and 1, and for `m` = 2 and v from 1 on."""
    v = v.clamp_min(torch.finfo(v.dtype).tiny)
    if m == 1:
        return torch.expm1(-v) / (-2 * v)
    root = v.sqrt()
    value = torch.erf(root) / root * (math.sqrt(math.pi) / 2)
    return value if m == 0 else (value - torch.exp(-v)) / (2 * v)


def taylor(m: int, v: Tensor) -> Tensor:
    """Coefficients `(TERMS, *)` of the divided differences of H_m at `v` `(*)`, up to 36.

    The last comes from a series of positive terms, the others by the recursion
    :math:`(k + 1) H_k = 2 v H_{k+2} + e^{-v}`.
    """
    top = m + 2 * TERMS
    twice, fall = 2 * v, torch.exp(-v)
    last = torch.zeros_like(v)
    for i in range(SERIES, -1, -1):  # by Horner's scheme
        last = (last * twice + 1) / (top + 2 * i + 1)
    value, found = last * fall, []
    for n in range(TERMS - 1, -1, -1):
        found.append(value * ((-1) ** n / math.factorial(n + 1)))
        k = m + 2 * n
        value = (twice * value + fall) / (k + 1)
    return torch.stack(found[::-1])


def differences(coefficients: Tensor, x: Tensor) -> Tensor:
    """:math:`(H_m(v) - H_m(v + x)) / x` for x up to `NEAR`, `(N, n)`.

    Arguments:
        coefficients: those of :func:`taylor`, `(TERMS, N)`.
        x: increments, `(N, n)`.
    """
    total = coefficients[-1][:, None].expand_as(x).clone()
    for each in coefficients[:-1].flip(0):
        total.mul_(x).add_(each[:, None])
    return total
