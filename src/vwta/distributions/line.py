r"""Laws on the real line: masses of intervals, in log space and without cancellation.

All laws here are sums of *truncated kernels*: each is a kernel around an atom, cut at a distance to
the left and one to the right:

.. math:: p(y) = \sum_i \gamma_i \frac{K_h(z_i, y)}{V_i} 1[-l_i \leq y - z_i \leq r_i],
    \qquad V_i = \int_{-l_i}^{r_i} K_h(0, t) dt

Uncut kernels reach to infinity, cells of a Voronoi mixture end midway to the next atom or at the
side of the box, and an average of laws has the truncated kernels of all of them. Where the kernels
of a Voronoi mixture have centres of their own, these take the place of the atoms.

Masses and distribution functions are also there for laws that an increasing map carries to a
Gaussian (:class:`~vwta.distributions.transported.Transported`), and for averages of these.
"""

from __future__ import annotations

__all__ = [
    "TruncatedKernels",
    "cdf",
    "log_mass_between",
    "transported_laws",
    "truncated_kernels",
]

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.atoms import broadcast_shapes, safe_log
from vwta.distributions.average import Average
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.distributions.transported import Transported
from vwta.geometry.intervals import log_gaussian
from vwta.geometry.memory import in_parts, slices
from vwta.geometry.spaces import Box


class TruncatedKernels(NamedTuple):
    """A law on the line as P kernels around atoms, each cut on both sides, in float64, `(*, P)`.

    Arguments:
        points: centres of the kernels.
        h: bandwidths; infinite for uniform kernels.
        left: how far each kernel reaches to the left of its centre; may be infinite, and negative
            where the centre lies beside its cell.
        right: likewise to the right.
        masses: their masses, with sum 1 over P.
    """

    points: Tensor
    h: Tensor
    left: Tensor
    right: Tensor
    masses: Tensor

    def log_mass_between(self, low: Tensor, high: Tensor) -> Tensor:
        """Log of the mass of each kernel between numbers that broadcast against `(*, P)`."""
        lower = torch.maximum(low - self.points, -self.left)
        upper = torch.minimum(high - self.points, self.right)
        whole = (lower > -self.left) & (upper < self.right)
        width = torch.where(whole, high - low, upper - lower)
        inside = log_gaussian(lower / self.h, upper / self.h, width / self.h)
        inside = torch.where(self.h.isinf(), torch.log(width), inside)
        inside = torch.where((width <= 0) | (low >= high), -math.inf, inside)
        return safe_log(self.masses) + (inside - self._log_total())

    def mass_below(self, y: Tensor) -> Tensor:
        """Mass of each kernel below numbers that broadcast against `(*, P)`."""
        apart = torch.minimum(torch.maximum(y - self.points, -self.left), self.right)
        if self._beside().any():
            share = self.log_mass_between(torch.full_like(apart, -math.inf), y).exp()
            return torch.where(self.masses > 0, share, 0.0)
        left, right = self._measure(self.left), self._measure(self.right)
        return (self._measure(apart) + left) * (self.masses / (left + right))

    def _beside(self) -> Tensor:
        """Which kernels have their centres beside their cells."""
        return (self.left < 0) | (self.right < 0)

    def _log_total(self) -> Tensor:
        """Log of the mass that the cut leaves of each kernel."""
        total = torch.log(self._measure(self.left) + self._measure(self.right))
        beside = self._beside()
        if not beside.any():
            return total
        width = (self.left + self.right) / self.h
        return torch.where(
            beside, log_gaussian(-self.left / self.h, self.right / self.h, width), total
        )

    def _measure(self, reach: Tensor) -> Tensor:
        """Mass of the uncut kernel from 0 to `reach`, with its sign; the length if uniform."""
        mass = torch.erf(reach * (math.sqrt(0.5) / self.h)) / 2
        return torch.where(self.h.isinf(), reach, mass)


