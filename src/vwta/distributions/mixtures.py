r"""Conditional densities from atoms: Dirac, kernel and Voronoi mixtures.

Each is *atoms x kernel x cut*: K points and their masses, an isotropic kernel, and whether each
kernel is cut to the Voronoi cell of its atom.
"""

from __future__ import annotations

__all__ = ["DiracMixture", "KernelMixture", "VoronoiMixture"]

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Size, Tensor
from torch.distributions import constraints

from vwta.distributions.atoms import Atoms, Shape, broadcast_shapes, safe_log
from vwta.distributions.moments import mixture_mean, mixture_variance
from vwta.geometry.cells import Tessellation
from vwta.geometry.centred import CentredCells, check_centred
from vwta.geometry.centred_sphere import SphereCentredCells
from vwta.geometry.directions import Directions, scatter
from vwta.geometry.kernels import Gaussian, Kernel
from vwta.geometry.memory import in_parts
from vwta.geometry.spaces import Space, Sphere


class DiracMixture(Atoms):
    r"""Mixture of atoms alone, :math:`\sum_k \gamma_k \delta_{z_k}`: WTA before any kernel.

    Arguments:
        points: atoms, `(*, K, e)`.
        masses: their masses, `(*, K)`.

    Example:
        >>> d = DiracMixture(torch.tensor([[0.0], [1.0]]), torch.tensor([0.25, 0.75]))
        >>> d.mean, d.variance
        (tensor([0.7500]), tensor([0.1875]))
    """

    def __init__(self, points: Tensor, masses: Tensor, validate_args: bool | None = None) -> None:
        super().__init__(points, masses, None, validate_args)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.real_vector

    @property
    def variance(self) -> Tensor:
        apart = self.points - self.mean[..., None, :]
        return (self.masses[..., None] * apart**2).sum(-2).expand(self._extended_shape())

    def expand(self, batch_shape: Shape, _instance: Any = None) -> DiracMixture:
        return self._move(_instance or object.__new__(DiracMixture), Size(batch_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        raise NotImplementedError(
            "a DiracMixture has no density; put a kernel on it (KernelMixture, VoronoiMixture)"
        )

    def sample(self, sample_shape: Shape = (), generator: torch.Generator | None = None) -> Tensor:
        with torch.no_grad():
            return self._points_at(self._pick(Size(sample_shape), generator))


class KernelMixture(Atoms):
    r"""Mixture with a kernel on every atom, uncut, :math:`\sum_k \gamma_k K_h(z_k, y)`: Kernel-WTA.

    With one bandwidth for each component, `h` `(*, K)`, it is a mixture density network's output.

    Arguments:
        points: atoms, `(*, K, d)`; unit vectors `(*, K, 3)` for :class:`VonMisesFisher`.
        masses: their masses, `(*, K)`.
        kernel: :class:`Gaussian` or :class:`VonMisesFisher`.

    Example:
        >>> from vwta import Gaussian
        >>> d = KernelMixture(torch.zeros(2, 1, 2), torch.ones(2, 1), Gaussian(0.5))
        >>> d.log_prob(torch.zeros(2))
        tensor([-0.4516, -0.4516])
    """

    def __init__(
        self, points: Tensor, masses: Tensor, kernel: Kernel, validate_args: bool | None = None
    ) -> None:
        if not isinstance(kernel, Gaussian):
            raise TypeError("a Uniform kernel must be cut: use VoronoiMixture")
        super().__init__(points, masses, kernel.h, validate_args)
        if self._validate_args:
            kernel.check_bandwidth(self.points.dtype)
        self.kernel = kernel.at(kernel.h.to(self.points))
        self.points = kernel.normalise(self.points, "points", self._validate_args)

    @property
    def support(self) -> constraints.Constraint:
        return self.kernel.support

    @property
    def mean(self) -> Tensor:
        if self.kernel.centred:
            return super().mean
        return mixture_mean(*self._moments()).to(self.points.dtype).expand(self._extended_shape())

    @property
    def variance(self) -> Tensor:
        return (
            mixture_variance(*self._moments()).to(self.points.dtype).expand(self._extended_shape())
        )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> KernelMixture:
        new: KernelMixture = _instance or object.__new__(KernelMixture)
        new.kernel = self.kernel
        return self._move(new, Size(batch_shape))

    def with_bandwidth(self, h: Tensor | float) -> KernelMixture:
        """The same atoms at another bandwidth, in a batch that fits both."""
        kernel = self.kernel.with_bandwidth(h)
        batch_shape = self._batch_with(kernel.h)
        new = KernelMixture(self.points, self.masses, kernel, self._validate_args)
        return new.expand(batch_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self.kernel.normalise(self._target(value), "y", self._validate_args)
        shape = broadcast_shapes(value.shape[:-1], self.batch_shape)
        tensors = value, self.points, self.masses, self.kernel.h
        size = self.components * (2 * self.event_shape[0] + 6) * value.element_size()
        return in_parts(self._log_density, tensors, (1, 2, 1, 1), size).expand(shape)

    def sample(self, sample_shape: Shape = (), generator: torch.Generator | None = None) -> Tensor:
        with torch.no_grad():
            atom = self._pick(Size(sample_shape), generator)
            kernel = self.kernel.at(self._bandwidth_at(self.kernel.h, atom))
            return kernel.sample(self._points_at(atom), generator)

    def _log_density(self, value: Tensor, points: Tensor, masses: Tensor, h: Tensor) -> Tensor:
        """Log-density `(*)` at `value` `(*, e)` of a part of the mixtures."""
        spread = ((value[..., None, :] - points) ** 2).sum(-1) / 2
        terms = safe_log(masses) + self.kernel.at(h).log_density(spread, self.event_shape[0])
        return torch.logsumexp(terms, -1)

    def _moments(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Arguments of :func:`mixture_variance`, in float64."""
        z, masses = (x.to(_precise(self.points)) for x in (self.points, self.masses))
        return masses, z, *self.kernel.at(self.kernel.h.to(z)).moments(z)


class VoronoiMixture(Atoms):
    r"""Mixture with a kernel on every atom, cut to its Voronoi cell: Voronoi-WTA.

    .. math:: \sum_k \gamma_k \frac{K_h(z_k, y)}{V_k} 1[y \in Y_k],
        \qquad V_k = \int_{Y_k} K_h(z_k, y') dy'

    Every cell has the mass of its atom, whatever the bandwidth. Atoms that coincide share one cell:
    it goes to the first of them and has the sum of their masses, the others have an empty cell.
    Gradients flow through `log_prob` and `log_cell_mass`, not through `mean` and `variance`.

    Arguments:
        points: atoms in the domain, `(*, K, e)`.
        masses: their masses, `(*, K)`.
        kernel: :class:`Gaussian` or :class:`Uniform` in a box, :class:`VonMisesFisher` or
            :class:`Uniform` on the sphere; its `h` is a number or broadcasts against `(*, K)`.
        space: :class:`Box` or :class:`Sphere`.
        directions: estimate volumes along directions (the paper: `Directions(40, random=True)`)
            where they could be exact; also how finely to do so in four and more dimensions.
        centres: centres of the kernels, `(*, K, e)`, anywhere; the atoms if None. The kernels are
            then :math:`K_{h_k}(c_k, y)`, cut to the cells of the atoms. Detach the points to keep
            the cells constant while centres, bandwidths and masses are trained.
        roots: in the plane, lower triangular matrices :math:`R_k` with a positive diagonal,
            `(*, K, 2, 2)`: kernels are Gaussians of covariance :math:`h_k^2 R_k R_k^T`.

    Example:
        >>> from vwta import Box, Gaussian
        >>> points, masses = torch.tensor([[-0.5], [0.5]]), torch.tensor([0.25, 0.75])
        >>> d = VoronoiMixture(points, masses, Gaussian(1e3), Box(-1.0, 1.0))
        >>> d.log_prob(torch.tensor([[-0.2], [0.2], [1.5]])).exp()
        tensor([0.2500, 0.7500, 0.0000])
    """

    def __init__(
        self,
        points: Tensor,
        masses: Tensor,
        kernel: Kernel,
        space: Space,
        directions: Directions | None = None,
        validate_args: bool | None = None,
        centres: Tensor | None = None,
        roots: Tensor | None = None,
    ) -> None:
        centres = points if centres is None and roots is not None else centres
        super().__init__(points, masses, kernel.h, validate_args, centres, roots)
        kernel.check(space)
        if centres is not None:
            check_centred(kernel, space, points.shape[-1], directions, roots is not None)
        space.dim(points.shape[-1])  # refuses points of another space
        if self._validate_args:
            kernel.check_bandwidth(self.points.dtype, space.bounded)
        self.kernel = kernel.at(kernel.h.to(points.device))
        self.space = space = space.on(points.device)
        if self._validate_args:
            space.check(self.points, "points")
        self.points = space.project(self.points)
        if self.centres is not None and isinstance(space, Sphere):
            self.centres = space.normalise(self.centres, "centres", self._validate_args)
        flat = self.points.to(_precise(self.points)).reshape(-1, *points.shape[-2:])
        self._cells = Tessellation(space.project(flat), space, directions)
        rows = torch.arange(len(flat), device=points.device).view(points.shape[:-2])
        self._rows = rows.expand(self.batch_shape)

    @property
    def support(self) -> constraints.Constraint:
        return self.space.support

    @property
    def log_cell_mass(self) -> Tensor:
        """Log of the kernel's mass in every cell, log V `(*, K)`; log-volume if it is uniform."""
        return self._every_cell("log_mass")

    @property
    def log_cell_mass_error(self) -> Tensor:
        """Standard error of :attr:`log_cell_mass`, `(*, K)`; 0 where it is exact."""
        return self._every_cell("log_mass_error")

    @property
    def mean(self) -> Tensor:
        return mixture_mean(*self._moments()).to(self.points.dtype)

    @property
    def variance(self) -> Tensor:
        return mixture_variance(*self._moments()).to(self.points.dtype)

    @property
    def mean_error(self) -> Tensor:
        """Standard error of :attr:`mean`, `(*, e)`; 0 where it is exact."""
        return self._error(mixture_mean)

    @property
    def variance_error(self) -> Tensor:
        """Standard error of :attr:`variance`, `(*, e)`; 0 where it is exact."""
        return self._error(mixture_variance)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> VoronoiMixture:
        new = self._copy(self.kernel, _instance)
        new._rows = self._rows.expand(batch_shape)
        return self._move(new, Size(batch_shape))

    def with_width_factor(self, factor: Tensor | float) -> VoronoiMixture:
        """The same cells with all bandwidths multiplied by a factor; geometry is reused."""
        return self.with_bandwidth(self.kernel.h * factor)

    def with_bandwidth(self, h: Tensor | float) -> VoronoiMixture:
        """The same cells at another bandwidth, in a batch that fits both; geometry is reused."""
        kernel = self.kernel.with_bandwidth(h)
        if self._validate_args:
            kernel.check_bandwidth(self.points.dtype, self.space.bounded)
        new = self._copy(kernel.at(kernel.h.to(self.points.device)))
        batch_shape = self._batch_with(kernel.h)
        new._rows = self._rows.expand(batch_shape)
        return self._move(new, batch_shape)

    def with_temperature(self, temperature: float) -> VoronoiMixture:
        r"""The same cells and kernels with masses proportional to :math:`\gamma_k^{1 / T}`."""
        new = self.expand(self.batch_shape)
        new.masses = (safe_log(self.masses) / temperature).softmax(-1)
        return new

    def cell_of(self, value: Tensor) -> Tensor:
        """Index of the Voronoi cell of `y` `(*, e)`: the nearest atom, the first of equals."""
        value = self._target(value)
        every = broadcast_shapes(value.shape[:-1], self.batch_shape)
        # Axes along which laws differ by their bandwidths alone share the search.
        rows = self._rows[tuple(slice(None if s else 1) for s in self._rows.stride())]
        shape = broadcast_shapes(value.shape[:-1], rows.shape)
        y = value.detach().to(self._cells.points).expand(*shape, -1).reshape(-1, value.shape[-1])
        return self._cells.nearest(y, rows.expand(shape).flatten()).view(shape).expand(every)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self.space.normalise(self._target(value), "y", self._validate_args)
        atom = self.cell_of(value)
        pairs, which = self._distinct(atom)
        cell, kernel = self._cells_of(pairs)
        log_scale = self._log_masses(pairs, cell) - self._kernels(pairs).log_mass(cell, kernel)
        if self.centres is not None:  # far from a centre the two terms nearly cancel
            return self._centred_log_prob(value, atom, log_scale[which])
        spread = ((value - self._points_at(atom)) ** 2).sum(-1) / 2
        h = self._bandwidth_at(self.kernel.h.to(self.points), atom)
        log_density = self.kernel.at(h).log_density(spread, self._cells.dim)
        log_prob = log_density + log_scale.to(spread.dtype)[which].view(atom.shape)
        return torch.where(self.space.outside(value), -math.inf, log_prob)

    def sample(self, sample_shape: Shape = (), generator: torch.Generator | None = None) -> Tensor:
        with torch.no_grad():
            atom = self._first_twin(self._pick(Size(sample_shape), generator))
            if not atom.numel():
                return self.points.new_empty(*atom.shape, *self.event_shape)
            pairs, which = self._distinct(atom)
            cell, kernel = self._cells_of(pairs)
            by_batch = which.view(-1, self._rows.numel()).T.reshape(-1)  # neighbours in memory
            y = self._kernels(pairs).sample(cell, kernel, by_batch, generator)
            y = y.to(self.points.dtype)
            y = self.space.project(y).view(self._rows.numel(), -1, *self.event_shape)
            return y.transpose(0, 1).reshape(*atom.shape, *self.event_shape)

    def _copy(self, kernel: Kernel, _instance: Any = None) -> VoronoiMixture:
        new: VoronoiMixture = _instance or object.__new__(VoronoiMixture)
        new.kernel, new.space, new._cells = kernel, self.space, self._cells
        return new

    def _distinct(self, atom: Tensor) -> tuple[Tensor, Tensor]:
        """Distinct pairs as numbers `batch * K + atom`, and which of them each atom is."""
        count = self._rows.numel()
        batch = torch.arange(count, device=atom.device).view(self.batch_shape).expand(atom.shape)
        pair = (batch * self.components + atom).flatten()
        if atom.shape == self.batch_shape:
            return pair, torch.arange(len(pair), device=pair.device)
        present = torch.zeros(count * self.components, dtype=torch.bool, device=pair.device)
        present[pair] = True
        return torch.nonzero(present)[:, 0], (present.cumsum(0) - 1)[pair]

    def _cells_of(self, pairs: Tensor) -> tuple[Tensor, Kernel]:
        """Cells that pairs stand for, and the kernel with a bandwidth for each, `(P,)`."""
        batch, atom = pairs // self.components, pairs % self.components
        cell = self._rows.reshape(-1)[batch] * self.components + atom
        h = self.kernel.h.to(self._cells.points)
        if h.numel() == 1:
            return cell, self.kernel.at(h.reshape(1).expand(len(pairs)))
        h = h.expand(*self.batch_shape, self.components).reshape(-1)[pairs]
        return cell, self.kernel.at(h)

    def _kernels(self, pairs: Tensor) -> Tessellation | CentredCells | SphereCentredCells:
        """The cells, to be asked for the kernels of pairs `(P,)`, wherever their centres are."""
        if self.centres is None:
            return self._cells
        shape = (*self.batch_shape, self.components)
        centres = self.centres.to(self._cells.points).expand(*shape, -1).flatten(0, -2)[pairs]
        if isinstance(self.space, Sphere):
            return SphereCentredCells(self._cells, self.space.project(centres))
        if self.roots is None:
            return CentredCells(self._cells, centres)
        roots = self.roots.to(centres).expand(*shape, 2, 2).flatten(0, -3)[pairs]
        return CentredCells(self._cells, centres, roots)

    def _centred_log_prob(self, value: Tensor, atom: Tensor, log_scale: Tensor) -> Tensor:
        """Log-density at `value` with kernels about centres, from log-scales `(N,)` in float64."""
        spread, log_det = self._about_centre(value.to(log_scale), atom)
        h = self._bandwidth_at(self.kernel.h.to(log_scale), atom)
        log_prob = self.kernel.at(h).log_density(spread, self._cells.dim) - log_det
        log_prob = (log_prob + log_scale.view(atom.shape)).to(self.points.dtype)
        return torch.where(self.space.outside(value), -math.inf, log_prob)

    def _log_masses(self, pairs: Tensor, cell: Tensor) -> Tensor:
        """Log-mass of atoms, with that of their twins, `(P,)`."""
        masses = self.masses.to(self._cells.points).expand(*self.batch_shape, self.components)
        masses = masses.reshape(-1, self.components)
        batch, atom = pairs // self.components, pairs % self.components
        own = masses[batch, atom]
        shared = self._cells.has_twin(cell)
        if shared.any():
            place = self._cells.twins().first[self._rows.reshape(-1)]
            total = torch.zeros_like(masses).scatter_add(1, place, masses)
            own = torch.where(shared, total[batch, place[batch, atom]], own)
        return safe_log(own)

    def _first_twin(self, atom: Tensor) -> Tensor:
        """The atom that has the cell, in place of a twin that has none."""
        pairs, which = self._distinct(atom)
        cell, _ = self._cells_of(pairs)
        shared = self._cells.has_twin(cell)
        if not shared.any():
            return atom
        return self._cells.twins().first[self._cells.split(cell)][which].view(atom.shape)

    def _every_cell(self, name: str) -> Tensor:
        pairs = torch.arange(self._rows.numel() * self.components, device=self.points.device)
        values: Tensor = getattr(self._kernels(pairs), name)(*self._cells_of(pairs))
        return values.view(*self.batch_shape, self.components).to(self.points.dtype)

    def _moments(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Arguments of :func:`mixture_variance`, in float64."""
        return self._take_moments("moments")

    def _error(self, of: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> Tensor:
        """Standard error of a function of moments, from the scatter of its replicates."""
        values = of(*self._take_moments("moment_replicates"))
        return scatter(values).to(self.points.dtype)

    def _take_moments(self, name: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Arguments of :func:`mixture_variance`, in float64, with moments of cells `(*, C, e)`."""
        with torch.no_grad():
            pairs = torch.arange(self._rows.numel() * self.components, device=self.points.device)
            cell, kernel = self._cells_of(pairs)
            absent = self._cells.is_empty(cell)  # their masses count with the first twin
            masses = torch.where(absent, 0.0, self._log_masses(pairs, cell).exp())
            shape = (*self.batch_shape, self.components)
            first, second = (
                torch.where(absent[:, None], 0.0, x).view(*x.shape[:-2], *shape, *self.event_shape)
                for x in getattr(self._kernels(pairs), name)(cell, kernel)
            )
            return masses.view(shape), self._cells.points[self._rows], first, second


def _precise(like: Tensor) -> torch.dtype:
    """Geometry is done in float64, except on devices that have none."""
    return torch.float32 if like.device.type == "mps" else torch.float64
