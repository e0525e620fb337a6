r"""The heads of an estimator: what is trained, how, and which law follows from it.

Each head has one number s that is chosen after training by the likelihood of held-out rows: the
bandwidth of `voronoi` and `kernel`, a factor on all widths of the others. Heads with the same
`training` share their networks.

The heads `local` and `continuous` have a kernel of its own for each cell, see
:mod:`vwta.estimator.local`.
"""

from __future__ import annotations

__all__ = ["HEADS", "TOLERANCE", "TRAININGS", "Head", "Sizes", "Training", "heads_for"]

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from vwta.distributions.axes import AxisMixture
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.estimator import axes, local
from vwta.geometry.directions import Directions
from vwta.geometry.kernels import Gaussian, VonMisesFisher
from vwta.geometry.spaces import Box, Space, Sphere, unit
from vwta.nn import losses
from vwta.nn.heads import Components, Hypotheses, MixtureHead, WTAHead
from vwta.nn.local import Form, LocalHead
from vwta.nn.networks import MLP, Network
from vwta.nn.starts import k_means_plus_plus, start_at
from vwta.training.loop import Objective

BANDWIDTHS = (1e-3, 3.0)  # of standardised targets, among which h is searched
ON_SPHERE = (1e-2, 3.0)
FACTORS = (0.25, 4.0)
GRID = torch.logspace(-2.3, 0.3, 14).tolist()  # bandwidths by whose best one epochs are selected
TOLERANCE = 0.05  # of log-volumes in four and more dimensions
SOLID = Directions(count=512, tolerance=TOLERANCE, most=2**13)  # how volumes are estimated there
FLOOR = -14.0  # log-variance: no component gets narrower than 1e-3 standard deviations
CEILING = 14.0  # nor wider than 1e3 of them
FEW = 500  # rows up to which `auto` tries slow heads, too


class Sizes(NamedTuple):
    """Sizes of a network of an estimator, as they are saved with it.

    Attributes:
        inputs: number of inputs.
        outputs: dimension d of targets.
        hypotheses: number K of hypotheses or components.
        widths: widths of the trunk's layers.
        sphere: whether targets are directions.
    """

    inputs: int
    outputs: int
    hypotheses: int
    widths: list[int]
    sphere: bool


@dataclass(frozen=True)
class Training:
    """What is trained for a head, or for several.

    Attributes:
        build: makes a network of sizes.
        loss: the loss, a mean over rows for each network of a stack, given sizes, the domain of
            scaled targets and a variant.
        criterion: what selects epochs, on held-out rows, given sizes and the domain.
        variants: numbers of which held-out rows choose one: weights of scores in the WTA loss.
        start: moves the atoms of an untrained network to targets `(n, d)`.
        plan: fields of :class:`~vwta.training.stacking.Plan` that differ from the recipe's.
    """

    build: Callable[[Sizes], Network]
    loss: Callable[[Sizes, Space, Tensor], Objective]
    criterion: Callable[[Sizes, Space], Objective]
    variants: tuple[float, ...] = (1.0,)
    start: Callable[[Network, Tensor, torch.Generator], None] = field(
        default=lambda network, y, generator: None
    )
    plan: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Head:
    """A head: the law that follows from a network's atoms.

    Attributes:
        training: name of what is trained.
        law: the law of atoms in a domain, at s = 1.
        at: the same law at another s.
        search: interval of s that is searched, given the domain.
        number: what messages call s.
        cut: whether the law is 0 outside the domain.
        columns: most columns that targets may have, which are then no directions; None: any.
        slow: whether training takes so long that `auto` tries the head with few rows only.
    """

    training: str
    law: Callable[[Any, Space], Distribution]
    at: Callable[[Any, float], Distribution]
    search: Callable[[Space], tuple[float, float]]
    number: str
    cut: bool
    columns: int | None = None
    slow: bool = False


class UnitWTAHead(WTAHead):
    """Head of a WTA network on the sphere: hypotheses have length 1."""

    def read(self, outputs: Tensor) -> Hypotheses:
        atoms = super().read(outputs)
        return type(atoms)(unit(atoms.points), atoms.logits)


