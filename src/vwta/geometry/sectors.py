r"""Integrals over the sectors between an atom and the edges of its cell.

In polar coordinates around the atom, a kernel's mass in a cell is a sum over edges,

.. math:: V = \frac{1}{2 \pi} \sum_e \int_{s_1}^{s_2} F_h(w(s)) \frac{d\varphi}{ds} ds,
    \qquad \frac{d\varphi}{ds} = \frac{a}{w (2 - c w)},

with the spread :math:`w` of the edge's points and :math:`c` = 0 in the plane, 1 on the sphere.
:math:`F_h(w) / w` is entire, so that Gauss-Legendre nodes within reach of the kernel give it to
nearly full precision; further out :math:`F_h` is 1 and the integral is an angle. All terms are
positive: nothing cancels, whatever the size of the cell.
"""

from __future__ import annotations

__all__ = ["cell_mass", "edge_mass", "edge_masses", "sample_sectors", "sample_sphere"]

import math
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vwta.geometry.kernels import Kernel, Uniform, phi
from vwta.geometry.polygons import Edges, angle
from vwta.geometry.spaces import Sphere, unit

NODES = 24
REACH = 22.0  # exp(-REACH) is 3e-10: what the kernel has left beyond the outermost node
HALF = math.pi / 2
ROUNDS = 300  # of rejection; a sample is still open after them with probability below 1e-48


def edge_mass(edges: Edges, kernel: Kernel, curved: bool) -> Tensor:
    """Kernel mass between the atom and each edge, `(E,)`; the kernel's `h` is `(E,)` or a number.

    The mass of :class:`Uniform` is the area.
    """
    a, s1, s2 = edges.a, edges.s1, edges.s2
    if isinstance(kernel, Uniform) and not curved:
        return a * (s2 - s1) / 2
    kappa = kernel.h.to(a) ** -2  # 0 for Uniform
    limit = core(kappa, curved)
    outside = sum(angle(a, *part, curved) for part in beyond(s1, s2, limit))
    lo, hi = s1.clamp(-limit, limit), s2.clamp(-limit, limit)
    if not curved:
        return (_near_plane(a, lo, hi, kappa) + outside) / (2 * math.pi)
    s, weight = nodes(lo, hi)
    w, kappa_ = spread(edges, s, curved), kappa[..., None]
    near = (phi(kappa_ * w) / (2 - w) * weight).sum(-1)
    if bool((kappa < REACH).any()):  # beyond a quarter turn F is not 1 yet
        for part in beyond(s1, s2, limit):
            s, weight = nodes(*part)
            w = spread(edges, s, curved)
            near -= (torch.exp(-kappa_ * w) * phi(kappa_ * (2 - w)) / w * weight).sum(-1)
    mass = near * a / (2 * phi(2 * kappa)) + outside
    return mass * 2 if isinstance(kernel, Uniform) else mass / (2 * math.pi)


def _near_plane(a: Tensor, lo: Tensor, hi: Tensor, kappa: Tensor) -> Tensor:
    """Angle-weighted mass of a Gaussian between the atom and `[lo, hi]` on each line, `(E,)`.

    In place, since this is where the time goes.
    """
    x, weight = (rule.to(a) for rule in _rule())
    half = (hi - lo) / 2
    x = torch.addcmul(((hi + lo) / 2)[:, None], half[:, None], x)
    x.mul_(x).add_((a**2 + torch.finfo(a.dtype).tiny)[:, None]).mul_((kappa / 2)[..., None])
    ratio = torch.neg(x).expm1_().div_(x)
    return torch.mv(ratio, weight) * half * a * (-kappa / 2)


def cell_mass(
    points: Tensor, kernel: Kernel, edges: Edges, row: Tensor, atom: Tensor, whole: Tensor
) -> Tensor:
    """Log of the kernel's mass in cells, `(C,)`, differentiable in the points and in `kernel.h`.

    Arguments:
        points: atoms, `(B, K, e)`.
        kernel: with a bandwidth for each cell, `(C,)`.
        edges: edges of the cells.
        row: tessellation of each cell, `(C,)`.
        atom: atom of each cell, `(C,)`.
        whole: log-mass of a cell without edges, `(C,)`.
    """
    log_mass: Tensor = _CellMass.apply(points, kernel.h, edges, row, atom, whole, kernel)  # type: ignore[no-untyped-call]
    return log_mass


