r"""Numbers that sum up a law: quantiles and entropy on the line, the mode anywhere.

They have no gradients.
"""

from __future__ import annotations

__all__ = ["entropy", "mode", "quantile"]

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.average import Average
from vwta.distributions.joining import cell_peaks
from vwta.distributions.line import TruncatedKernels, truncated_kernels
from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.memory import slices

NODES, WEIGHTS = (x / 2 for x in np.polynomial.legendre.leggauss(8))  # Gauss, on [-1/2, 1/2]
# Places from the centre of a kernel, in bandwidths, between which densities are smooth.
BENDS = (-9.0, -5.0, -3.0, -1.5, -0.5, 0.0, 0.5, 1.5, 3.0, 5.0, 9.0)
REACH = 9.0  # bandwidths beyond which an uncut Gaussian has no mass in float64
HALVINGS = 70  # of the interval that has a quantile
HAIR = 1e-9  # of a width: how far inside its cell a peak on the border is given
SHRINKS = 40  # of the steps of the search for a mode


@torch.no_grad()
def quantile(law: Distribution, q: Tensor | float) -> Tensor:
    r"""Quantiles :math:`F^{-1}(q)` of laws on the line, by bisection, in float64.

    Arguments:
        law: law on the line, see :func:`~vwta.distributions.line.truncated_kernels`.
        q: probabilities in [0, 1], which broadcast against the batch shape, `(*)`. For 0 and 1 the
            result is an end of the support, or a point beyond which no mass is left in float64.

    Example:
        >>> from vwta import Gaussian, KernelMixture
        >>> quantile(KernelMixture(torch.zeros(1, 1), torch.ones(1), Gaussian(2.0)), 0.975)
        tensor(3.9199, dtype=torch.float64)
    """
    kernels = truncated_kernels(law)
    q = torch.as_tensor(q, dtype=kernels.points.dtype, device=kernels.points.device)
    if not ((q >= 0) & (q <= 1)).all():
        raise ValueError(f"q must lie between 0 and 1, found {q.min():g} to {q.max():g}")
    shape = torch.broadcast_shapes(q.shape, kernels.points.shape[:-1])
    count = kernels.points.shape[-1]
    flat = TruncatedKernels(*(x.expand(*shape, count).reshape(-1, count) for x in kernels))
    asked = q.expand(shape).reshape(-1)
    parts = [
        _bisect(TruncatedKernels(*(x[part] for x in flat)), asked[part])
        for part in slices(len(asked), 64 * count)
    ]
    return torch.cat([asked[:0], *parts]).view(shape)


@torch.no_grad()
def entropy(law: Distribution) -> Tensor:
    r"""Differential entropy :math:`-\int p \log p` of laws on the line, by quadrature, in nats.

    Gauss-Legendre quadrature between the places where the density bends, to about 1e-6.

    Arguments:
        law: law on the line, of batch shape `(n,)`; see
            :func:`~vwta.distributions.line.truncated_kernels`.

    Example:
        >>> from vwta import Gaussian, KernelMixture
        >>> entropy(KernelMixture(torch.zeros(1, 1, 1), torch.ones(1, 1), Gaussian(1.0)))
        tensor([1.4189], dtype=torch.float64)
    """
    kernels = truncated_kernels(law)
    ends = _bends(kernels).flatten(-2).sort(-1).values
    width, middle = ends.diff(), (ends[..., 1:] + ends[..., :-1]) / 2
    total = torch.zeros_like(kernels.points[..., 0])
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        y = (middle + float(node) * width).movedim(-1, 0)
        log_density = law.log_prob(y.unsqueeze(-1).to(kernels.points)).movedim(0, -1).double()
        density = log_density.exp()
        terms = torch.where(density > 0, density * log_density, 0.0)
        total -= float(weight) * (terms * width).sum(-1)
    return total


