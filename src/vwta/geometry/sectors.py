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

__all__ = ["cell_mass", "direction", "sample_sectors", "sector_masses"]

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vwta.geometry.kernels import Kernel, Uniform
from vwta.geometry.quadrature import beyond, within
from vwta.geometry.surfaces import Edges, Surface

ROUNDS = 300  # of rejection; a sample is still open after them with probability below 1e-48


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
    """Log-mass of cells, with gradients from integrals along their edges.

    A border moves with its two atoms, and the kernel with its own. Corners need no care: their
    movement does not change the mass.
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
        mass = torch.zeros_like(whole)
        mass.index_add_(0, edges.cell, sector_masses(edges, kernel.at(h)))
        ctx.save_for_backward(points, h, mass, row, atom)
        ctx.edges, ctx.kernel = edges, kernel
        return torch.where(mass > 0, mass.log(), whole)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        points, h, mass, row, atom = ctx.saved_tensors
        edges, surface = ctx.edges, ctx.edges.surface
        grad = torch.where(mass > 0, grad / mass.clamp_min(1e-300), torch.zeros_like(mass))
        scale = grad[edges.cell]
        kernel = ctx.kernel.at(h[edges.cell])
        z = points[row, atom][edges.cell]
        shared = edges.line < points.shape[1]  # the other edges lie on the domain's sides
        own, other = surface.mass_by_atoms(edges, kernel, z, shared)
        grad_points = torch.zeros_like(points)
        index = (row[edges.cell], atom[edges.cell])
        grad_points.index_put_(index, own * scale[:, None], accumulate=True)
        index = (row[edges.cell][shared], edges.line[shared])
        grad_points.index_put_(index, (other * scale[:, None])[shared], accumulate=True)
        grad_h = None
        if ctx.needs_input_grad[1] and not isinstance(kernel, Uniform):
            slope = surface.mass_by_bandwidth(edges, kernel)
            grad_h = torch.zeros_like(h).index_add_(0, edges.cell, slope * scale)
        return grad_points, grad_h, None, None, None, None, None


def sector_masses(edges: Edges, kernel: Kernel, size: int = 8192) -> Tensor:
    """Kernel mass in the sector of each edge, `(E,)`; `size` sectors at once fit into the cache.

    The kernel's `h` is a number, or `(C,)` with one value for each cell.
    """
    parts = []
    for start in range(0, max(len(edges.a), 1), size):
        part = edges[slice(start, start + size)]
        h = kernel.h if kernel.h.dim() == 0 else kernel.h[part.cell]
        parts.append(edges.surface.sector_mass(part, kernel.at(h)))
    return torch.cat(parts)


def sample_sectors(
    edges: Edges, kernel: Kernel, z: Tensor, generator: torch.Generator | None
) -> Tensor:
    r"""One point in each sector, `(E, e)`, from the kernel cut to it.

    The angle is drawn by rejection from the bound :math:`\min(1, F'(0) w) \ge F`, of which at
    least a share of .63 (.31 on the sphere) is accepted whatever the sector and the bandwidth, so
    that few rounds suffice; the spread follows by inversion.

    Arguments:
        edges: edges of the sectors.
        kernel: its `h` is `(E,)` or a number.
        z: atoms of the sectors, `(E, e)`.
        generator: source of randomness; torch's own if None.
    """
    surface = edges.surface
    border, across, along = (torch.empty_like(edges.a) for _ in range(3))
    todo = torch.arange(len(edges.a), device=edges.a.device)
    part = (kernel.h.expand_as(edges.a), edges.a, edges.b, edges.s1, edges.s2)
    for _ in range(ROUNDS):
        w, p, q, accepted = _propose(surface, *part, generator)
        done = todo[accepted]
        border[done], across[done], along[done] = w[accepted], p[accepted], q[accepted]
        again = torch.nonzero(~accepted)[:, 0]
        todo = todo[again]
        h, a, b, s1, s2 = part
        part = h[again], a[again], b[again], s1[again], s2[again]
        if not len(todo):
            break
    else:
        raise RuntimeError(
            f"no angle found for {len(todo)} samples, the first around the point "
            f"{z[todo[0]].tolist()}: points, domain and bandwidth must be finite"
        )
    w = kernel.spread_at(_uniform(border, generator), border, 2)[:, None]
    ray = across[:, None] * surface.outward(edges, z)
    ray = ray + along[:, None] * edges.tangent
    return surface.move(z, ray, w)


def _propose(
    surface: Surface,
    h: Tensor,
    a: Tensor,
    b: Tensor,
    s1: Tensor,
    s2: Tensor,
    generator: torch.Generator | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Spread of a border point, its direction from the atom, and whether to accept it."""
    kappa = h.to(a) ** -2
    bend, level = surface.envelope(kappa, a, b)
    start, end = within(s1, s2, bend)
    before, after = beyond(s1, s2, bend)
    left, right = surface.angle(a, *before), surface.angle(a, *after)
    centre = level * (end - start)
    u = _uniform(a, generator) * (left + centre + right)
    inner = (u >= left) & (u <= left + centre)
    s = start + _uniform(a, generator) * (end - start)
    outer = torch.where(u < left, s1, after[0])
    turn = torch.where(u < left, u, u - left - centre)
    p, q = direction(surface, a, torch.where(inner, s, outer))
    sin, cos = turn.sin(), turn.cos()
    p, q = torch.where(inner, p, p * cos - q * sin), torch.where(inner, q, q * cos + p * sin)
    w, share = surface.acceptance(kappa, a, b, s, p, inner)
    return w, p, q, _uniform(a, generator) <= share


def direction(surface: Surface, a: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """Unit direction from the atom to the point `s` of a line, across it and along it."""
    p, q = surface.bearing(a, s)
    r = torch.hypot(p, q).clamp_min(1e-300)
    return p / r, q / r


def _uniform(like: Tensor, generator: torch.Generator | None) -> Tensor:
    return torch.rand(like.shape, dtype=like.dtype, device=like.device, generator=generator)