class _CellMass(torch.autograd.Function):
    r"""Log-mass of cells, with gradients from closed-form integrals along their edges.

    A border moves with its two atoms, and the kernel with its own. Corners need no care: their
    movement does not change the mass. In the plane, with :math:`M_i = \int s^i K_h ds` on an edge
    towards atom :math:`j`, :math:`\partial V / \partial z_j = n M_0 / 2 - \tau M_1 / 2a`, the
    cell's own atom gets the opposite, and :math:`\partial V / \partial h = -\sum_e a M_0 / h`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        points: Tensor,
        h: Tensor,
        edges: Edges,
        row: Tensor,
        atom: Tensor,
        whole: Tensor,
        kernel: Kernel,
    ) -> Tensor:
        curved = points.shape[-1] == 3
        mass = torch.zeros_like(whole)
        mass.index_add_(0, edges.cell, edge_masses(edges, kernel.at(h), curved))
        ctx.save_for_backward(points, h, mass, row, atom)
        ctx.edges, ctx.kernel, ctx.curved = edges, kernel, curved
        return torch.where(mass > 0, mass.log(), whole)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        points, h, mass, row, atom = ctx.saved_tensors
        edges, kernel, curved = ctx.edges, ctx.kernel, ctx.curved
        grad = torch.where(mass > 0, grad / mass.clamp_min(1e-300), torch.zeros_like(mass))
        scale = grad[edges.cell]
        kernel = kernel.at(h[edges.cell])
        z = points[row, atom][edges.cell]
        shared = edges.line < points.shape[1]  # the other edges lie on the domain's sides
        if curved:
            own, other = _border_sphere(edges, kernel, z)
        else:
            own, other = _border_plane(edges, kernel, shared)
        grad_points = torch.zeros_like(points)
        index = (row[edges.cell], atom[edges.cell])
        grad_points.index_put_(index, own * scale[:, None], accumulate=True)
        index = (row[edges.cell][shared], edges.line[shared])
        grad_points.index_put_(index, (other * scale[:, None])[shared], accumulate=True)
        grad_h = None
        if ctx.needs_input_grad[1] and not isinstance(kernel, Uniform):
            slope = _slope_sphere(edges, kernel) if curved else _slope_plane(edges, kernel)
            grad_h = torch.zeros_like(h).index_add_(0, edges.cell, slope * scale)
        return grad_points, grad_h, None, None, None, None, None


def sample_sectors(
    edges: Edges, kernel: Kernel, curved: bool, z: Tensor, generator: torch.Generator | None
) -> Tensor:
    r"""One point in each sector, `(E, e)`, from the kernel cut to it.

    The angle is drawn by rejection from the envelope :math:`\min(1, F'(0) w) \ge F`, of which at
    least a share of .63 (.31 on the sphere) is kept whatever the sector and the bandwidth, so that
    few rounds suffice; the spread follows by inversion.
    """
    border, across, along = (torch.empty_like(edges.a) for _ in range(3))
    todo = torch.arange(len(edges.a), device=edges.a.device)
    part = (kernel.h.expand_as(edges.a), edges.a, edges.b, edges.s1, edges.s2)
    for _ in range(ROUNDS):
        w, p, q, keep = _propose(kernel, part, curved, generator)
        done = todo[keep]
        border[done], across[done], along[done] = w[keep], p[keep], q[keep]
        again = torch.nonzero(~keep)[:, 0]
        todo = todo[again]
        h, a, b, s1, s2 = part
        part = h[again], a[again], b[again], s1[again], s2[again]
        if not len(todo):
            break
    else:
        raise RuntimeError(f"no angle found for {len(todo)} samples: their cells are not finite")
    w = kernel.spread_at(_uniform(border, generator), border, 2)[:, None]
    ray = across[:, None] * (towards(edges, z) if curved else edges.normal)
    ray = ray + along[:, None] * edges.tangent
    if not curved:
        return z + (2 * w).sqrt() * ray
    return (1 - w) * z + (w * (2 - w)).clamp_min(0).sqrt() * ray


def sample_sphere(kernel: Kernel, z: Tensor, generator: torch.Generator | None) -> Tensor:
    """One point of the whole sphere for each atom `z` `(C, 3)`."""
    turn = 2 * math.pi * _uniform(z[:, 0], generator)[:, None]
    w = kernel.spread_at(_uniform(z[:, 0], generator), torch.full_like(z[:, 0], 2.0), 2)[:, None]
    first, second = Sphere().frame(z)
    ray = turn.cos() * first + turn.sin() * second
    return (1 - w) * z + (w * (2 - w)).clamp_min(0).sqrt() * ray


def _propose(
    kernel: Kernel,
    sectors: tuple[Tensor, Tensor, Tensor, Tensor, Tensor],
    curved: bool,
    generator: torch.Generator | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Spread of a border point, its direction from the atom, and whether to keep it."""
    h, a, b, s1, s2 = sectors
    kappa = h.to(a) ** -2
    if curved:
        bend = (2 * phi(2 * kappa)).clamp_max(1.0)  # the spread at which the envelope bends
        corner = torch.acos(((1 - bend) / b.clamp_min(1e-300)).clamp_max(1.0))
        level = a / (2 * phi(2 * kappa))
    else:
        corner = (2 / kappa - a**2).clamp_min(0).sqrt().clamp_max(torch.finfo(a.dtype).max / 4)
        level = a * kappa / 2
    lo, hi = s1.clamp(-corner, corner), s2.clamp(-corner, corner)
    before, after = beyond(s1, s2, corner)
    left, right = angle(a, *before, curved), angle(a, *after, curved)
    centre = level * (hi - lo)
    if isinstance(kernel, Uniform) and not curved:
        centre = torch.ones_like(a)
    u = _uniform(a, generator) * (left + centre + right)
    inner = (u >= left) & (u <= left + centre)
    s = lo + _uniform(a, generator) * (hi - lo)
    start = torch.where(u < left, s1, after[0])
    turn = torch.where(u < left, u, u - left - centre)
    p, q = direction(a, torch.where(inner, s, start), curved)
    sin, cos = turn.sin(), turn.cos()
    p, q = torch.where(inner, p, p * cos - q * sin), torch.where(inner, q, q * cos + p * sin)
    if curved:
        w = 2 * torch.sin(torch.atan2(a, b * p) / 2) ** 2
        keep = torch.where(
            inner, phi(kappa * w) / (2 - w), w * phi(kappa * w) / (2 * phi(2 * kappa))
        )
    else:
        w = torch.where(inner, (a**2 + s**2) / 2, (a / p) ** 2 / 2)
        keep = torch.where(inner, phi(kappa * w), -torch.expm1(-kappa * w))
    return w, p, q, _uniform(a, generator) <= keep


