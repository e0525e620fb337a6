r"""Networks with local kernels: hypotheses draw the cells, and each cell has a kernel of its own.

The kernel of cell k has its centre at :math:`a + c_k` and the log-width :math:`b + h_k`: one
location and one scale for an input, and what each cell adds. A law is made of them by
:class:`vwta.nn.densities.LocalDensity`, and trained by :func:`vwta.nn.densities.local`.
"""

from __future__ import annotations

__all__ = ["ContinuousAtoms", "Form", "LocalAtoms", "LocalHead", "LocalNetwork", "ShapedAtoms"]

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from vwta.nn.heads import Head
from vwta.nn.networks import MLP, Network

Form = Literal["scores", "continuous", "shared"]
FORMS: tuple[Form, ...] = ("scores", "continuous", "shared")
LLOYD_STEPS = 500


class LocalAtoms(NamedTuple):
    """Output of a local head with scores.

    Attributes:
        points: hypotheses, with shape `(*, K, d)`.
        logits: logits of the scores, with shape `(*, K)`.
        centres: centres of the kernels, with shape `(*, K, d)`.
        log_scales: logs of their bandwidths, with shape `(*, K)`.
        cells: the points as the likelihood sees them: constant, so that winners alone move them.
    """

    points: Tensor
    logits: Tensor
    centres: Tensor
    log_scales: Tensor
    cells: Tensor

    @property
    def masses(self) -> Tensor:
        """The scores, softmax of the logits, with shape `(*, K)`."""
        return self.logits.softmax(-1)

    @property
    def scales(self) -> Tensor:
        """Bandwidths, with shape `(*, K)`."""
        return self.log_scales.exp()


class ShapedAtoms(NamedTuple):
    """Output of a local head with scores and covariances, in the plane.

    Attributes:
        points: see :class:`LocalAtoms`, as of the other parts.
        logits: likewise.
        centres: likewise.
        log_scales: logs of the bandwidths, geometric means of the two standard deviations.
        cells: likewise.
        roots: lower triangular roots of the kernels' covariances in units of the bandwidths, with
            determinant 1 and shape `(*, K, 2, 2)`.
    """

    points: Tensor
    logits: Tensor
    centres: Tensor
    log_scales: Tensor
    cells: Tensor
    roots: Tensor

    @property
    def masses(self) -> Tensor:
        """The scores, softmax of the logits, with shape `(*, K)`."""
        return self.logits.softmax(-1)

    @property
    def scales(self) -> Tensor:
        """Bandwidths, with shape `(*, K)`."""
        return self.log_scales.exp()


class ContinuousAtoms(NamedTuple):
    """Output of a local head without scores: masses follow from continuity, on the line.

    Attributes:
        points: hypotheses, with shape `(*, K, 1)`.
        centres: centres of the kernels, with shape `(*, K, 1)`.
        log_scales: logs of their bandwidths, with shape `(*, K)`.
        cells: the points as the likelihood sees them, see :class:`LocalAtoms`.
    """

    points: Tensor
    centres: Tensor
    log_scales: Tensor
    cells: Tensor

    @property
    def scales(self) -> Tensor:
        """Bandwidths, with shape `(*, K)`."""
        return self.log_scales.exp()