class BoundedMixtureHead(MixtureHead):
    """Head of a mixture whose components do not collapse on single targets.

    Their log-variances are bounded below by a smooth floor, and above, where no training gets, by a
    hard ceiling; on the sphere means have length 1.
    """

    def __init__(self, features: int, outputs: int, components: int, sphere: bool) -> None:
        super().__init__(features, outputs, components)
        self.sphere = sphere

    def read(self, outputs: Tensor) -> Components:
        points, logits, log_variances = super().read(outputs)
        log_variances = FLOOR + nn.functional.softplus(log_variances - FLOOR)
        log_variances = log_variances.clamp_max(CEILING)
        return Components(unit(points) if self.sphere else points, logits, log_variances)


def heads_for(name: str, domain: Space, columns: int, rows: int) -> list[str]:
    """The heads that a name stands for: itself, or those among which held-out rows choose.

    `all` stands for all heads that apply. `auto` leaves out slow ones, such as `local`, which are
    tried only if targets have one column and there are at most 500 rows.

    Arguments:
        name: of a head, `auto` or `all`.
        domain: domain of scaled targets.
        columns: number of the target's columns.
        rows: number of rows to fit.
    """
    if name not in ("auto", "all", *HEADS):
        known = ", ".join(map(repr, ["auto", "all", *HEADS]))
        raise ValueError(f"head {name!r}. Remedy: choose one of {known}")
    refusals = {each: _refusal(each, domain, columns) for each in HEADS}
    if name in HEADS and refusals[name]:
        raise ValueError(refusals[name])
    if name in HEADS:
        return [name]
    fit = [each for each in HEADS if not refusals[each]]
    patient = name == "all" or (columns == 1 and rows <= FEW)
    return [each for each in fit if patient or not HEADS[each].slow]


def _refusal(name: str, domain: Space, columns: int) -> str:
    """Why a head does not apply to targets; empty if it does."""
    head, sphere = HEADS[name], isinstance(domain, Sphere)
    if head.columns is not None and (sphere or columns > head.columns):
        known = "one column" if head.columns == 1 else "one or two columns"
        found = "these are directions" if sphere else f"these have {columns}"
        other = "'local', 'voronoi'" if not sphere and columns == 2 else "'voronoi'"
        return (
            f"head {name!r} is for targets of {known}, {found}. Remedy: take head {other} or 'auto'"
        )
    ends = [] if not isinstance(domain, Box) else [domain.low, domain.high]
    if not head.cut and any(bool(end.isfinite().any()) for end in ends):
        return (
            f"head {name!r} puts mass outside a box. Remedy: take head 'voronoi', or space 'line'"
        )
    return ""


def _wta_network(sizes: Sizes) -> Network:
    kind = UnitWTAHead if sizes.sphere else WTAHead
    head = kind(sizes.widths[-1], sizes.outputs, sizes.hypotheses, False, "softmax")
    return Network(MLP(sizes.inputs, sizes.widths), head)


def _wta_loss(sizes: Sizes, _: Space, beta: Tensor) -> Objective:
    return partial(losses.wta, beta=beta[:, None], score_reduction="softmax")


def _wta_start(network: Network, y: Tensor, generator: torch.Generator) -> None:
    head = network.heads
    assert isinstance(head, WTAHead)
    start_at(head, k_means_plus_plus(y, head.sizes[1], generator))


def _kernel_nll(sizes: Sizes, _: Space) -> Objective:
    r"""NLL of uncut kernels at the best bandwidth of a grid, for each network of a stack.

    On the sphere distances are chords, and the kernel a Gaussian of the tangent plane: it ranks
    epochs as the von Mises-Fisher kernel does.
    """
    d = 2 if sizes.sphere else sizes.outputs

    def criterion(atoms: Hypotheses, y: Tensor) -> Tensor:
        pairs = zip(atoms.points.unbind(-1), y.unsqueeze(-2).unbind(-1), strict=True)
        squares = torch.stack([(a - b).square() for a, b in pairs]).sum(0)
        log_masses = atoms.logits.log_softmax(-1)
        values = [
            d * math.log(h) - torch.logsumexp(log_masses - squares / (2 * h**2), -1).mean(-1)
            for h in GRID
        ]
        return torch.stack(values).amin(0) + d / 2 * math.log(2 * math.pi)

    return criterion


def _mixture_network(sizes: Sizes) -> Network:
    kind = (sizes.widths[-1], sizes.outputs, sizes.hypotheses)
    head: nn.Module
    if _has_axes(sizes):
        head = axes.AxisHead(*kind, FLOOR, CEILING)
    else:
        head = BoundedMixtureHead(*kind, sizes.sphere)
    return Network(MLP(sizes.inputs, sizes.widths), head)