@torch.no_grad()
def mode(law: Distribution, project: Callable[[Tensor], Tensor] = lambda y: y) -> Tensor:
    """Where the density is highest, `(*, e)`: the best peak of a kernel, or the end of a search.

    A cut kernel is highest at its centre, or where its cell is nearest to it: for a
    :class:`VoronoiMixture` the best of these is the mode. Elsewhere a compass search goes uphill
    from there, in steps that shrink by half.

    Arguments:
        law: a mixture of atoms, or an average of such.
        project: brings a point back to the domain, such as that of a `Sphere`.

    Example:
        >>> from vwta import Gaussian, KernelMixture
        >>> points = torch.tensor([[0.0], [1.0], [9.0]], dtype=torch.float64)
        >>> mode(KernelMixture(points, torch.tensor([0.3, 0.3, 0.4]), Gaussian(1.0)))
        tensor([0.5000], dtype=torch.float64)
    """
    atoms = _peaks(law)
    best, height = atoms[..., 0, :], law.log_prob(atoms[..., 0, :])
    for index in range(1, atoms.shape[-2]):
        best, height = _higher(law, best, height, atoms[..., index, :])
    if isinstance(law, VoronoiMixture):
        return best
    step = law.variance.sum(-1, keepdim=True).sqrt()
    for _ in range(SHRINKS):
        before = height
        for axis in torch.eye(best.shape[-1], dtype=best.dtype, device=best.device):
            for sign in (1.0, -1.0):
                best, height = _higher(law, best, height, project(best + sign * step * axis))
        step = torch.where((height > before)[..., None], step, step / 2)
    return best


def _peaks(law: Distribution) -> Tensor:
    """Where each kernel is highest within its cut, `(*, P, e)`; a hair's breadth inside."""
    if tuple(law.event_shape) == (1,):
        centre, h, left, right, _ = truncated_kernels(law)
        inside = HAIR * torch.minimum(left + right, h)
        beside = torch.where(right < 0, right - inside, torch.where(left < 0, inside - left, 0.0))
        return (centre + beside)[..., None]
    atoms = torch.cat([each.points for each in _members(law)], -2)
    if not isinstance(law, VoronoiMixture) or law.space.dim(atoms.shape[-1]) != 2:
        return atoms
    shape = (*law.batch_shape, *atoms.shape[-2:])
    flat = atoms.double().expand(shape).reshape(-1, *shape[-2:])
    return cell_peaks(law, flat).to(atoms).view(shape)


def _higher(
    law: Distribution, best: Tensor, height: Tensor, other: Tensor
) -> tuple[Tensor, Tensor]:
    """The better of two points of each row, and the log-density there."""
    value = law.log_prob(other)
    better = value > height
    return torch.where(better[..., None], other, best), torch.where(better, value, height)


def _members(law: Any) -> Iterator[Any]:
    if isinstance(law, Average):
        for each in law.laws:
            yield from _members(each)
    else:
        yield law


def _bends(kernels: TruncatedKernels) -> Tensor:
    """Places between which each kernel is smooth, `(*, P, bends)`."""
    z, left, right = (x[..., None] for x in (kernels.points, kernels.left, kernels.right))
    h = kernels.h.clamp_max(torch.finfo(z.dtype).max / 10)[..., None]
    nearest = torch.minimum((-left).clamp_min(0), right)  # to the centre, within the cut
    return z + torch.minimum(torch.maximum(nearest + z.new_tensor(BENDS) * h, -left), right)


def _bisect(kernels: TruncatedKernels, q: Tensor) -> Tensor:
    """Quantiles `(n,)` of truncated kernels `(n, P)`."""
    reach = (REACH * kernels.h).nan_to_num(posinf=math.inf)
    present = kernels.masses > 0
    ends = (  # a centre may lie beside its cell
        torch.minimum(kernels.left, reach + (-kernels.right).clamp_min(0)),
        torch.minimum(kernels.right, reach + (-kernels.left).clamp_min(0)),
    )
    low = torch.where(present, kernels.points - ends[0], math.inf).amin(-1)
    high = torch.where(present, kernels.points + ends[1], -math.inf).amax(-1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = kernels.mass_below(middle[:, None]).sum(-1) < q
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return (low + high) / 2
