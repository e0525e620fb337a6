"""Properties that the paper's theory gives optimal networks, measured on trained ones.

Everything is a mean over inputs, the middles of equal intervals of [0, 1], at which two independent
sets of points are drawn from the true law. The same points serve all networks of a problem. For
comparison the same is measured for atoms of Lloyd's algorithm with the masses of their cells, which
are close to the optimum that the theory assumes (methods `lloyd`, `v_lloyd` and `k_lloyd`).

| metric | what it is | theory |
|---|---|---|
| `dead`, `never_wins` | atoms that win no point of an input, or of any | 0 |
| `score_tv`, `score_tv_largest` | total variation between scores and masses of cells | 0 |
| `score_tv_floor` | the same for exact scores, from the points' finite number | |
| `centroid_rms` | distance of atoms from the means of their cells, weighted by mass | 0 |
| `centroid_rms_floor` | the same for perfect atoms, from the points' finite number | |
| `centroid_share` | share of the risk that moving to these means would save, less the floor | 0 |
| `zador_ratio`, `lloyd_ratio` | risk, divided by the asymptotic optimum and by Lloyd's | to 1 |
| `largest_diameter` | of all cells in the domain | to 0 |
| `largest_diameter_seen` | of those that hold a point | to 0 |
| `mean_diameter` | weighted by mass | to 0 |
| `largest_radius`, `largest_distance` | of a cell's corner, and of a point, to its atom | to 0 |
| `set_error`, `set_error_<set>` | mean error of the probability of fixed sets | to 0, any h |
| `set_error_floor` | the same for the true law itself, known by its points (method `truth`) | |
| `point_density_*` | see :mod:`vwta.paper.theory.point_density` | `half` to 0, `exponent` to 1/2 |
| `nll_identity_*`, `nll_optimal_*` | see :func:`vwta.paper.theory.identities.identity_rows` | |
| `nll_directions_*` | see :func:`vwta.paper.theory.identities.direction_rows` | |

A component of a mixture density network has no cell: it counts as dead where its weight is below a
threshold.
"""

from __future__ import annotations