def _border_plane(edges: Edges, kernel: Kernel, shared: Tensor) -> tuple[Tensor, Tensor]:
    """Derivative of a cell's mass by its own atom and by the atom beyond each edge, `(E, 2)`."""
    m0, m1 = _line_moments(edges, kernel)
    side = -edges.normal * m0[:, None]
    other = -side / 2 - edges.tangent * (m1 / (2 * edges.a).clamp_min(1e-300))[:, None]
    return torch.where(shared[:, None], -other, side), other


def _line_moments(edges: Edges, kernel: Kernel) -> tuple[Tensor, Tensor]:
    r"""Moments :math:`\int s^i K_h ds`, i = 0 and 1, of the kernel along each edge in the plane."""
    a, s1, s2 = edges.a, edges.s1, edges.s2
    if isinstance(kernel, Uniform):
        return s2 - s1, (s2 - s1) * (s2 + s1) / 2
    h = kernel.h
    spread = torch.erf(s2 / h / math.sqrt(2)) - torch.erf(s1 / h / math.sqrt(2))
    m0 = torch.exp(-(a**2) / (2 * h**2)) * spread / (h * math.sqrt(8 * math.pi))
    ends = (s2 - s1) * (s2 + s1) / (2 * h**2)
    nearer = torch.minimum(s1**2, s2**2)  # where the kernel is larger: nothing overflows
    m1 = -torch.exp(-(a**2 + nearer) / (2 * h**2)) * torch.expm1(-ends.abs()) * ends.sign()
    return m0, m1 / (2 * math.pi)


def _border_sphere(edges: Edges, kernel: Kernel, z: Tensor) -> tuple[Tensor, Tensor]:
    """As :func:`_border_plane`, on the sphere: tangent vectors `(E, 3)`."""
    kappa = torch.zeros_like(edges.a) if isinstance(kernel, Uniform) else kernel.h**-2
    limit = core(kappa, True)
    limit = torch.where(limit < HALF, limit, 4 * HALF)  # a wide kernel matters all along the edge
    s, weight = nodes(edges.s1.clamp(-limit, limit), edges.s2.clamp(-limit, limit))
    density = kernel.at(kernel.h[..., None]).log_density(spread(edges, s, True), 2).exp() * weight
    cos, sin = (density * s.cos()).sum(-1), (density * s.sin()).sum(-1)
    moment = edges.foot * cos[:, None] + edges.tangent * sin[:, None]
    other = -moment / (2 * edges.a).clamp_min(1e-300)[:, None]
    height = (z * moment).sum(-1, keepdim=True)
    own = -other - edges.normal * height - moment * edges.a[:, None]
    return own - (own * z).sum(-1, keepdim=True) * z, other