def truncated_kernels(law: Distribution) -> TruncatedKernels:
    """The truncated kernels whose sum is a law on the line, `(*, P)`; they have no gradients.

    Masses are brought to a sum of 1 in float64: in float32 they have it within rounding only.

    Arguments:
        law: a :class:`KernelMixture`, a :class:`VoronoiMixture` or an :class:`Average` of such, of
            event shape `(1,)`.
    """
    if tuple(law.event_shape) != (1,):
        raise ValueError(
            f"law has event shape {tuple(law.event_shape)}, expected (1,): only laws on the line "
            "have a distribution function"
        )
    if isinstance(law, Average):
        first, *others = zip(*(truncated_kernels(each) for each in law.laws), strict=True)
        together = TruncatedKernels(*(torch.cat(part, -1) for part in (first, *others)))
        if law.weights is None:
            return together._replace(masses=together.masses / len(law.laws))
        pairs = zip(law.weights, first, strict=True)
        weights = [weight for weight, part in pairs for _ in range(part.shape[-1])]
        return together._replace(masses=together.masses * together.masses.new_tensor(weights))
    if isinstance(law, VoronoiMixture):
        return _cut(law)
    if isinstance(law, KernelMixture):
        z, h, masses = _atoms(law)
        endless = torch.full_like(z, math.inf)
        return TruncatedKernels(z, h, endless, endless, masses)
    raise TypeError(
        f"{type(law).__name__}: expected a KernelMixture, a VoronoiMixture or an Average of such"
    )


def transported_laws(law: Distribution) -> tuple[Transported, ...]:
    """The law on the line itself, or those that it is an average of, if all are transported."""
    laws = law.laws if isinstance(law, Average) else (law,)
    found = tuple(each for each in laws if isinstance(each, Transported))
    return found if len(found) == len(laws) else ()


def log_mass_between(law: Distribution, low: Tensor | float, high: Tensor | float) -> Tensor:
    r"""Log of a law's mass in intervals, :math:`\log \int_{low}^{high} p(y) dy`, in float64.

    It does not cancel: it has all digits far from every atom and for the shortest intervals. Where
    `low >= high` it is -inf.

    Arguments:
        law: law on the line, see :func:`truncated_kernels` and :func:`transported_laws`.
        low: lower ends, `(*)`, which broadcast against the batch shape; may be infinite. They have
            no event axis, unlike the argument of `log_prob`.
        high: upper ends, likewise.

    Example:
        >>> from vwta import Gaussian
        >>> law = KernelMixture(torch.zeros(1, 1), torch.ones(1), Gaussian(0.1))
        >>> log_mass_between(law, 4.0, 5.0)  # 40 standard deviations away
        tensor(-804.6084, dtype=torch.float64)
    """
    transported = transported_laws(law)
    if transported:
        terms = [_log_transported(each, low, high) for each in transported]
        return torch.logsumexp(torch.stack(terms), 0) - math.log(len(terms))
    kernels = truncated_kernels(law)
    like = kernels.points
    low, high = (
        torch.as_tensor(x, dtype=like.dtype, device=like.device).detach() for x in (low, high)
    )
    size = like.shape[-1] * 3 * like.element_size()
    return in_parts(_log_mass_between, (low, high, *kernels), (0, 0, *(1 for _ in kernels)), size)


def cdf(law: Distribution, y: Tensor | float) -> Tensor:
    r"""Distribution function :math:`F(y) = \int_{-\infty}^y p(t) dt`, in float64.

    Arguments:
        law: law on the line, see :func:`truncated_kernels` and :func:`transported_laws`.
        y: numbers, `(*)`, which broadcast against the batch shape, without an event axis.

    Example:
        >>> from vwta import Uniform
        >>> points, masses = torch.tensor([[-0.5], [0.5]]), torch.tensor([0.25, 0.75])
        >>> law = VoronoiMixture(points, masses, Uniform(), Box(-1.0, 1.0))
        >>> cdf(law, torch.tensor([-0.5, 0.0, 0.5]))
        tensor([0.1250, 0.2500, 0.6250], dtype=torch.float64)
    """
    if isinstance(law, Average):
        return law.mean_of(torch.stack([cdf(each, y) for each in law.laws]))
    if isinstance(law, Transported):
        return law.cdf(torch.as_tensor(y)).detach().double()
    if isinstance(law, VoronoiMixture):
        return _cdf_of_cells(truncated_kernels(law), y)
    return log_mass_between(law, -math.inf, y).exp()