class LocalHead(Head):
    r"""Head with K hypotheses and a kernel of its own for the cell of each.

    There are three forms:

    * `scores`: hypotheses :math:`z_k`, scores, centres :math:`a + c_k`, log-widths :math:`b + h_k`.
    * `continuous`, on the line: the same without scores, as masses follow from continuity.
    * `shared`, on the line: as `continuous`, but all in units of the location and the scale:
      hypotheses :math:`a + e^b z_k`, centres :math:`a + e^b c_k`, log-widths :math:`b + h_k`.

    In the plane kernels with scores may have covariances :math:`h_k^2 (\sqrt{1 + p^2 + q^2} + P)`
    with the matrix :math:`P = (p, q; q, -p)` for each cell, whose determinant is :math:`h_k^4`.

    Outputs are in the order :math:`z, a, c, b, h`, scores, :math:`(p, q)`. Biases start at 0,
    except those of hypotheses and of :math:`b`.

    Arguments:
        features: number of features.
        outputs: dimension d of the hypotheses.
        hypotheses: their number K.
        form: `scores`, `continuous` or `shared`.
        bounded: whether hypotheses pass through a tanh, which keeps them in (-1, 1).
        starts: where hypotheses start, `(K, d)`, up to the features' part. If None, they quantise a
            standard Gaussian best on the line, and are random elsewhere and if they are bounded.
        log_scale: log-width :math:`b` to start from.
        scales: lowest and highest width.
        covariance: whether kernels have any covariance, or are isotropic.

    Example:
        >>> head = LocalHead(features=16, outputs=2, hypotheses=9)
        >>> [tuple(part.shape) for part in head(torch.rand(5, 16))]
        [(5, 9, 2), (5, 9), (5, 9, 2), (5, 9), (5, 9, 2)]
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        hypotheses: int,
        form: Form = "scores",
        bounded: bool = False,
        starts: Tensor | None = None,
        log_scale: float = -0.3,
        scales: tuple[float, float] = (5e-3, 20.0),
        covariance: bool = False,
    ) -> None:
        K, d = hypotheses, outputs
        _check(form, d, bounded, covariance)
        more = [*([K] if form == "scores" else []), *([2 * K] if covariance else [])]
        super().__init__(features, [K * d, d, K * d, 1, K, *more])
        self.outputs, self.form, self.bounded, self.scales = d, form, bounded, scales
        with torch.no_grad():
            self.bias.zero_()
            self.bias[(2 * K + 1) * d] = log_scale
            flat = (_starts(K, d, bounded) if starts is None else starts).flatten().to(self.bias)
            self.bias[: K * d] = torch.atanh(flat) if bounded else flat

    def read(  # type: ignore[override]
        self, outputs: Tensor
    ) -> LocalAtoms | ShapedAtoms | ContinuousAtoms:
        z, a, c, b, h, *more = torch.split(outputs, self.sizes, -1)
        log_scales = (b + h).clamp(*map(math.log, self.scales))
        z, c = (
            x.unflatten(-1, (-1, self.outputs)) for x in (torch.tanh(z) if self.bounded else z, c)
        )
        a = a.unsqueeze(-2)
        if self.form == "shared":
            scale = b.clamp(*map(math.log, self.scales)).exp().unsqueeze(-2)
            points, cells, centres = (a + scale * x for x in (z, z.detach(), c))
            return ContinuousAtoms(points, centres, log_scales, cells)
        if self.form == "continuous":
            return ContinuousAtoms(z, a + c, log_scales, z.detach())
        atoms = LocalAtoms(z, more[0].contiguous(), a + c, log_scales, z.detach())
        return atoms if len(more) == 1 else ShapedAtoms(*atoms, _unit_roots(more[1]))


class LocalNetwork(Network):
    r"""K hypotheses and a local kernel for the cell of each, from one trunk.

    See :class:`LocalHead`.

    Arguments:
        inputs: number of inputs.
        outputs: dimension d of the hypotheses.
        hypotheses: their number K.
        widths: widths of the trunk's layers.
        form: `scores`, `continuous` or `shared`.
        bounded: whether hypotheses pass through a tanh, which keeps them in (-1, 1).
        log_scale: log-width to start from.
        covariance: whether kernels have any covariance, or are isotropic.

    Example:
        >>> network = LocalNetwork(3, 1, hypotheses=5, widths=[50, 50], form="continuous")
        >>> network(torch.rand(7, 3)).centres.shape
        torch.Size([7, 5, 1])
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        hypotheses: int,
        widths: Sequence[int],
        form: Form = "scores",
        bounded: bool = False,
        log_scale: float = -0.3,
        covariance: bool = False,
    ) -> None:
        sizes = widths[-1], outputs, hypotheses
        heads = LocalHead(*sizes, form, bounded, log_scale=log_scale, covariance=covariance)
        super().__init__(MLP(inputs, widths), heads)


def _check(form: Form, outputs: int, bounded: bool, covariance: bool) -> None:
    """Raise an error if there is no such form of a local head."""
    if form not in FORMS:
        raise ValueError(f"form {form!r}: expected one of {', '.join(FORMS)}")
    if form != "scores" and outputs != 1:
        raise ValueError(
            f"form {form!r} with {outputs} outputs: masses follow from continuity on the line "
            "alone; use 'scores'"
        )
    if covariance and (form != "scores" or outputs != 2):
        raise ValueError(
            f"covariance with form {form!r} and {outputs} outputs: kernels have covariances in the "
            "plane, with scores; leave out `covariance`"
        )
    if form == "shared" and bounded:
        raise ValueError(
            "form 'shared' moves hypotheses by a location and a scale, and cannot keep them in "
            "(-1, 1): leave out `bounded`"
        )


def _unit_roots(numbers: Tensor) -> Tensor:
    """Cholesky factors `(*, K, 2, 2)` of the matrices of numbers p and q, `(*, 2 K)`."""
    p, q = numbers.unflatten(-1, (-1, 2)).unbind(-1)
    trace = (1 + p**2 + q**2).sqrt()  # half of it
    first = torch.where(p > 0, trace + p, (1 + q**2) / (trace + p.abs())).sqrt()
    rows = torch.stack([first, torch.zeros_like(first), q / first, 1 / first], -1)
    return rows.view(*first.shape, 2, 2)


def _starts(K: int, d: int, bounded: bool) -> Tensor:
    """Where hypotheses start unless told otherwise, `(K, d)`."""
    if d == 1 and not bounded:
        return _gaussian_quantiser(K)
    return torch.empty(K, d).uniform_(-0.8, 0.8)


def _gaussian_quantiser(K: int) -> Tensor:
    """The K points that quantise a standard Gaussian best, `(K,)`, by Lloyd's algorithm."""
    z: Tensor = torch.special.ndtri((torch.arange(K, dtype=torch.float64) + 0.5) / K)
    for _ in range(LLOYD_STEPS):
        borders = torch.cat([z.new_tensor([-40.0]), (z[1:] + z[:-1]) / 2, z.new_tensor([40.0])])
        density = torch.exp(-(borders**2) / 2) / math.sqrt(2 * math.pi)
        z = -density.diff() / torch.special.ndtr(borders).diff()
    return z
