"""Evaluations of all studies with networks and data on the pretended device: the CPU's metrics."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from device.operations import K, masses, numbers, place
from device.pretended import DEVICE, Move, away, home, places, pretended, told
from device.studies import GRID, MODELS, NOISE, folds, train, write_data
from torch import Tensor, nn

from vwta.geometry.lloyd import lloyd
from vwta.geometry.outlines import Outlines
from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors
from vwta.nn.heads import Components, Hypotheses
from vwta.nn.local import LocalAtoms
from vwta.nn.networks import initialise
from vwta.paper.audio import evaluate as audio
from vwta.paper.audio import tune as audio_tuning
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.audio.predict import Predictions, predict
from vwta.paper.audio.targets import Targets
from vwta.paper.emd import emd
from vwta.paper.local import build
from vwta.paper.searches import Chosen
from vwta.paper.synthetic import evaluate as synthetic
from vwta.paper.synthetic import transport
from vwta.paper.synthetic import tune as synthetic_tuning
from vwta.paper.theory.optimality import Wins, centroid_square, score_tv
from vwta.paper.uci import evaluate as uci
from vwta.paper.uci import tune as uci_tuning
from vwta.paper.uci.trained import Selection, SplitRows, Trained
from vwta.training.stacking import Rows

ROWS = 12
SEARCH = {"low": 0.1, "high": 2.0, "tolerance": 1.0}
SYNTHETIC = synthetic.Settings(
    h=[0.3],
    capped={"epsilon": 1e-7, "cap": 16.1},
    tuned=["v_wta"],
    low=GRID["low"],
    high=GRID["high"],
    selected_by="loss",
    large={"rows": 1, "seed": 0},
    outside="kernel",
    factors=[0.5],
)
EMD = transport.Settings(
    seed=0,
    inputs=ROWS,
    samples=20,
    clouds=False,
    h=[0.3],
    low=GRID["low"],
    high=GRID["high"],
    selected_by="loss",
    sampler="exact",
    unif_emd="cells",
    emd_solver="exact",
    opencv_inputs=0,
)
UCI = uci.Settings(
    seed=0,
    held_out=0.2,
    selected_by=None,
    domain="published",
    ensembles=True,
    level=0.9,
)
AUDIO = audio.Settings(
    seed=0,
    h=[0.3],
    tuned=["v_wta"],
    monte_carlo={"points": 50, "targets": 5},
    noise=NOISE,
)
SIZES = {
    "wta": {"outputs": 2, "hypotheses": K, "bounded": True},
    "mdn": {"outputs": 2, "components": K, "bounded": True},
    "hist": GRID,
    "local": {
        "outputs": 2,
        "hypotheses": K,
        "bounded": True,
        "form": "scores",
        "covariance": True,
    },
}
LINE = {
    "hist": {"grid": [K], "low": [-1.0], "high": [1.0]},
    "local": {
        "outputs": 1,
        "form": "continuous",
        "covariance": False,
        "background": {"share": 0.01, "h": 1.5},
    },
}
# Waits for the device: most of them find the cells of a law, whatever the number of its rows.
WAITS = {"synthetic": 620, "uci": 990, "audio": 400, "theory": 60, "emd": 200}
Metrics = list[Mapping[str, Any]]


def network(kind: str, seed: int, on: Move, **sizes: Any) -> nn.Module:
    """A network that is not trained, where `on` places tensors."""
    specification = {"kind": kind, "inputs": 1, "widths": [8], **SIZES[kind], **sizes}
    return initialise(specification, seed, build).double().eval().to(on(torch.zeros(1)).device)


def of_synthetic(kind: str, on: Move) -> Metrics:
    x, y = on(numbers(ROWS, 1)), on(1.3 * numbers(ROWS, 2, seed=1))
    inside = Box(SYNTHETIC.low, SYNTHETIC.high).contains(y)
    points = synthetic.Targets("", x, y, inside, on(numbers(ROWS, seed=2)))
    net = network(kind, 0, on)
    held_out = {"x_validation": x, "y_validation": y}
    own = {name: getattr(SYNTHETIC, name) for name in ("low", "high", "selected_by")}
    tuning = synthetic_tuning.Settings({"methods": ["v_wta"], **SEARCH}, **own)
    tried = [*synthetic_tuning.searched(kind, net, held_out, tuning)]
    settings = replace(SYNTHETIC, outside="zero") if kind == "local" else SYNTHETIC
    bandwidths = synthetic._bandwidths(kind, chosen_in(tried), settings)
    return [*tried, *synthetic._measure(kind, net, points, bandwidths, settings)]


def of_uci(kind: str, on: Move) -> Metrics:
    line = LINE.get(kind, {"outputs": 1})
    nets = [network(kind, seed, on, **line) for seed in (0, 1)]
    rows = [Rows(on(numbers(ROWS, 1, seed=s)), on(numbers(ROWS, 1, seed=s + 1))) for s in (0, 2)]
    about = {"network": {"kind": kind}, "diverged": [0, 0]}
    one = Trained(kind, 0, nets, nets, SplitRows(*rows, 0.5, 2.0), about)
    search = {**SEARCH, "units": "standardised", "scale": "log", "takes": "lowest"}
    common = {field.name: getattr(UCI, field.name) for field in fields(Selection)}
    settings = uci_tuning.Settings(**common, search=search, factor=SEARCH)
    tried = [*uci_tuning.searched(one, settings)]
    chosen = {(row["method"], row["seed"], 0): Chosen(row["h"]) for row in tried if row["chosen"]}
    found = [*tried, *uci._measure(one, chosen, 0.1, UCI)]
    return [{name: row[name] for name in row if name != "seconds"} for row in found]


def of_audio(kind: str, on: Move) -> Metrics:
    points, logits = on(place("sphere", ROWS, K)), on(numbers(ROWS, K, seed=1))
    atoms: Any = Hypotheses(points, logits)
    if kind == "m_vmf":
        atoms = Components(points, logits, on(numbers(ROWS, K, seed=2)))
    if kind == "local":
        centres, widths = on(place("sphere", ROWS, K, seed=4)), on(numbers(ROWS, K, seed=2))
        atoms = LocalAtoms(points, logits, centres, widths, points)
    direction, sounds = place("sphere", ROWS, 2, seed=3), torch.arange(2 * ROWS).view(ROWS, 2)
    sounds = sounds % len(CLASSES)
    sounds[: ROWS // 2, 1] = -1
    frame = torch.arange(ROWS)
    targets = Targets(*map(on, (direction[:, 0], frame, direction, sounds)))
    found = Predictions(kind, atoms, {})
    tuning = {"methods": ["v_wta"], **SEARCH, "targets": 8}
    tried = [*audio_tuning.searched(found, targets, audio_tuning.Settings(0, tuning, NOISE))]
    truth = {name: (1.0 + index, 1) for index, name in enumerate(CLASSES)}
    return [*tried, *audio._measure(found, targets, chosen_in(tried), AUDIO, truth)]


def of_emd(kind: str, on: Move) -> Metrics:
    """Distances of points that laws on the device draw; the transport is found on the CPU."""
    net, x, reference = network(kind, 0, on), on(numbers(ROWS, 1)), place("plane", ROWS, 20)
    torch.manual_seed(0)
    found = []
    for method, _, law in transport._candidates(kind, net, x, EMD):
        points, masses = transport._atoms(law, EMD.samples, None)
        assert len(places([points, masses])) == 1
        weights = None if masses is None else home(masses)
        values = transport._distances(emd, reference, home(points), weights, method)
        found += [{"value": value} for value in values.tolist()]
    return found


def chosen_in(tried: Metrics) -> dict[str, Chosen]:
    """What searches of the synthetic and audio studies chose, by method."""
    rows = [row for row in tried if row["chosen"]]
    return {row["method"]: Chosen(row["h"], row.get("temperature")) for row in rows}


def of_theory(kind: str, on: Move) -> Metrics:
    points, y = on(place("plane", 3, K)), on(place("plane", 3, 40, seed=1))
    wins, outlines = Wins.of(points, y), Outlines(points, Box(-1.0, 1.0))
    fitted, risk = lloyd(y[0], 3, 2, 5, torch.Generator().manual_seed(0))
    tensors = [
        *(getattr(wins, field.name) for field in fields(wins)),
        score_tv(on(masses(3, K)), wins),
        centroid_square(wins),
        outlines.areas,
        outlines.diameters,
        outlines.radii,
        fitted,
    ]
    assert len(places(tensors)) == 1
    return [{"value": value} for value in [*(home(one).sum().item() for one in tensors), risk]]


CASES: list[tuple[Callable[[str, Move], Metrics], str]] = [
    *((of_synthetic, kind) for kind in SIZES),
    *((of_uci, kind) for kind in SIZES),
    *((of_audio, kind) for kind in ("wta", "hist", "m_vmf", "local")),
    *((of_emd, kind) for kind in SIZES),
    (of_theory, "lloyd"),
]


@pytest.mark.parametrize(("measure", "kind"), CASES)
@torch.no_grad()
def test_metrics_are_those_of_the_cpu(measure: Callable[[str, Move], Metrics], kind: str) -> None:
    expected = measure(kind, torch.clone)
    with pretended() as waits:
        found = measure(kind, away)
    assert len(found) == len(expected) > 1
    for one, other in zip(found, expected, strict=True):
        same(one.values(), other.values())
    assert len(waits) <= WAITS[measure.__name__.removeprefix("of_")], told(waits)


def same(found: Iterable[Any], expected: Iterable[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, float) and not math.isnan(one):
            assert one == pytest.approx(other, rel=1e-6, abs=1e-9)
        elif not isinstance(one, float):
            assert one == other


@pytest.mark.parametrize(("study", "kind"), [one for one in MODELS if one[0].startswith("audio")])
def test_predictions_are_those_of_the_cpu(tmp_path: Path, study: str, kind: str) -> None:
    write_data(tmp_path)
    (trained,) = train(tmp_path, study, kind, tmp_path, "cpu")
    test = {"test": folds(tmp_path)["test"]}
    predict(trained, test, tmp_path / "cpu", "loss", 2, "cpu", "code")
    with pretended() as waits:
        predict(trained, test, tmp_path / "away", "loss", 2, str(DEVICE), "code")
    found, expected = (read_tensors(tmp_path / name)[0] for name in ("away", "cpu"))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    weights: list[Tensor] = [*read_tensors(trained)[0].values()]
    assert len(waits) <= len(weights) + 20, told(waits)