def _slope_plane(edges: Edges, kernel: Kernel) -> Tensor:
    """Derivative by `h` of the mass in each sector, up to terms that cancel around the cell."""
    return -edges.a * _line_moments(edges, kernel)[0] / kernel.h


def _slope_sphere(edges: Edges, kernel: Kernel) -> Tensor:
    """As :func:`_slope_plane`, on the sphere."""
    kappa = kernel.h**-2
    limit = core(kappa, True)
    near = (edges.s1.clamp(-limit, limit), edges.s2.clamp(-limit, limit))
    kappa_ = kappa[:, None]
    slope = torch.zeros_like(kappa)
    for start, end in (near, *beyond(edges.s1, edges.s2, limit)):
        s, weight = nodes(start, end)
        w = spread(edges, s, True)
        rate = w * _log_slope(kappa_ * w) - 2 * _log_slope(2 * kappa_)
        slope = slope + (rate * phi(kappa_ * w) / (2 - w) * weight).sum(-1)
    slope = slope * edges.a / (2 * phi(2 * kappa)) / (2 * math.pi)
    return slope * -2 * kernel.h**-3


def _log_slope(x: Tensor) -> Tensor:
    """Derivative of `log(phi(x))`: `1 / (e^x - 1) - 1 / x`."""
    small = x < 1e-2
    safe = torch.where(small, torch.ones_like(x), x)
    return torch.where(small, -0.5 + x / 12 - x**3 / 720, 1 / torch.expm1(safe) - 1 / safe)


def edge_masses(edges: Edges, kernel: Kernel, curved: bool, size: int = 8192) -> Tensor:
    """:func:`edge_mass` for cells' bandwidths `(C,)`, in pieces that fit into the cache."""
    parts = []
    for start in range(0, max(len(edges.a), 1), size):
        part = edges[slice(start, start + size)]
        parts.append(edge_mass(part, kernel.at(_select(kernel.h, part.cell)), curved))
    return torch.cat(parts)


def _select(h: Tensor, index: Tensor) -> Tensor:
    return h if h.dim() == 0 else h[index]


def core(kappa: Tensor, curved: bool) -> Tensor:
    """How far from its foot a line can feel the kernel; at most a quarter turn on the sphere."""
    if not curved:
        return (2 * REACH / kappa).sqrt()
    return (2 * torch.asin((REACH / 2 / kappa).sqrt().clamp_max(1.0))).clamp_max(HALF)


def beyond(s1: Tensor, s2: Tensor, limit: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
    """The two parts of `[s1, s2]` outside `[-limit, limit]`, of length 0 where there is none."""
    start = torch.maximum(s1, limit)
    return (s1, torch.maximum(s1, torch.minimum(s2, -limit))), (start, torch.maximum(start, s2))


def spread(edges: Edges, s: Tensor, curved: bool) -> Tensor:
    """Spread of the points `s` `(E, n)` of the edges' lines."""
    a, b = edges.a[:, None], edges.b[:, None]
    if curved:
        return a**2 / (1 + b) + 2 * b * torch.sin(s / 2) ** 2
    return (a**2 + s**2) / 2


def direction(a: Tensor, s: Tensor, curved: bool) -> tuple[Tensor, Tensor]:
    """Direction from the atom to a line's point, across and along the line."""
    p, q = (a * s.cos(), s.sin()) if curved else (a, s)
    r = torch.hypot(p, q).clamp_min(1e-300)
    return p / r, q / r


def towards(edges: Edges, z: Tensor) -> Tensor:
    """Unit tangent at the atom towards each line's foot, on the sphere."""
    near = edges.normal + edges.a[:, None] * z
    far = edges.foot - edges.b[:, None] * z
    tangent = torch.where((edges.a < 0.7)[:, None], near, far)
    return unit(tangent)


def nodes(lo: Tensor, hi: Tensor) -> tuple[Tensor, Tensor]:
    """Gauss-Legendre nodes and weights on intervals `(E,)`, `(E, n)` each."""
    x, weight = (rule.to(lo) for rule in _rule())
    half = (hi - lo)[:, None] / 2
    return torch.addcmul((hi + lo)[:, None] / 2, half, x), half * weight


@cache
def _rule() -> tuple[Tensor, Tensor]:
    x, weight = np.polynomial.legendre.leggauss(NODES)
    return torch.from_numpy(x), torch.from_numpy(weight)


def _uniform(like: Tensor, generator: torch.Generator | None) -> Tensor:
    return torch.rand(like.shape, dtype=like.dtype, device=like.device, generator=generator)
