"""One law used by many threads gives each of them what it gives one alone."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest
import torch
from torch import Tensor
from torch.distributions import Distribution, MultivariateNormal

from vwta import Average, Box, Gaussian, KernelMixture, Sphere, VonMisesFisher, VoronoiMixture
from vwta.distributions.regions import density_rank, hdr
from vwta.geometry.directions import Directions
from vwta.nn.networks import initialise

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


class Slow(MultivariateNormal):
    """A law of torch that is in the middle of its samples when another thread asks for its own."""

    meet: Barrier

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        first = super().sample(torch.Size(sample_shape))
        _wait_a_little(self.meet)
        return first + super().sample(torch.Size(sample_shape))


def _wait_a_little(meet: Barrier) -> None:
    with suppress(BrokenBarrierError):  # nobody else may come
        meet.wait(2.0)


def test_seeds_of_threads_do_not_mix() -> None:
    """Samples of laws that only know torch's own generator, and initial weights."""

    def region(seed: int) -> Tensor:
        law = Slow(torch.zeros(2), torch.eye(2))
        law.meet = meet
        return hdr(law, 0.5, 50, seed).log_threshold

    def weights(seed: int) -> Tensor:
        def build() -> torch.nn.Module:
            first = torch.nn.Linear(2, 2)
            _wait_a_little(meet)
            return torch.nn.Sequential(first, torch.nn.Linear(2, 2))

        return torch.cat([x.detach().flatten() for x in initialise({}, seed, build).parameters()])

    for ask in (region, weights):
        meet = Barrier(1)
        alone = [ask(seed) for seed in (1, 2)]
        meet = Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(ask, (1, 2)))
        assert all(map(torch.equal, found, alone))


def test_regions_leave_the_samples_of_other_threads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mixtures have a generator of their own: no other thread's samples come twice."""
    flat = law_of("plane")
    smooth = KernelMixture(flat.points, flat.masses, flat.kernel)
    laws: list[Distribution] = [flat, smooth, Average([flat, smooth]), law_of("sphere")]
    expected = [hdr(law, 0.5, 50).log_threshold for law in laws]
    monkeypatch.setattr(torch, "manual_seed", lambda seed: pytest.fail("all threads share this"))
    before = torch.random.get_rng_state()
    assert all(map(torch.equal, [hdr(law, 0.5, 50).log_threshold for law in laws], expected))
    density_rank(flat, flat.points[0], 50)
    assert torch.equal(torch.random.get_rng_state(), before)
