"""Sampling and training as ratios to a plain way to do it, in the same run: `make bench-plain`.

Both sides do the same thing on one thread, alternately; the best of a few rounds counts (CPU time).
The plain side samples by rejection; it trains with a linear layer for each output and a DataLoader,
one network after the other. At last, what a node of the masses costs.
"""

from __future__ import annotations

import argparse
import functools
import math
import time
from collections.abc import Callable

import reference
import reference_training
import torch
from torch import Tensor

from vwta import Box, Gaussian, VoronoiMixture
from vwta.geometry.cells import Tessellation
from vwta.nn.losses import winner_distance, wta
from vwta.nn.networks import WTANetwork
from vwta.training.loop import FixedData, Schedule, fit
from vwta.training.stacking import Plan, fit_stacked

INPUTS = 2000
SAMPLES = 500
SQUARE = Box(-1.0, 1.0)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all?")
    quick = parser.parse_args(arguments).quick
    inputs, samples = (50, 20) if quick else (INPUTS, SAMPLES)
    counts = (9, 49) if quick else (9, 16, 49, 100)
    torch.set_num_threads(1)
    torch.manual_seed(0)

    print(f"\n{samples} samples for each of {inputs} inputs: times in s, cells included")
    print(row("K", "h", "reference", "vwta", "ratio", "found, reference", "found, vwta"))
    for count in counts:
        print(row(count, 0.3, *bench_sample(count, 0.3, inputs, samples, rounds=10**4)), flush=True)
    rounds = 20
    print(row(49, 10.0, *bench_sample(49, 10.0, inputs, samples, rounds)), f" ({rounds} rounds)")

    rows = 3000 if quick else 100_000
    print(
        f"\nTraining, an epoch of {rows} rows in batches of 1024, validation included: times in s"
    )
    print(row("K", "reference", "vwta", "ratio"))
    for count in counts[-1:] if quick else (9, 16, 49, 100):
        print(row(count, *bench_training(count, rows, rounds=1 if quick else 3)), flush=True)

    print("\nTraining against the number N of rows: s an epoch, ours, K=16")
    sizes = (1000, 2000) if quick else (12_500, 25_000, 50_000, 100_000)
    print(row(*(f"N={size}" for size in sizes)))
    costs = [best([lambda size=size: train(16, *rows_of(size))], rounds=2)[0] for size in sizes]
    print(row(*(f"{cost:.2f}" for cost in costs)))

    print("\nTraining 20 small networks (a hidden layer of 50, K=5), an epoch: times in ms")
    print(row("rows", "inputs", "one by one", "stacked", "ratio"))
    for rows, inputs in ((50, 3),) if quick else ((364, 13), (742, 8), (5898, 8), (6889, 4)):
        print(row(rows, inputs, *bench_stack(rows, inputs, epochs=1 if quick else 5)), flush=True)

    print("\nMasses of 2,000 cells, K=16, h=.3: ns for each node of the quadrature")
    print(row("nodes", "mass", "expm1 alone", "cubic table"))
    print(row(*bench_nodes(50 if quick else INPUTS)))


def atoms(count: int, inputs: int) -> tuple[Tensor, Tensor]:
    """Points `(N, K, 2)` in the square and their masses `(N, K)`."""
    return torch.rand(inputs, count, 2) * 2 - 1, torch.rand(inputs, count).softmax(-1)


def bench_sample(
    count: int, h: float, inputs: int, samples: int, rounds: int
) -> tuple[object, ...]:
    points, masses = atoms(count, inputs)
    found: dict[str, float] = {}

    def plain() -> None:
        _, done = reference.sample(points, masses, h, samples, rounds)
        found["reference"] = done.double().mean().item()

    def ours() -> None:
        d = VoronoiMixture(points, masses, Gaussian(h), SQUARE)
        y = d.sample((samples,))
        found["vwta"] = SQUARE.contains(y).double().mean().item()

    slow, fast = best([plain, ours], rounds=1)
    shares = (f"{found[name]:.1%}" for name in ("reference", "vwta"))
    return f"{slow:.1f}", f"{fast:.2f}", f"{slow / fast:.1f}x", *shares


