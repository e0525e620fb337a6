"""One use or more of every public operation of the library, on any device.

A use is a function of `on`, which places a tensor on a device. It prepares its arguments and gives
a function without arguments, whose outcome is compared, and whose waits are counted.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import torch
from device.pretended import Move, places
from torch import Tensor, nn

import vwta
from vwta import (
    Average,
    Background,
    Box,
    ContinuousMixture,
    DiracMixture,
    Directions,
    Gaussian,
    KernelMixture,
    LocalDensity,
    LocalHead,
    LocalNetwork,
    MixtureHead,
    MixtureNetwork,
    Network,
    Robust,
    Sphere,
    Uniform,
    VonMisesFisher,
    VoronoiMixture,
    WTAHead,
    WTANetwork,
    calibration,
    line,
    losses,
    plot,
)
from vwta.distributions.transported import Transported
from vwta.estimator.columns import DataWarning
from vwta.nn.densities import local, sphere_local
from vwta.nn.heads import Components, Hypotheses
from vwta.nn.local import Form
from vwta.nn.local_directions import LocalDirectionHead
from vwta.training.loop import FixedData, Schedule, fit

ROWS, K = 6, 5
SPACES = {"line": 1, "plane": 2, "solid": 3, "sphere": 3}
BOX = Box(-1.0, 1.0)
SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
COARSE = Directions(64)
# They take arrays and place them themselves: on the CPU, wherever the networks were trained.
OF_ARRAYS = {
    "VoronoiRegressor",
    *(
        f"VoronoiRegressor.{name}"
        for name in (
            "calibrate",
            "diagnose",
            "log_likelihood",
            "predict",
            "predict_dist",
            "save",
            "score",
        )
    ),
    *(f"plot.{name}" for name in plot.__all__),
}


class Use(NamedTuple):
    """A use of an operation, such as that of `VoronoiMixture.mean` on the `sphere`."""

    operation: str
    where: str
    prepare: Callable[[Move], Callable[[], Any]]

    @property
    def name(self) -> str:
        return f"{self.operation} {self.where}".strip()


def public() -> set[str]:
    """All public operations: functions, and the methods and properties of classes."""
    return {name for top in vwta.__all__ for name in _operations(top, getattr(vwta, top))}


def _operations(name: str, found: Any) -> Iterator[str]:
    if isinstance(found, ModuleType):
        for inner in found.__all__:
            yield from _operations(f"{name}.{inner}", getattr(found, inner))
    elif inspect.isclass(found):
        yield name
        own = [vars(one) for one in found.__mro__ if one.__module__.startswith("vwta")]
        for attribute, value in ((key, value) for names in own for key, value in names.items()):
            plain = not attribute.startswith("_") and not inspect.isclass(value)
            if plain and (callable(value) or isinstance(value, (property, classmethod))):
                yield f"{name}.{attribute}"
    else:
        yield name


def uses() -> list[Use]:
    """All uses."""
    return [
        *_spaces(),
        *_kernels(),
        *_laws(),
        *_line(),
        *_summaries(),
        *_networks(),
        *_losses(),
        *_others(),
    ]


def numbers(*shape: int, seed: int = 0) -> Tensor:
    """Numbers in (-.9, .9), the same in every run, in float64."""
    source = torch.Generator().manual_seed(seed)
    return 1.8 * torch.rand(*shape, generator=source, dtype=torch.float64) - 0.9


def place(where: str, *shape: int, seed: int = 0) -> Tensor:
    """Points of a space, with some leading axes."""
    points = numbers(*shape, SPACES[where], seed=seed)
    return nn.functional.normalize(points, dim=-1) if where == "sphere" else points


def masses(*shape: int, seed: int = 1) -> Tensor:
    return (3 * numbers(*shape, seed=seed)).softmax(-1)


def _spaces() -> Iterator[Use]:
    box: dict[str, Callable[[Box, Tensor], Any]] = {
        "bounded": lambda space, y: space.bounded,
        "bounds": lambda space, y: space.bounds(y),
        "check": lambda space, y: space.check(y, "y"),
        "contains": lambda space, y: space.contains(1.2 * y),
        "dim": lambda space, y: space.dim(y.shape[-1]),
        "normalise": lambda space, y: space.normalise(y, "y", True),
        "on": lambda space, y: space.on(y.device).contains(y),
        "outside": lambda space, y: space.outside(1.2 * y),
        "project": lambda space, y: space.project(1.2 * y),
        "sides": lambda space, y: space.sides(y),
        "snap": lambda space, y: space.snap(y),
    }
    yield Use("Box", "", lambda on: lambda: Box(on(-torch.ones(2)), on(torch.ones(2))).bounded)
    yield Use("Box.support", "", lambda on: _support(SQUARE, on, "plane"))
    for name, use in box.items():
        yield Use(f"Box.{name}", "", partial(_of_space, SQUARE, use, "plane"))
    yield Use("Sphere", "", lambda on: Sphere)
    yield Use("Sphere.support", "", lambda on: _support(Sphere(), on, "sphere"))
    sphere: dict[str, Callable[[Sphere, Tensor], Any]] = {
        **{name: use for name, use in box.items() if name != "bounds"},  # type: ignore[dict-item]
        "frame": lambda space, y: space.frame(y),
        "move": lambda space, y: space.move(y, space.frame(y)[0], (y[:, :1] + 1) / 4),
    }
    for name, use in sphere.items():
        yield Use(f"Sphere.{name}", "", partial(_of_space, Sphere(), use, "sphere"))


def _of_space(space: Any, use: Callable[..., Any], where: str, on: Move) -> Callable[[], Any]:
    y = on(place(where, ROWS))
    return lambda: use(space, y)


def _support(space: Any, on: Move, where: str) -> Callable[[], Any]:
    y = on(place(where, ROWS))
    return lambda: space.on(y.device).support.check(y)


def _kernels() -> Iterator[Use]:
    makers = {
        "Gaussian": Gaussian,
        "VonMisesFisher": VonMisesFisher,
        "Uniform": lambda h: Uniform(),
    }
    for name, make in makers.items():
        where = "sphere" if name == "VonMisesFisher" else "plane"
        space = Sphere() if where == "sphere" else SQUARE
        each: dict[str, Callable[[Any, Tensor, Tensor], Any]] = {
            "at": lambda kernel, r, z: kernel.at(r).log_density(r, 2),
            "check": lambda kernel, r, z, space=space: kernel.check(space),
            "check_bandwidth": lambda kernel, r, z: kernel.check_bandwidth(torch.float64),
            "log_density": lambda kernel, r, z: kernel.log_density(r, 2),
            "log_mass": lambda kernel, r, z: kernel.log_mass(r, 2),
            "mass": lambda kernel, r, z: kernel.mass(r, 2),
            "spread_at": lambda kernel, r, z: kernel.spread_at(r, r**2 / 2, 2),
        }
        each["radial_moment"] = lambda kernel, r, z: kernel.radial_moment(r, 2, 1)
        if name == "VonMisesFisher":
            each["radial_moment"] = partial(_refused, each["radial_moment"])
        if name != "Uniform":
            each |= {
                "moments": lambda kernel, r, z: kernel.moments(z),
                "normalise": lambda kernel, r, z: kernel.normalise(z, "z", True),
                "sample": lambda kernel, r, z: kernel.sample(z, None),
                "support": lambda kernel, r, z: kernel.support.check(z),
            }
        each["with_bandwidth"] = lambda kernel, r, z: kernel.with_bandwidth(2 * r).h
        if name == "Uniform":
            each["with_bandwidth"] = partial(_refused, each["with_bandwidth"])
        yield Use(name, "", lambda on, make=make: partial(make, on(numbers(ROWS) + 1)))
        for attribute, use in each.items():
            prepare = partial(_of_kernel, make, use, where)
            yield Use(f"{name}.{attribute}", "", prepare)


def _refused(use: Callable[..., Any], *arguments: Any) -> str:
    """The kind of the error that says that there is no such thing."""
    try:
        use(*arguments)
    except (NotImplementedError, TypeError) as error:
        return type(error).__name__
    return "no error"


def _of_kernel(
    make: Callable[[Tensor], Any], use: Callable[..., Any], where: str, on: Move
) -> Callable[[], Any]:
    kernel, r, z = (
        make(on(numbers(ROWS) + 1)),
        on((numbers(ROWS, seed=1) + 1) / 2),
        place(where, ROWS),
    )
    return partial(use, kernel, r, on(z))


LAW_USES: dict[str, Callable[[Any, Tensor], Any]] = {
    "components": lambda law, y: law.components,
    "expand": lambda law, y: law.expand((2, ROWS)).mean,
    "log_prob": lambda law, y: law.log_prob(y),
    "mean": lambda law, y: law.mean,
    "sample": lambda law, y: law.sample((3,)),
    "support": lambda law, y: law.support.check(y),
    "variance": lambda law, y: law.variance,
    "with_bandwidth": lambda law, y: law.with_bandwidth(0.3).log_prob(y),
}
SCALE_USES: dict[str, Callable[[Any, Tensor], Any]] = {
    "with_temperature": lambda law, y: law.with_temperature(2.0).log_prob(y),
    "with_width_factor": lambda law, y: law.with_width_factor(0.7).log_prob(y),
}
CELL_USES: dict[str, Callable[[Any, Tensor], Any]] = {
    "cell_of": lambda law, y: law.cell_of(y),
    "log_cell_mass": lambda law, y: law.log_cell_mass,
    "log_cell_mass_error": lambda law, y: law.log_cell_mass_error,
    "mean_error": lambda law, y: law.mean_error,
    "variance_error": lambda law, y: law.variance_error,
}


def voronoi(where: str, on: Move, rows: int = ROWS, **options: Any) -> VoronoiMixture:
    kernel = VonMisesFisher(0.5) if where == "sphere" else Gaussian(0.5)
    space = Sphere() if where == "sphere" else BOX
    if where == "solid":
        options = {"directions": COARSE, **options}
    return VoronoiMixture(on(place(where, rows, K)), on(masses(rows, K)), kernel, space, **options)


def uncut(where: str, on: Move) -> KernelMixture:
    kernel = VonMisesFisher if where == "sphere" else Gaussian
    widths = on((numbers(ROWS, K, seed=2) + 1.5) / 3)
    return KernelMixture(on(place(where, ROWS, K)), on(masses(ROWS, K)), kernel(widths))


def weighted(where: str, on: Move) -> Average:
    return Average([voronoi(where, on), voronoi(where, on).with_bandwidth(0.2)], None, [0.7, 0.3])


def continuous(on: Move) -> ContinuousMixture:
    centres = on(place("line", ROWS, K, seed=5))
    return ContinuousMixture(on(place("line", ROWS, K)), on(numbers(ROWS, K) + 1), centres, BOX)


def _shared(on: Move) -> ContinuousMixture:
    location, scale = on(numbers(ROWS)), on(numbers(ROWS, seed=1) + 1)
    return ContinuousMixture.shared(location, scale, on(place("line", ROWS, K)), 0.5)


def _laws() -> Iterator[Use]:
    makers: dict[tuple[str, str], Callable[[Move], Any]] = {
        ("DiracMixture", ""): lambda on: DiracMixture(
            on(place("plane", ROWS, K)), on(masses(ROWS, K))
        ),
        ("Average", "plane"): lambda on: Average([uncut("plane", on), voronoi("plane", on)]),
        ("Average", "weights"): partial(weighted, "plane"),
        ("ContinuousMixture", "line"): continuous,
        ("Robust", "line"): lambda on: Robust.over(continuous(on), 0.01, 1.5),
        ("Robust", "plane"): lambda on: Robust.over(voronoi("plane", on), 0.01, 1.5),
        ("VoronoiMixture", "random directions"): lambda on: voronoi(
            "plane", on, directions=Directions(40, random=True)
        ),
        ("VoronoiMixture", "uniform"): lambda on: VoronoiMixture(
            on(place("plane", ROWS, K)), on(masses(ROWS, K)), Uniform(), SQUARE
        ),
    }
    makers |= {("KernelMixture", where): partial(uncut, where) for where in ("plane", "sphere")}
    makers |= {("VoronoiMixture", where): partial(voronoi, where) for where in SPACES}
    for (name, where), make in makers.items():
        cut = name in ("VoronoiMixture", "ContinuousMixture")
        found = {**LAW_USES, **(CELL_USES if cut else {})}
        if cut or name == "Robust" or where == "weights":
            found |= SCALE_USES
        if name == "ContinuousMixture" or (name, where) == ("Robust", "line"):
            found["with_temperature"] = partial(_refused, found["with_temperature"])
        if name == "DiracMixture":
            found["log_prob"] = partial(_refused, found["log_prob"])
            del found["with_bandwidth"]
        if name in ("Average", "Robust"):
            del found["components"]
            found["mean_of"] = lambda law, y: law.mean_of(torch.stack([y, 2 * y]))
        if where in ("random directions", "uniform"):
            found = {key: found[key] for key in ("log_prob", "sample", "mean")}
        yield Use(name, where, lambda on, make=make: partial(_made, make, on))
        for attribute, use in found.items():
            prepare = partial(_of_law, make, use, where if where in SPACES else "plane")
            yield Use(f"{name}.{attribute}", where, prepare)
    for where in SPACES:
        yield Use("VoronoiMixture.log_prob", f"{where}, gradients", partial(_gradient, where))
    over = lambda law, y: Robust.over(law, 0.01, 1.5).log_prob(y)  # noqa: E731
    yield Use("Robust.over", "", partial(_of_law, partial(voronoi, "plane"), over, "plane"))
    yield Use("ContinuousMixture.shared", "", partial(_of_law, _shared, LAW_USES["mean"], "line"))


def _made(make: Callable[[Move], Any], on: Move) -> Any:
    law = make(on)
    return law.batch_shape


def _of_law(
    make: Callable[[Move], Any], use: Callable[[Any, Tensor], Any], where: str, on: Move
) -> Callable[[], Any]:
    law, y = make(on), on(place(where, ROWS, seed=3))
    return lambda: use(law, y)


def _gradient(where: str, on: Move) -> Callable[[], Any]:
    points, weights = on(place(where, ROWS, K)).requires_grad_(), on(masses(ROWS, K))
    h, y = on(numbers(ROWS, 1) + 1).requires_grad_(), on(place(where, ROWS, seed=3))
    kernel = VonMisesFisher if where == "sphere" else Gaussian
    space = Sphere() if where == "sphere" else BOX
    law = VoronoiMixture(points, weights, kernel(h), space, COARSE if where == "solid" else None)
    return lambda: torch.autograd.grad(law.log_prob(y).sum(), [points, h])


def _line() -> Iterator[Use]:
    makers = {
        "cut": partial(voronoi, "line"),
        "uncut": partial(uncut, "line"),
        "average": lambda on: Average([voronoi("line", on), uncut("line", on)]),
        "weights": partial(weighted, "line"),
        "continuous": continuous,
    }
    found: dict[str, Callable[[Any, Tensor], Any]] = {
        "line.truncated_kernels": lambda law, y: tuple(line.truncated_kernels(law)),
        "line.cdf": lambda law, y: line.cdf(law, y[:, 0]),
        "line.log_mass_between": lambda law, y: line.log_mass_between(law, -0.5, y[:, 0]),
        "calibration.crps": calibration.crps,
        "calibration.dequantised": lambda law, y: calibration.dequantised(law, y, 0.1),
        "calibration.pit": calibration.pit,
        "line.TruncatedKernels": lambda law, y: line.TruncatedKernels(*line.truncated_kernels(law)),
        "line.TruncatedKernels.log_mass_between": lambda law, y: line.truncated_kernels(
            law
        ).log_mass_between(y - 0.5, y),
        "line.TruncatedKernels.mass_below": lambda law, y: line.truncated_kernels(law).mass_below(
            y
        ),
    }
    for (name, use), (where, make) in product(found.items(), makers.items()):
        yield Use(name, where, partial(_of_law, make, use, "line"))
    carried: dict[str, Callable[[Any, Tensor], Any]] = {
        "line.transported_laws": lambda law, y: len(line.transported_laws(law)),
        "line.cdf": found["line.cdf"],
        "line.log_mass_between": found["line.log_mass_between"],
        "calibration.crps": calibration.crps,
    }
    for name, use in carried.items():
        yield Use(name, "transported", partial(_of_law, _Moved, use, "line"))
    of_numbers = {
        "coverage": lambda y: calibration.coverage(y),
        "pit_deviation": lambda y: calibration.pit_deviation(y),
        "step_of": lambda y: calibration.step_of(y),
    }
    for name, alone in of_numbers.items():
        prepare = lambda on, alone=alone: partial(alone, on((numbers(ROWS) + 1) / 2))  # noqa: E731
        yield Use(f"calibration.{name}", "", prepare)


class _Moved(Transported):
    """Gaussians, as laws that a map carries to the standard one."""

    def __init__(self, on: Move) -> None:
        self.a, self.b = on(numbers(ROWS)), on(numbers(ROWS, seed=1) + 1)
        super().__init__((ROWS,))

    def to_normal(self, y: Tensor) -> tuple[Tensor, Tensor]:
        return (y - self.a) / self.b, -self.b.log().expand_as(y - self.a)

    def from_normal(self, u: Tensor) -> Tensor:
        return self.a + self.b * u.to(self.a.device)


def _summaries() -> Iterator[Use]:
    makers: dict[tuple[str, str], Callable[[Move], Any]] = {
        ("line", "cut"): partial(voronoi, "line"),
        ("line", "uncut"): partial(uncut, "line"),
        ("line", "weights"): partial(weighted, "line"),
        ("line", "continuous"): continuous,
        ("plane", "cut"): partial(voronoi, "plane"),
        ("plane", "uncut"): partial(uncut, "plane"),
        ("plane", "weights"): partial(weighted, "plane"),
        ("plane", "local"): lambda on: _local(on)(on(numbers(ROWS, 2))),
        ("solid", "cut"): partial(voronoi, "solid"),
        ("sphere", "cut"): partial(voronoi, "sphere"),
    }
    for (space, what), make in makers.items():
        where = f"{space}, {what}"
        for name, use in {"hdr": _region, "density_rank": _rank, "scenarios": _scenarios}.items():
            yield Use(name, where, partial(_of_law, make, use, space))


def _region(law: Any, y: Tensor) -> Any:
    region = vwta.hdr(law, 0.8, samples=64)
    return [*vars(region).values(), region.contains(law, y)]


def _rank(law: Any, y: Tensor) -> Tensor:
    return vwta.density_rank(law, y, samples=64)


def _scenarios(law: Any, y: Tensor) -> Any:
    found = vwta.scenarios(law)
    members = [] if found.group is None else [found.members(0)]
    table = [*map(torch.from_numpy, found.columns().values())]
    return [*vars(found).values(), found.count, found.assign(law, y), *members, *table]


def _local(on: Move) -> LocalDensity:
    device = on(torch.zeros(1)).device
    torch.manual_seed(0)
    network = LocalNetwork(2, 2, K, [8], bounded=True).double()
    return LocalDensity(network, SQUARE).to(device)


def _networks() -> Iterator[Use]:
    def trunk() -> nn.Module:
        return nn.Sequential(nn.Linear(2, 8), nn.GELU())

    makers: dict[str, Callable[[], nn.Module]] = {
        "WTAHead": lambda: WTAHead(2, outputs=2, hypotheses=K, bounded=True),
        "MixtureHead": lambda: MixtureHead(2, outputs=2, components=K),
        "WTANetwork": lambda: WTANetwork(2, 2, K, [8, 8], bounded=True),
        "MixtureNetwork": lambda: MixtureNetwork(2, 2, K, [8, 8], bounded=True),
        "LocalHead": lambda: LocalHead(2, outputs=2, hypotheses=K),
        "LocalNetwork": lambda: LocalNetwork(2, 1, K, [8, 8], form="shared"),
        "Network": lambda: Network(trunk(), WTAHead(8, outputs=2, hypotheses=K, scores="softmax")),
    }
    for name, make in makers.items():
        yield Use(name, "", lambda on, make=make: partial(_weights, make))
        yield Use(f"{name}.forward", "", partial(_forward, make))
        if name.endswith("Head"):
            yield Use(f"{name}.linear", "", partial(_of_head, make, "linear"))
            yield Use(f"{name}.read", "", partial(_of_head, make, "read"))
    yield Use("Background", "", lambda on: lambda: Background())
    yield Use("LocalDensity", "", lambda on: partial(_weights, partial(_local, torch.clone)))
    for form, wide in product(("scores", "continuous", "shared"), (None, Background())):
        where = f"{form}{'' if wide is None else ', background'}"
        yield Use("LocalDensity.forward", where, partial(_density, form, wide))
    yield Use("LocalDensity.forward", "sphere", _directions)


def _weights(make: Callable[[], nn.Module]) -> list[Tensor]:
    return [weight.detach() for weight in make().parameters()]


def _forward(make: Callable[[], nn.Module], on: Move) -> Callable[[], Any]:
    x = on(numbers(ROWS, 2).float())
    network = make().to(x.device)

    def forward() -> Any:
        atoms = network(x)
        parts = (*atoms, *([atoms.masses] if hasattr(atoms, "masses") else []))
        total = sum(part.square().sum() for part in parts)
        return parts, torch.autograd.grad(total, [*network.parameters()])

    return forward


def _of_head(make: Callable[[], nn.Module], attribute: str, on: Move) -> Callable[[], Any]:
    x = on(numbers(ROWS, 2).float())
    head = make().to(x.device)
    outputs = head.linear(x).detach()
    return lambda: getattr(head, attribute)(x if attribute == "linear" else outputs)


def _density(form: Form, wide: Background | None, on: Move) -> Callable[[], Any]:
    x, y = on(numbers(ROWS, 2)), on(place("line", ROWS, seed=3))
    torch.manual_seed(0)
    network = LocalNetwork(2, 1, K, [8], form).double()
    model = LocalDensity(network, Box(-math.inf, math.inf), wide).to(x.device)

    def forward() -> Any:
        log_prob = model(x).log_prob(y)
        loss = local(network(x), y, model.space, background=wide)
        return log_prob, torch.autograd.grad(loss, [*network.parameters()])

    return forward


def _directions(on: Move) -> Callable[[], Any]:
    x, y = on(numbers(ROWS, 2)), on(place("sphere", ROWS, 2, seed=3))
    active = on(numbers(ROWS, 2, seed=4) > -0.3)
    torch.manual_seed(0)
    model = LocalDensity(LocalDirectionHead(2, K).double(), Sphere()).to(x.device)

    def forward() -> Any:
        log_prob = model(x).log_prob(y[:, 0])
        loss = sphere_local(model.network(x), y, active)
        return log_prob, loss, torch.autograd.grad(loss, [*model.parameters()])

    return forward


def hypotheses(on: Move, *shape: int, where: str = "plane") -> Hypotheses:
    points, logits = place(where, *shape, K), 3 * numbers(*shape, K, seed=1)
    return Hypotheses(on(points).requires_grad_(), on(logits).requires_grad_())


def components(on: Move, *shape: int, where: str = "plane") -> Components:
    scales = on(numbers(*shape, K, seed=2)).requires_grad_()
    return Components(*hypotheses(on, *shape, where=where), scales)


def _losses() -> Iterator[Use]:
    scored = {"score_reduction": "mean"}
    plain: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "wta": (hypotheses, {"beta": 0.5, **scored}),
        "scoring": (hypotheses, scored),
        "mixture": (components, {}),
        "winner_distance": (hypotheses, {}),
    }
    for name, (atoms, options) in plain.items():
        yield Use(f"losses.{name}", "", partial(_of_loss, name, atoms, options))
        if name != "mixture":
            found = (hypotheses, {**options, "active": None})
            other = {"scoring": "scoring", "wta": "wta"}.get(name, name)
            yield Use(f"losses.sphere_{other}", "", partial(_of_loss, f"sphere_{other}", *found))
    mixed = (components, {"active": None})
    yield Use("losses.sphere_mixture", "", partial(_of_loss, "sphere_mixture", *mixed))
    sharing: dict[str, dict[str, Any]] = {
        "relaxed": {"epsilon": 0.1},
        "top": {"n": 2},
        "annealed": {"temperature": 0.3},
    }
    for name, options in sharing.items():
        shares = partial(getattr(losses, name), **options)
        yield Use(
            f"losses.{name}", "", lambda on, shares=shares: partial(shares, on(numbers(ROWS, K)))
        )
        with_it = {"beta": 1.0, "score_reduction": "sum", "sharing": shares}
        yield Use("losses.wta", name, partial(_of_loss, "wta", hypotheses, with_it))
    yield Use("losses.temperature", "", lambda on: lambda: losses.temperature(3, 0.5, 0.5, 0.1))


def _of_loss(
    name: str, atoms: Callable[..., Any], options: dict[str, Any], on: Move
) -> Callable[[], Any]:
    loss = getattr(losses, name)
    if "active" in options:  # two places for targets, some of which are empty
        out, y = atoms(on, ROWS, where="sphere"), place("sphere", ROWS, 2, seed=3)
        active = numbers(ROWS, 2, seed=4) > -0.3
        y[~active] = math.nan
        options = {**options, "active": on(active)}
    else:
        out, y = atoms(on, ROWS), place("plane", ROWS, seed=3)
    targets = on(y)

    def run() -> Any:
        value = loss(out, targets, **options)
        return value, torch.autograd.grad(value, [*out], allow_unused=True)

    return run


def _others() -> Iterator[Use]:
    yield Use("Directions", "", lambda on: lambda: Directions(16).count)
    for name, make in {"cut": voronoi, "uncut": uncut}.items():
        yield Use("tune", name, partial(_of_law, partial(make, "plane"), _tuned, "plane"))
    yield Use("adjust", "", partial(_of_law, partial(voronoi, "plane"), _adjusted, "plane"))
    yield Use("fit", "", _fitted)
    for where in ("line", "sphere"):
        yield Use("VoronoiRegressor.fit", where, partial(_of_arrays, _regressor, where))
    yield Use("load", "", partial(_of_arrays, _loaded, "line"))


def _tuned(law: Any, y: Tensor) -> Any:
    return vwta.tune(law, y, 0.1, 2.0, 0.5).tried


def _adjusted(law: Any, y: Tensor) -> Any:
    return vwta.adjust(law, y, 0.5, 2.0, 0.5).value


def _fitted(on: Move) -> Callable[[], Any]:
    x, y = numbers(48, 2).float(), numbers(48, 2, seed=1).float()
    data = FixedData((x[:32], y[:32]), (x[32:], y[32:]))
    device = on(x).device
    loss = partial(losses.wta, beta=1.0, score_reduction="sum")

    def run() -> Any:
        network = WTANetwork(2, 2, K, [8], bounded=True)
        done = fit(network, loss, {"loss": loss}, data, Schedule(2, 8, 0.01), 0, device)
        return done.selected["loss"].weights, done.curve

    return run


def _of_arrays(
    make: Callable[[str, str], vwta.VoronoiRegressor], where: str, on: Move
) -> Callable[[], Any]:
    device = str(on(torch.zeros(1)).device)
    x, y = numbers(20, 2, seed=2).numpy(), place(where, 20, seed=3).numpy()

    def run() -> Any:
        model = make(where, device)
        arrays = model.calibrate(x, y).predict(x), model.log_likelihood(x, y)
        return *map(torch.from_numpy, arrays), model.score(x, y), [*model.heads_.values()]

    return run


def _regressor(where: str, device: str) -> vwta.VoronoiRegressor:
    """A regressor that was trained on the device, whose networks are back on the CPU."""
    sizes: dict[str, Any] = {"members": 2, "hidden": (8,), "steps": 8, "batch_size": 16}
    model = vwta.VoronoiRegressor(4, device=device, random_state=0, progress=False, **sizes)
    with catch_warnings():
        simplefilter("ignore", DataWarning)  # it is hardly trained
        model.fit(numbers(60, 2).numpy(), place(where, 60, seed=1).numpy())
    assert all(places([*network.parameters()]) == {"cpu"} for network in model.networks_)
    return model


def _loaded(where: str, device: str) -> vwta.VoronoiRegressor:
    model = _regressor(where, device)
    heads = model.heads_
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        model = vwta.load(Path(folder) / "model")
    assert model.heads_ == heads
    return model