def _cdf_of_cells(kernels: TruncatedKernels, y: Tensor | float) -> Tensor:
    """Mass below numbers of cells that stand in order: all cells before, and part of one.

    The cell is found by bisection, so that many numbers cost little more than few cells.
    """
    z = kernels.points
    y = torch.as_tensor(y, dtype=z.dtype, device=z.device).detach()
    shape, batch, count = broadcast_shapes(y.shape, z.shape[:-1]), z.shape[:-1], z.shape[-1]
    if batch.numel() > 1:  # one law is asked for all numbers at once
        batch = shape[len(shape) - len(batch) :]
    rows = TruncatedKernels(*(x.expand(*batch, count).reshape(-1, count) for x in kernels))
    numbers = y.expand(shape).reshape(shape.numel() // max(batch.numel(), 1), batch.numel())
    ends = (rows.points + rows.right).cummax(-1).values  # atoms that are repeated come last
    before = torch.cat([torch.zeros_like(ends[:, :1]), rows.masses.cumsum(-1)[:, :-1]], -1)
    found = []
    for part in slices(len(numbers), 160 * batch.numel() + 1):
        here = numbers[part].T.contiguous()
        cell = torch.searchsorted(ends, here).clamp_max(count - 1)
        kernel = TruncatedKernels(*(x.gather(-1, cell) for x in rows))
        within = kernel.log_mass_between(torch.full_like(here, -math.inf), here).exp()
        found.append((before.gather(-1, cell) + within).clamp_max(1).T)
    return torch.cat(found).reshape(shape)


def _log_mass_between(low: Tensor, high: Tensor, *kernels: Tensor) -> Tensor:
    """Log of the mass of truncated kernels `(*, P)` between numbers `(*)`, summed over P."""
    each = (TruncatedKernels(*x) for x in zip(*(x.unbind(-1) for x in kernels), strict=True))
    terms = [kernel.log_mass_between(low, high) for kernel in each]  # one by one: little memory
    return torch.logsumexp(torch.stack(terms), 0).clamp_max(0)


def _log_transported(law: Transported, low: Tensor | float, high: Tensor | float) -> Tensor:
    """Log of the mass of a law between numbers, from that of the Gaussian between their images."""
    a, b = (law.to_normal(torch.as_tensor(y))[0].detach().double() for y in (low, high))
    inside = log_gaussian(a, b, b - a)
    return torch.where(b > a, inside, -math.inf)


def _atoms(law: KernelMixture | VoronoiMixture) -> tuple[Tensor, Tensor, Tensor]:
    """Atoms, bandwidths and masses in float64, `(*, K)`."""
    shape = (*law.batch_shape, law.components)
    z = law.points[..., 0].detach().to(torch.float64).expand(shape)
    h, masses = law.kernel.h.detach().to(z).expand(shape), law.masses.detach().to(z).expand(shape)
    return z, h, masses / masses.sum(-1, keepdim=True)


def _cut(law: VoronoiMixture) -> TruncatedKernels:
    """Cells on the line from left to right, then those of repeated atoms, which have mass 0."""
    assert isinstance(law.space, Box)
    z, h, masses = _atoms(law)
    low, high = law.space.bounds(z[..., None])
    z, order = torch.sort(torch.clamp(z, low, high), stable=True)
    new = torch.ones_like(z, dtype=torch.bool)
    new[..., 1:] = z.diff() > 0
    masses = torch.zeros_like(z).scatter_add(-1, new.cumsum(-1) - 1, masses.gather(-1, order))
    cells = torch.argsort((~new).to(torch.uint8), stable=True)
    z, h, used = z.gather(-1, cells), h.gather(-1, order).gather(-1, cells), new.gather(-1, cells)
    halfway = z.diff() / 2
    left, right = z - low, high - z
    left[..., 1:] = halfway
    right[..., :-1] = torch.where(used[..., 1:], halfway, right[..., :-1])
    left, right = (torch.where(used, reach, 1.0) for reach in (left, right))
    if law.centres is None:
        return TruncatedKernels(z, h, left, right, masses)
    c = law.centres[..., 0].detach().to(z).expand(z.shape).gather(-1, order).gather(-1, cells)
    c = torch.where(used, c, z)
    return TruncatedKernels(c, h, left + (c - z), right - (c - z), masses)
