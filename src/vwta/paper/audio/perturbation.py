r"""Noise on directions that depends on the class of the sound, with its exact law on the sphere.

Azimuth and elevation :math:`(a_0, e_0)` get independent Gaussian noise of the class's scale
:math:`\sigma`, and the result :math:`u = (\cos a \cos e, \sin a \cos e, \sin e)` is a unit vector
whatever the noise: azimuths wrap, and elevations beyond a pole come down on its other side. So a
point with azimuth :math:`\alpha` and elevation :math:`\varepsilon` is reached from
:math:`(\alpha + 2 \pi m, \varepsilon + 2 \pi n)` and, over a pole, from
:math:`(\alpha + \pi + 2 \pi m, \pi - \varepsilon + 2 \pi n)`. With the wrapped Gaussian

.. math:: W(x) = \sum_m \mathcal{N}(x + 2 \pi m; 0, \sigma^2)

and :math:`\cos \varepsilon`, the area of a unit of both angles, the density by area is

.. math:: p(u) = \frac{W(\alpha - a_0) W(\varepsilon - e_0)
    + W(\alpha + \pi - a_0) W(\pi - \varepsilon - e_0)}{\cos \varepsilon}

It has no bound at the poles, but integrates to 1.
"""

from __future__ import annotations

__all__ = ["Perturbation"]

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from vwta.geometry.angles import from_angles, to_angles
from vwta.paper.audio.ansyn import CLASSES


class Perturbation:
    """Noise on the directions of sounds that depends on their class.

    Arguments:
        degrees: standard deviation on azimuth and on elevation for each class, positive.

    Example:
        >>> noise = Perturbation(dict.fromkeys(CLASSES, 10.0))
        >>> east, knock = torch.tensor([0.0, 1.0, 0.0]), torch.tensor(CLASSES.index("knock"))
        >>> noise.log_density(east, east, knock)  # -log(2 pi sigma^2)
        tensor(1.6534)
    """

    def __init__(self, degrees: Mapping[str, float]) -> None:
        if set(degrees) != set(CLASSES):
            different = ", ".join(sorted(set(degrees) ^ set(CLASSES)))
            raise ValueError(f"noise needs one scale for each class; check {different}")
        for kind, scale in degrees.items():
            if not (math.isfinite(scale) and scale > 0):
                raise ValueError(f"the noise of {kind} must be positive and finite, found {scale}")
        self.scales = torch.deg2rad(
            torch.tensor([degrees[kind] for kind in CLASSES], dtype=torch.float64)
        )

    def draw(self, direction: Tensor, kind: Tensor, generator: torch.Generator) -> Tensor:
        """Draws noise for each direction.

        Arguments:
            direction: unit vectors, with shape `(*, 3)`.
            kind: indices of classes, with shape `(*)`; directions with a negative one are kept.
            generator: source of randomness, on the CPU.

        Returns:
            Unit vectors, with shape `(*, 3)`.
        """
        noise = torch.randn((*kind.shape, 2), generator=generator, dtype=direction.dtype)
        noise = noise.to(direction.device) * self._scale(kind, direction).unsqueeze(-1)
        moved = from_angles(to_angles(direction) + noise)
        return torch.where((kind >= 0).unsqueeze(-1), moved, direction)

    def log_density(self, y: Tensor, direction: Tensor, kind: Tensor) -> Tensor:
        """Log-density by area of the perturbed direction.

        Arguments:
            y: where it is evaluated, unit vectors with shape `(*, 3)`.
            direction: directions before noise, with shape `(*, 3)`, broadcast against y.
            kind: indices of classes, with shape `(*)`; none negative.

        Returns:
            The log-densities, with shape `(*)`.
        """
        scale = self._scale(kind, y)
        alpha, epsilon = to_angles(y).unbind(-1)
        azimuth, elevation = to_angles(direction).unbind(-1)
        cosine = torch.hypot(y[..., 0], y[..., 1]).clamp_min(torch.finfo(y.dtype).tiny)
        return _log_torus(alpha - azimuth, epsilon, elevation, scale) - cosine.log()

    def mean(self, direction: Tensor, kind: Tensor) -> Tensor:
        r"""Mean of the perturbed direction, a vector within the ball.

        .. math:: E[u] = (e^{-\sigma^2} \cos a_0 \cos e_0, e^{-\sigma^2} \sin a_0 \cos e_0,
            e^{-\sigma^2 / 2} \sin e_0)

        Arguments:
            direction: directions before noise, with shape `(*, 3)`.
            kind: indices of classes, with shape `(*)`; none negative.

        Returns:
            The means, with shape `(*, 3)`.
        """
        shrunk = (-self._scale(kind, direction).unsqueeze(-1).square() / 2).exp()
        return direction * torch.cat([shrunk.square(), shrunk.square(), shrunk], -1)

    def entropy(self, direction: Tensor, kind: Tensor) -> Tensor:
        r"""Differential entropy by area: no estimator of the law has a smaller expected NLL.

        With :math:`g = p \cos \varepsilon`, the law of both angles, it is
        :math:`-\int g \log g + E[\log \cos \varepsilon]`. The integral is a sum over a grid, exact
        up to rounding as g is periodic and smooth, and the mean has the series
        :math:`-\log 2 - \sum_k (-1)^k e^{-2 k^2 \sigma^2} \cos(2 k e_0) / k`.

        Arguments:
            direction: directions before noise, with shape `(*, 3)`.
            kind: indices of classes, with shape `(*)`; none negative.

        Returns:
            The entropies in nats, with shape `(*)`.
        """
        elevation = to_angles(direction.double())[..., 1].expand(kind.shape)
        # Scenes have few elevations and classes: each pair is computed once.
        pairs = torch.stack([(elevation * 1e6).round(), kind.double()], -1).reshape(-1, 2)
        different, place = pairs.unique(dim=0, return_inverse=True)
        values = [
            _entropy(number / 1e6, float(self.scales[int(which)]))
            for number, which in different.tolist()
        ]
        return direction.new_tensor(values)[place].reshape(kind.shape)

    def _scale(self, kind: Tensor, like: Tensor) -> Tensor:
        return self.scales.to(like)[kind.clamp_min(0)]