def _has_axes(sizes: Sizes) -> bool:
    """Whether components of a mixture have a width for each of several columns."""
    return sizes.outputs > 1 and not sizes.sphere


def _mixture_nll(sizes: Sizes, *_: Any) -> Objective:
    if _has_axes(sizes):
        return axes.nll
    return _vmf_nll if sizes.sphere else losses.mixture


def _points_start(network: Network, y: Tensor, generator: torch.Generator) -> None:
    """Moves the points of a head, which are its first outputs, to targets."""
    head = network.heads
    points = k_means_plus_plus(y, head.sizes[0] // y.shape[1], generator).flatten()
    with torch.no_grad():
        head.weight[: len(points)] = 0
        head.bias[: len(points)] = points


def _vmf_nll(atoms: Components, y: Tensor) -> Tensor:
    """NLL of a mixture of von Mises-Fisher laws, a mean over rows for each network."""
    kernel = VonMisesFisher(atoms.scales)
    law = KernelMixture(atoms.points, atoms.masses, kernel, validate_args=False)
    return -law.log_prob(y).mean(-1)


def _local_network(sizes: Sizes, form: Form) -> Network:
    head = LocalHead(sizes.widths[-1], sizes.outputs, sizes.hypotheses, form)
    return Network(MLP(sizes.inputs, sizes.widths), head)


def _kernel_for(domain: Space, h: Tensor | float) -> Gaussian:
    return VonMisesFisher(h) if isinstance(domain, Sphere) else Gaussian(h)


def _voronoi(atoms: Hypotheses, domain: Space) -> VoronoiMixture:
    kernel = _kernel_for(domain, 1.0)
    directions = SOLID if domain.dim(atoms.points.shape[-1]) > 3 else None
    points = domain.project(atoms.points)
    return VoronoiMixture(points, atoms.masses, kernel, domain, directions)


def _uncut(atoms: Hypotheses, domain: Space) -> KernelMixture:
    return KernelMixture(atoms.points, atoms.masses, _kernel_for(domain, 1.0))


def _mixture(atoms: Components | axes.AxisComponents, domain: Space) -> KernelMixture:
    if isinstance(atoms, axes.AxisComponents):
        return AxisMixture(atoms.points, atoms.masses, atoms.scales)
    return KernelMixture(atoms.points, atoms.masses, _kernel_for(domain, atoms.scales))


def _bandwidths(domain: Space) -> tuple[float, float]:
    return ON_SPHERE if isinstance(domain, Sphere) else BANDWIDTHS


_LOCAL: dict[str, Any] = {  # as the UCI study trains them
    "loss": lambda sizes, domain, _: local.objective(domain, local.DISTANCE),
    "criterion": lambda sizes, domain: local.objective(domain, 0.0),
    "start": _points_start,
    "plan": {"average": 0.08},
}
TRAININGS = {
    "wta": Training(_wta_network, _wta_loss, _kernel_nll, (1.0, 0.033), _wta_start),
    "mixture": Training(_mixture_network, _mixture_nll, _mixture_nll, start=_points_start),
    "local": Training(partial(_local_network, form="scores"), **_LOCAL),
    "continuous": Training(partial(_local_network, form="continuous"), **_LOCAL),
}
_FACTOR: dict[str, Any] = {"search": lambda domain: FACTORS, "number": "factor on all widths"}
_LOCAL_LAW: dict[str, Any] = {
    "law": local.law,
    "at": lambda law, s: law.with_width_factor(s),
    **_FACTOR,
    "cut": True,
}
HEADS = {
    "voronoi": Head(
        "wta", _voronoi, lambda law, s: law.with_bandwidth(s), _bandwidths, "bandwidth", True
    ),
    "kernel": Head(
        "wta", _uncut, lambda law, s: law.with_bandwidth(s), _bandwidths, "bandwidth", False
    ),
    "mdn": Head(
        "mixture",
        _mixture,
        lambda law, s: law.with_bandwidth(law.kernel.h * s),
        cut=False,
        **_FACTOR,
    ),
    "local": Head("local", columns=2, slow=True, **_LOCAL_LAW),
    "continuous": Head("continuous", columns=1, **_LOCAL_LAW),
}
