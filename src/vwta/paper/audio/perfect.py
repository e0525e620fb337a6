r"""A perfect learner: atoms that quantise each frame's true law best, as a bound for trained ones.

The true law of a frame is known: any of its sources is equally likely, with the noise of its class.
Atoms are fitted to evenly spread points of that law, and measured on test targets, as networks are.

* `lloyd`: Lloyd's algorithm. Its risk is an estimate from above of the least one with K atoms.
* `v_lloyd`, `k_lloyd`, `unif_v_lloyd`: V-WTA, K-WTA and uniform kernels with these atoms and the
  masses of their cells. The tuned h is the best one for the measured targets themselves, so that
  with these atoms no h has a lower NLL: of the choice of h this is a lower bound.
* `best_m_vmf`: the mixture to which EM leads from Lloyd's cells. Its NLL is an estimate from above:
  that of the best K modes lies between the true law's and this one. Its risk is that of its modes.

A network that is trained as the paper trains WTA has atoms that are no better quantisers, and no
better h. Its atoms may still have a lower NLL than Lloyd's, which are not chosen by likelihood: of
V-WTA's NLL this is an estimate, and of all networks the true law's NLL is the only strict bound.
"""

from __future__ import annotations

__all__ = ["Settings", "perfect_rows"]

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from vwta.distributions import bandwidth
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.geometry.angles import angle_between, from_angles, to_angles
from vwta.geometry.kernels import Uniform, VonMisesFisher
from vwta.geometry.lloyd import lloyd
from vwta.geometry.spaces import Sphere, unit
from vwta.paper.audio.em import Mixture, fit_mixture
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
        steps: of Lloyd's algorithm, at most, and of EM.
    """

    targets: int
    points: int
    steps: int


class Fitted(NamedTuple):
    """What is fitted to the laws of m frames, and a target of each.

    Attributes:
        points: Lloyd's atoms, with shape `(m, K, 3)`.
        masses: of their cells, with shape `(m, K)`.
        mixtures: EM's mixtures, whose fields have the shapes of these two, and `h` `(m, K)`.
        y: the targets, with shape `(m, 3)`.
    """

    points: Tensor
    masses: Tensor
    mixtures: Mixture
    y: Tensor


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

    Methods of WTA are called as in the synthetic study, so that claims are judged on them too.

    Arguments:
        targets: of the test fold.
        noise: law of the noise.
        K: number of atoms.
        h: bandwidths.
        interval: lowest and highest bandwidth that is searched, and the tolerance.
        seed: of whatever is drawn.
        settings: how much is drawn.
    """
    points, masses, mixtures, y = _fit(targets, noise, K, seed, settings, interval[0])
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
    fixed: dict[str, Law] = {
        "unif_v_lloyd": VoronoiMixture(points, masses, Uniform(), Sphere()),
        "best_m_vmf": KernelMixture(mixtures.points, mixtures.masses, VonMisesFisher(mixtures.h)),
    }
    for method, law in fixed.items():
        value = nll(law.log_prob(y))
        yield {"method": method, "K": K, "metric": "nll", "value": value, "n": len(y)}
    for method, atoms in (("lloyd", points), ("best_m_vmf", mixtures.points)):
        risk = angle_between(atoms, y[:, None]).amin(-1).square().mean().item()
        yield {"method": method, "K": K, "metric": "risk", "value": risk, "n": len(y)}


def _fit(
    targets: Targets, noise: Perturbation, K: int, seed: int, settings: Settings, narrowest: float
) -> Fitted:
    """Atoms, masses and mixtures for the laws of some targets."""
    source = generator(seed, "perfect", K)
    some = targets.some(settings.targets, source)
    normal = _normal(settings.points, seed)
    atoms, masses, mixtures = [], [], []
    for frame in some.frame.tolist():
        y = _points(targets, noise, frame, normal)
        found = unit(lloyd(y, K, 1, settings.steps, source)[0])
        winner = (y @ found.T).argmax(-1)
        share = torch.bincount(winner, minlength=K).to(y) + 0.5  # Krichevsky and Trofimov
        atoms.append(found)
        masses.append(share / share.sum())
        mixtures.append(fit_mixture(y, winner, K, settings.steps, narrowest))
    fields = (torch.stack(field) for field in zip(*mixtures, strict=True))
    return Fitted(torch.stack(atoms), torch.stack(masses), Mixture(*fields), some.y)


def _normal(count: int, seed: int) -> Tensor:
    """Evenly spread points `(count, 2)` of the standard normal law, by a scrambled Sobol sequence.

    So is each of their beginnings. Atoms fit them less than random ones, at the law's expense.
    """
    uniform = SobolEngine(2, scramble=True, seed=seed).draw(count, dtype=torch.float64)
    normal: Tensor = torch.special.ndtri(uniform.clamp(1e-12, 1 - 1e-12))
    return normal


def _points(targets: Targets, noise: Perturbation, frame: int, normal: Tensor) -> Tensor:
    """Points `(n, 3)` of the true law of a frame, equally many of each source."""
    there = targets.kind[frame] >= 0
    angles = to_angles(targets.direction[frame][there])
    scale = noise.scales[targets.kind[frame][there]]
    each = normal[: len(normal) // len(scale)]
    return from_angles(angles[:, None] + scale[:, None, None] * each).flatten(0, 1)
