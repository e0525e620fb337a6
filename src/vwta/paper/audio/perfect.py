r"""A perfect learner: atoms that quantise each frame's true law best, as a bound for trained ones.

The true law of a frame is known: any of its sources is equally likely, with the noise of its class.
Lloyd's algorithm on points of that law gives atoms and masses that no network with K hypotheses can
be much better than. Its kernels are those of V-WTA and K-WTA, so that its NLL shows what is out of
reach of any training. It is measured on test targets, as networks are.
"""

from __future__ import annotations

__all__ = ["Settings", "perfect_rows"]

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vwta.distributions import bandwidth
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.geometry.angles import angle_between
from vwta.geometry.kernels import Uniform, VonMisesFisher
from vwta.geometry.lloyd import lloyd
from vwta.geometry.spaces import Sphere, unit
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.targets import Targets
from vwta.paper.metrics import nll
from vwta.seeds import generator

Law = VoronoiMixture | KernelMixture


@dataclass(frozen=True)
class Settings:
    """How the perfect learner is measured.

    Attributes:
        targets: how many test targets, each with the law of its frame.
        points: points of each law that atoms are fitted to.
        steps: of Lloyd's algorithm, at most.
    """

    targets: int
    points: int
    steps: int


def perfect_rows(
    targets: Targets,
    noise: Perturbation,
    K: int,
    h: Sequence[float],
    interval: tuple[float, float, float],
    seed: int,
    settings: Settings,
) -> Iterator[dict[str, Any]]:
    """Rows of metrics of a perfect learner with K atoms: NLL for each h and the best one, and risk.

    Methods are called as in the synthetic study, `v_lloyd`, `k_lloyd`, `unif_v_lloyd` and `lloyd`,
    so that claims are judged on them too. The best bandwidth is that of the measured targets
    themselves: no other has a lower NLL.

    Arguments:
        targets: of the test fold.
        noise: law of the noise.
        K: number of atoms.
        h: bandwidths.
        interval: lowest and highest bandwidth that is searched, and the tolerance.
        seed: of whatever is drawn.
        settings: how much is drawn.
    """
    points, masses, y = _fit(targets, noise, K, seed, settings)
    laws: dict[str, Law] = {
        "v_lloyd": VoronoiMixture(points, masses, VonMisesFisher(1.0), Sphere()),
        "k_lloyd": KernelMixture(points, masses, VonMisesFisher(1.0)),
    }
    for method, law in laws.items():
        found = bandwidth.tune(law, y, *interval)
        for at, tuned in (*((one, False) for one in h), (found.at, True)):
            value = nll(law.with_bandwidth(at).log_prob(y))
            about = {"method": method, "K": K, "h": at, "tuned": tuned}
            yield {**about, "metric": "nll", "value": value, "n": len(y)}
    value = nll(VoronoiMixture(points, masses, Uniform(), Sphere()).log_prob(y))
    yield {"method": "unif_v_lloyd", "K": K, "metric": "nll", "value": value, "n": len(y)}
    risk = angle_between(points, y[:, None]).amin(-1).square().mean().item()
    yield {"method": "lloyd", "K": K, "metric": "risk", "value": risk, "n": len(y)}


def _fit(
    targets: Targets, noise: Perturbation, K: int, seed: int, settings: Settings
) -> tuple[Tensor, Tensor, Tensor]:
    """Atoms `(m, K, 3)` and masses `(m, K)` for m targets, and these, `(m, 3)`."""
    source = generator(seed, "perfect", K)
    some = targets.some(settings.targets, source)
    atoms, masses = [], []
    for frame in some.frame.tolist():
        y = _draw(targets, noise, frame, settings.points, source)
        found = unit(lloyd(y, K, 1, settings.steps, source)[0])
        winner = (y @ found.T).argmax(-1)
        share = torch.bincount(winner, minlength=K).to(y) + 0.5  # Krichevsky and Trofimov
        atoms.append(found)
        masses.append(share / share.sum())
    return torch.stack(atoms), torch.stack(masses), some.y


def _draw(
    targets: Targets, noise: Perturbation, frame: int, count: int, source: torch.Generator
) -> Tensor:
    """Points `(count, 3)` of the true law of a frame."""
    places = torch.nonzero(targets.kind[frame] >= 0)[:, 0]
    place = places[torch.randint(len(places), (count,), generator=source)]
    return noise.draw(targets.direction[frame][place], targets.kind[frame][place], source)