def _log_wrapped(x: Tensor, scale: Tensor) -> Tensor:
    """Log of the wrapped Gaussian W at angles `(*)`, for scales `(*)`, up to tails of e^-32."""
    turns = math.ceil(8 * float(scale.max()) / (2 * math.pi)) if scale.numel() else 0
    x = torch.remainder(x + math.pi, 2 * math.pi) - math.pi
    shift = 2 * math.pi * torch.arange(-turns, turns + 1, dtype=x.dtype, device=x.device)
    terms = -(((x.unsqueeze(-1) + shift) / scale.unsqueeze(-1)) ** 2) / 2
    return terms.logsumexp(-1) - scale.log() - math.log(2 * math.pi) / 2


def _log_torus(turn: Tensor, epsilon: Tensor, elevation: Tensor, scale: Tensor) -> Tensor:
    """Log of g, the law of both angles: `turn` is the azimuth from that of the source."""
    near = _log_wrapped(turn, scale) + _log_wrapped(epsilon - elevation, scale)
    over = _log_wrapped(turn + math.pi, scale) + _log_wrapped(math.pi - epsilon - elevation, scale)
    return torch.logaddexp(near, over)


def _entropy(elevation: float, scale: float) -> float:
    """Entropy for one elevation and scale, in radians."""
    nodes = 2 * max(64, math.ceil(4 * math.pi / scale))
    step = 2 * math.pi / nodes
    circle = step * torch.arange(nodes, dtype=torch.float64)
    width, middle = circle.new_tensor(scale), circle.new_tensor(elevation)
    log_g = _log_torus(circle[:, None], circle, middle, width)
    k = torch.arange(1, max(8, math.ceil(5 / scale)), dtype=torch.float64)
    series = (-1) ** k * (-2 * (k * scale) ** 2).exp() * (2 * k * elevation).cos() / k
    # The torus covers the sphere twice.
    on_torus = -(log_g.exp() * log_g).sum() * step**2 / 2
    return float(on_torus - math.log(2) - series.sum())