__all__ = ["Settings", "evaluate_properties"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vwta.geometry.lloyd import lloyd
from vwta.geometry.outlines import Outlines
from vwta.geometry.spaces import Box
from vwta.io.storage import read_table, read_tensors, sha256
from vwta.paper.estimators import measured_in
from vwta.paper.metrics import MetricsFile
from vwta.paper.networks import NETWORKS
from vwta.paper.synthetic.trained import load_network
from vwta.paper.synthetic.true_laws import Problem
from vwta.paper.theory.convex_sets import (
    Region,
    cut_probability,
    dirac_probability,
    kernel_probability,
    region,
)
from vwta.paper.theory.identities import direction_rows, identity_rows
from vwta.paper.theory.optimality import (
    Wins,
    centroid_floor,
    centroid_square,
    dead,
    never_wins,
    random_tv,
    score_tv,
    set_floor,
)
from vwta.paper.theory.point_density import PointDensity
from vwta.paper.theory.zador import effective_area, zador_risk
from vwta.seeds import generator, stream

logger = logging.getLogger(__name__)
Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How properties that theory predicts are measured.

    Attributes:
        seed: seed of all points.
        inputs: number of inputs.
        points: points of the true law for each input, drawn twice.
        negligible: weight below which a component of a mixture counts as dead.
        bins: squares along each side of the grid in which atoms are counted.
        directions: `count` of random directions for each volume, and how often to `repeat` them.
        optimum: Lloyd's algorithm: number of `inputs`, `starts` and `steps`; None for no such rows.
        sets: for each fixed set its `name`, `shape`, and the arguments of its class in
            :mod:`vwta.paper.theory.convex_sets`.
        h: bandwidths.
        low: lower corner of the domain.
        high: upper corner.
        selected_by: criterion of the weights to take, see
            :func:`vwta.paper.synthetic.trained.load_network`.
    """

    seed: int
    inputs: int
    points: int
    negligible: float
    bins: int
    directions: dict[str, int]
    optimum: dict[str, int] | None
    sets: list[dict[str, Any]]
    h: list[float]
    low: list[float]
    high: list[float]
    selected_by: str


@dataclass(frozen=True)
class Truth:
    """The true law of a problem at inputs where properties that theory predicts are measured.

    Attributes:
        x: inputs, with shape `(n, 1)`.
        first: points of the law, with shape `(n, m, 2)`.
        second: others, independent of them.
        sets: the fixed sets, by name.
        probability: their probabilities, with shape `(n, sets)`, from both sets of points.
        density: the law's density.
        area: see :func:`vwta.paper.theory.zador.effective_area`.
        box: the domain.
    """

    x: Tensor
    first: Tensor
    second: Tensor
    sets: dict[str, Region]
    probability: Tensor
    density: PointDensity
    area: float
    box: Box

    @classmethod
    def of(cls, law: Problem, inputs: int, settings: Settings, *purpose: str) -> Truth:
        """Draws the law at the middles of as many equal intervals."""
        x = ((torch.arange(inputs, dtype=torch.float64) + 0.5) / inputs)[:, None]
        first, second = (
            law.sample(x, settings.points, generator(settings.seed, *purpose, which))
            .transpose(0, 1)
            .contiguous()
            for which in ("first", "second")
        )
        sets = {
            one["name"]: region(**{key: value for key, value in one.items() if key != "name"})
            for one in settings.sets
        }
        shares = [
            (one.contains(first).double().mean(1) + one.contains(second).double().mean(1)) / 2
            for one in sets.values()
        ]
        box = Box(settings.low, settings.high)
        density = PointDensity(law, x, box, settings.bins)
        return cls(
            x, first, second, sets, torch.stack(shares, -1), density, effective_area(law), box
        )


@torch.no_grad()
def evaluate_properties(
    networks: Sequence[Path],
    data: Path,
    theory: Path,
    law: Problem,
    settings: Settings,
    output: MetricsFile,
) -> None:
    """Writes the tidy properties that theory predicts, measured on networks of a problem.

    Arguments:
        networks: files of trained networks, of any kind, K and seed.
        data: file of the data set, for the test points.
        theory: table of reference risks, see
            :func:`vwta.paper.theory.references.evaluate_theory`.
        law: the true law.
        settings: how to measure.
        output: file to write.
    """
    truth = Truth.of(law, settings.inputs, settings, output.dataset, "properties")
    logger.info("%d points for each of %d inputs, twice", settings.points, settings.inputs)
    sets, _ = read_tensors(data)
    test = sets["x_test"].double(), sets["y_test"].double()
    risks = read_table(theory)
    reference = risks[risks["method"] == "lloyd"].set_index("K")["value"]
    rows, trainings, counts = _truth_rows(truth), [], set()
    for index, file in enumerate(networks):
        network, metadata = load_network(file, settings.selected_by)
        training, kind = metadata["provenance"], metadata["network"]["kind"]
        K, seed = training["K"], training["seed"]
        measured = _network_rows(kind, network, truth, test, reference[K], settings)
        rows += [{"K": K, "seed": seed, **row} for row in measured]
        trainings.append(training)
        counts.add(K)
        logger.info("%d/%d: %s, K=%d, seed %d", index + 1, len(networks), kind, K, seed)
    if settings.optimum is not None:
        rows += _optimum_rows(law, sorted(counts), settings.optimum, settings, output.dataset)
    output.write(rows, data=sha256(data), trainings=trainings)


def _network_rows(
    kind: str,
    network: nn.Module,
    truth: Truth,
    test: tuple[Tensor, Tensor],
    reference: float,
    settings: Settings,
) -> Iterator[Row]:
    """Rows of a network; `reference` is Lloyd's risk."""
    atoms = network(truth.x)
    points, masses = atoms.points, atoms.masses
    wins = Wins.of(points, truth.first)
    yield from _risk_rows(kind, wins, truth)
    yield from _rows(kind, len(points), lloyd_ratio=wins.risk.mean().item() / reference)
    own, flat = (_methods(kind, kernel) for kernel in ("own", "uniform"))
    if own:
        yield from _dead_rows(kind, (masses >= settings.negligible).long())
        exact = kernel_probability(points, masses, atoms.scales, [*truth.sets.values()])
        for method in own:
            yield from _set_rows(method, None, exact, truth)
        return
    outlines = Outlines(points, truth.box)
    yield from _dead_rows(kind, wins.counts)
    yield from _score_rows(kind, masses, wins)
    yield from _cell_rows(kind, wins, outlines)
    if NETWORKS[kind].fixed:
        exact = cut_probability(outlines, masses, [None], [*truth.sets.values()])[0]
        for method in flat:
            yield from _set_rows(method, None, exact, truth)
        return
    yield from _mixture_rows(kind, outlines, masses, truth, settings)
    yield from _density_rows(kind, points, wins, truth)
    draws = truth.first, truth.second
    yield from identity_rows(points, masses, outlines.areas, *draws, truth.box)
    count, repeat = settings.directions["count"], settings.directions["repeat"]
    seeds = [stream(settings.seed, "directions", index) for index in range(repeat)]
    yield from direction_rows(network, *test, truth.box, settings.h, count, seeds)


def _methods(kind: str, kernel: str) -> list[str]:
    """Methods of a network with a kernel."""
    measured = measured_in("synthetic", kind)
    return [name for name, recipe in measured.items() if recipe.kernel == kernel]


def _optimum_rows(
    law: Problem, counts: Sequence[int], how: Mapping[str, int], settings: Settings, dataset: str
) -> Iterator[Row]:
    """Rows of the atoms of Lloyd's algorithm, with the masses of their cells.

    They are fitted to the second points and measured on the first.
    """
    truth = Truth.of(law, how["inputs"], settings, dataset, "properties", "optimum")
    for K in counts:
        source = generator(settings.seed, dataset, "properties", "optimum", K)
        fitted = [lloyd(y, K, how["starts"], how["steps"], source)[0] for y in truth.second]
        points = truth.box.project(torch.stack(fitted))
        masses = Wins.of(points, truth.second).shares
        wins, outlines = Wins.of(points, truth.first), Outlines(points, truth.box)
        rows = [
            *_risk_rows("lloyd", wins, truth),
            *_dead_rows("lloyd", wins.counts),
            *_cell_rows("lloyd", wins, outlines),
            *_density_rows("lloyd", points, wins, truth),
            *_mixture_rows("lloyd", outlines, masses, truth, settings),
        ]
        yield from ({"K": K, **row} for row in rows)
        logger.info("Lloyd's algorithm, K=%d", K)


def _truth_rows(truth: Truth) -> list[Row]:
    m = 2 * truth.first.shape[1]
    value = set_floor(truth.probability, m).mean().item()
    row = {"method": "truth", "metric": "set_error_floor", "value": value, "n": len(truth.x)}
    return [row]


def _dead_rows(method: str, counts: Tensor) -> list[Row]:
    """Rows of atoms without points, of counts `(n, K)`."""
    return _rows(
        method,
        len(counts),
        dead=dead(counts).double().mean().item(),
        never_wins=never_wins(counts),
    )


def _score_rows(method: str, masses: Tensor, wins: Wins) -> list[Row]:
    variation, m = score_tv(masses, wins), int(wins.counts[0].sum())
    return _rows(
        method,
        len(masses),
        score_tv=variation.mean().item(),
        score_tv_largest=variation.max().item(),
        score_tv_floor=random_tv(masses, m).mean().item(),
    )


def _risk_rows(method: str, wins: Wins, truth: Truth) -> list[Row]:
    asymptotic = zador_risk(truth.area, wins.counts.shape[1])
    ratio = wins.risk.mean().item() / asymptotic
    return _rows(method, len(truth.x), zador_ratio=ratio)


def _cell_rows(method: str, wins: Wins, outlines: Outlines) -> list[Row]:
    """Rows of how atoms lie in their cells, and of the cells' sizes."""
    square, floor = centroid_square(wins).mean(), centroid_floor(wins).mean()
    diameters = outlines.diameters
    return _rows(
        method,
        len(diameters),
        centroid_rms=square.sqrt().item(),
        centroid_rms_floor=floor.sqrt().item(),
        centroid_share=((square - floor) / wins.risk.mean()).item(),
        largest_diameter=diameters.amax(1).mean().item(),
        largest_diameter_seen=(diameters * (wins.counts > 0)).amax(1).mean().item(),
        mean_diameter=(diameters * wins.shares).sum(1).mean().item(),
        largest_radius=outlines.radii.amax(1).mean().item(),
        largest_distance=wins.farthest.mean().item(),
    )


def _density_rows(method: str, points: Tensor, wins: Wins, truth: Truth) -> list[Row]:
    """Rows of where atoms lie; atoms that win nothing are left out."""
    used, density = wins.counts > 0, truth.density
    return _rows(
        method,
        len(points),
        point_density_tv_half=density.variation(points, used, 0.5).mean().item(),
        point_density_tv_one=density.variation(points, used, 1.0).mean().item(),
        point_density_tv_chance=density.chance(0.5, points.shape[1]).mean().item(),
        point_density_exponent=density.exponent(points, used),
    )


def _mixture_rows(
    name: str, outlines: Outlines, masses: Tensor, truth: Truth, settings: Settings
) -> Iterator[Row]:
    """Rows of errors of the probabilities of sets, for all that follows from atoms with masses."""
    sets, points = [*truth.sets.values()], outlines.points
    cut = cut_probability(outlines, masses, [None, *settings.h], sets)
    yield from _set_rows(f"unif_v_{name}", None, cut[0], truth)
    yield from _set_rows(f"dirac_{name}", None, dirac_probability(points, masses, sets), truth)
    for h, probability in zip(settings.h, cut[1:], strict=True):
        yield from _set_rows(f"v_{name}", h, probability, truth)
        uncut = kernel_probability(points, masses, h, sets)
        yield from _set_rows(f"k_{name}", h, uncut, truth)


def _set_rows(method: str, h: float | None, probability: Tensor, truth: Truth) -> list[Row]:
    errors = (probability - truth.probability).abs().mean(0)
    each = {f"set_error_{name}": e.item() for name, e in zip(truth.sets, errors, strict=True)}
    rows = _rows(method, len(truth.x), set_error=errors.mean().item(), **each)
    return [{"h": h, **row} for row in rows]


def _rows(method: str, n: int, **values: float) -> list[Row]:
    return [
        {"method": method, "metric": metric, "value": value, "n": n}
        for metric, value in values.items()
    ]
