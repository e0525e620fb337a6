"""One law used by many threads gives each of them what it gives one alone."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from torch import Tensor

from vwta import Box, Gaussian, Sphere, VonMisesFisher, VoronoiMixture
from vwta.geometry.directions import Directions

THREADS, ATOMS = 8, 20
ROUNDS = {"line": 8, "plane": 5, "sphere": 3, "solid": 3}  # questions of each thread


@pytest.fixture(autouse=True)
def _hurried() -> Iterator[None]:
    """Threads give way to one another as often as can be."""
    interval, threads = sys.getswitchinterval(), torch.get_num_threads()
    sys.setswitchinterval(1e-6)
    torch.set_num_threads(1)
    yield
    sys.setswitchinterval(interval)
    torch.set_num_threads(threads)


def law_of(name: str) -> VoronoiMixture:
    """A law of some atoms, a new one in each call."""
    generator = torch.Generator().manual_seed(len(name))
    d = {"line": 1, "plane": 2, "sphere": 3, "solid": 3}[name]
    points = torch.rand(ATOMS, d, dtype=torch.float64, generator=generator) * 2 - 1
    masses = torch.full((ATOMS,), 1 / ATOMS, dtype=torch.float64)
    if name == "sphere":
        points = torch.nn.functional.normalize(points, dim=-1)
        return VoronoiMixture(points, masses, VonMisesFisher(0.2), Sphere())
    directions = Directions(64) if name == "solid" else None
    return VoronoiMixture(points, masses, Gaussian(0.2), Box(-1.0, 1.0), directions)


def targets(law: VoronoiMixture, seed: int) -> Tensor:
    """Points of the law's space, other ones for each seed."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.rand(1 + seed % 5, law.event_shape[0], dtype=torch.float64, generator=generator)
    y = y * 2 - 1
    return torch.nn.functional.normalize(y, dim=-1) if isinstance(law.space, Sphere) else y


def density(law: VoronoiMixture, seed: int) -> Tensor:
    return law.log_prob(targets(law, seed))


def other_bandwidth(law: VoronoiMixture, seed: int) -> Tensor:
    return law.with_bandwidth(0.1 + 0.01 * seed).log_prob(targets(law, seed))


def everything(law: VoronoiMixture, seed: int) -> Tensor:
    """Densities, masses, moments and samples in turns."""
    ask: list[Callable[[], Tensor]] = [
        lambda: law.log_prob(targets(law, seed)),
        lambda: law.log_cell_mass,
        lambda: torch.stack([law.mean, law.variance]),
        lambda: law.sample((3,), torch.Generator().manual_seed(seed)),
    ]
    return ask[seed % len(ask)]()


@pytest.mark.parametrize("ask", [density, other_bandwidth, everything])
@pytest.mark.parametrize("name", ROUNDS)
def test_threads_share_a_law(name: str, ask: Callable[[VoronoiMixture, int], Tensor]) -> None:
    """All threads start at once on a law that has not been asked for anything."""
    alone = [ask(law_of(name), seed) for seed in range(THREADS * ROUNDS[name])]
    shared, start, rounds = law_of(name), Barrier(THREADS), ROUNDS[name]

    def work(thread: int) -> list[Tensor | Exception]:
        start.wait()
        return [_outcome(ask, shared, thread * rounds + i) for i in range(rounds)]

    with ThreadPoolExecutor(THREADS) as pool:
        found = [x for part in pool.map(work, range(THREADS)) for x in part]
    raised = [x for x in found if isinstance(x, Exception)]
    wrong = [
        float((x - y).abs().max())
        for x, y in zip(found, alone, strict=True)
        if isinstance(x, Tensor) and not torch.equal(x, y)
    ]
    worst = max(wrong, default=0.0)
    assert not raised
    # Sums of other sizes are rounded in another order.
    assert worst <= 1e-12, f"{len(wrong)} of {len(found)} answers differ, by up to {worst:.2g}"


def _outcome(
    ask: Callable[[VoronoiMixture, int], Tensor], law: VoronoiMixture, seed: int
) -> Tensor | Exception:
    try:
        return ask(law, seed)
    except Exception as error:
        return error
