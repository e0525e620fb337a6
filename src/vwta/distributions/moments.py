"""Mean and variance of a mixture from the moments of its components."""

from __future__ import annotations

__all__ = ["mixture_mean", "mixture_variance"]

from torch import Tensor


def mixture_mean(masses: Tensor, z: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Mean `(*, e)` of a mixture, see :func:`mixture_variance`."""
    return (_shares(masses) * (z + first)).sum(-2)


def mixture_variance(masses: Tensor, z: Tensor, first: Tensor, second: Tensor) -> Tensor:
    r"""Variance `(*, e)` of a mixture with mean :math:`m`, without cancellation.

    .. math:: \sum_k \gamma_k (E_k[(y - z_k)^2] + 2 (z_k - m) E_k[y - z_k] + (z_k - m)^2)

    Arguments:
        masses: masses of the components, `(*, K)`.
        z: their atoms, `(*, K, e)`.
        first: their means of `y - z`, `(*, K, e)`.
        second: their means of its squares, `(*, K, e)`.
    """
    apart = z - mixture_mean(masses, z, first, second)[..., None, :]
    square = second + 2 * apart * first + apart**2
    return (_shares(masses) * square).sum(-2).clamp_min(0)


def _shares(masses: Tensor) -> Tensor:
    """Masses `(*, K, 1)` with sum 1: in float32 they have it within rounding only."""
    return (masses / masses.sum(-1, keepdim=True))[..., None]
