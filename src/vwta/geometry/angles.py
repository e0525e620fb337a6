"""Angles on the unit sphere: azimuth and elevation of directions, and angles between them."""

from __future__ import annotations

__all__ = ["angle_between", "from_angles", "from_degrees", "to_angles"]

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor


def from_angles(angles: Tensor) -> Tensor:
    """Unit vectors `(*, 3)` of azimuths and elevations `(*, 2)` in radians, of any size.

    Example:
        >>> from_angles(torch.tensor([torch.pi / 2, 0.0])).round(decimals=6).abs()
        tensor([0., 1., 0.])
    """
    a, e = angles.unbind(-1)
    return torch.stack([a.cos() * e.cos(), a.sin() * e.cos(), e.sin()], -1)


def from_degrees(azimuth: ArrayLike, elevation: ArrayLike) -> NDArray[np.float64]:
    """Unit vectors `(*, 3)` of azimuths and elevations `(*)` in degrees, as arrays of numpy.

    Example:
        >>> from_degrees(90, 0).round(6)
        array([0., 1., 0.])
    """
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    return np.stack([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e) + 0 * a], -1)


def to_angles(vectors: Tensor) -> Tensor:
    """Azimuth and elevation in radians, `(*, 2)`, of vectors `(*, 3)`; azimuth 0 at the poles."""
    x, y, z = vectors.unbind(-1)
    return torch.stack([torch.atan2(y, x), torch.atan2(z, torch.hypot(x, y))], -1)


def angle_between(a: Tensor, b: Tensor) -> Tensor:
    r"""Angle between unit vectors, :math:`2 \, \mathrm{atan2}(|a - b|, |a + b|)`, shape `(*)`.

    It is :math:`\arccos a \cdot b`, but keeps its digits near 0 and :math:`\pi`. Its gradient is
    tangent to the sphere and has length 1, except at 0 and :math:`\pi`, where it is 0.

    Arguments:
        a: unit vectors, with shape `(*, 3)`.
        b: likewise.

    Example:
        >>> angle_between(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
        tensor(1.5708)
    """
    apart = torch.linalg.vector_norm(a - b, dim=-1)
    return 2 * torch.atan2(apart, torch.linalg.vector_norm(a + b, dim=-1))