def bench_nodes(inputs: int, size: int = 24) -> tuple[object, ...]:
    """What a table of the exponential would save: a lookup against the whole mass of a cell."""
    points = atoms(16, inputs)[0].double()
    cells, cell = Tessellation(points, SQUARE, None), torch.arange(inputs) * 16
    kernel = Gaussian(torch.full((inputs,), 0.3, dtype=torch.float64))
    x = torch.rand(len(cells.edges_of(cell).cell), size, dtype=torch.float64)
    out, table = torch.empty_like(x), torch.rand(4096, 4, dtype=torch.float64)

    def lookup() -> Tensor:
        place = (4095 * x).long()
        c, t = table[place], 4095 * x - place
        return ((c[..., 3] * t + c[..., 2]) * t + c[..., 1]) * t + c[..., 0]

    functions = [lambda: cells.log_mass(cell, kernel), lambda: torch.expm1(x, out=out), lookup]
    return x.numel(), *(f"{seconds / x.numel() * 1e9:.1f}" for seconds in best(functions, 9))


def rows_of(size: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Rows for training, and a quarter of their number held out: `(n, 1)` and `(n, 2)` each."""
    x, y = torch.rand(size, 1), torch.randn(size, 2) / 4
    return (x, y), (x[: size // 4], y[: size // 4])


def train(count: int, rows: tuple[Tensor, Tensor], held_out: tuple[Tensor, Tensor]) -> None:
    network = WTANetwork(1, 2, count, [256, 256], bounded=True)
    loss = functools.partial(wta, beta=1.0, score_reduction="sum")
    criteria = {"loss": loss, "distance": winner_distance}
    fit(network, loss, criteria, FixedData(rows, held_out), Schedule(1, 1024, 1e-3), seed=0)


def bench_training(count: int, size: int, rounds: int) -> tuple[object, ...]:
    rows, held_out = rows_of(size)
    plain = reference_training.Training(count, [256, 256], rows, held_out, batch=1024)
    slow, fast = best([plain.epoch, lambda: train(count, rows, held_out)], rounds)
    return f"{slow:.2f}", f"{fast:.2f}", f"{slow / fast:.1f}x"


def bench_stack(size: int, inputs: int, epochs: int, networks: int = 20) -> tuple[object, ...]:
    """CPU time of an epoch of all networks, validation on a quarter as many rows included."""
    x, y = torch.randn(networks, size, inputs), torch.randn(networks, size, 1)
    held_out = x[:, : size // 4], y[:, : size // 4]
    alone = [
        reference_training.Training(5, [50], rows, part, batch=1024)
        for rows, part in zip(zip(x, y), zip(*held_out), strict=True)  # noqa: B905
    ]
    loss = functools.partial(wta, beta=1.0, score_reduction="sum")

    def plain() -> None:
        for training in alone:
            for _ in range(epochs):
                training.epoch()

    def ours() -> None:
        starts = [WTANetwork(inputs, 1, 5, [50], bounded=False) for _ in range(networks)]
        plan, seeds = Plan(epochs, batch_size=1024, learning_rate=1e-2), list(range(networks))
        fit_stacked(starts, loss, {"loss": loss}, FixedData((x, y), held_out), plan, seeds)

    slow, fast = (seconds / epochs for seconds in best([plain, ours], rounds=3))
    return f"{slow * 1e3:.0f}", f"{fast * 1e3:.1f}", f"{slow / fast:.1f}x"


def best(functions: list[Callable[[], object]], rounds: int) -> list[float]:
    """CPU seconds of each function: the least over rounds in which they alternate."""
    least = [math.inf] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            start = time.process_time()
            function()
            least[i] = min(least[i], time.process_time() - start)
    return least


def row(*cells: object) -> str:
    return "  ".join(f"{cell!s:>16}" for cell in cells)


if __name__ == "__main__":
    main()
