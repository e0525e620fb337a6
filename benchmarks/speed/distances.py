"""The job on earth mover's distances between samples of a true law and of a trained network."""

from __future__ import annotations

__all__ = ["DISTANCES"]

from pathlib import Path
from unittest.mock import patch

import cv2
import lap
import numpy as np
import ot
import torch
from job import Array, Job
from safetensors.torch import load_file
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from yaml import safe_load

from vwta import Box, Gaussian, VoronoiMixture
from vwta.paper.emd import emd
from vwta.paper.synthetic.true_laws import problem

ROOT = Path(__file__).resolve().parents[2]
H = 0.3
Pairs = list[tuple[Array, Array]]


def _pairs(count: int) -> Pairs:
    """For each synthetic problem as many points of its law as of a published network, K = 16."""
    published = load_file(ROOT / "docs/results/synthetic/explorer.safetensors")
    config = safe_load((ROOT / "config/config.yaml").read_text())["synthetic"]
    pairs = []
    for i, name in enumerate(config["datasets"]):
        law, at = problem(name, **config["constants"].get(name, {})), 10 * i
        points, masses = (published[f"paper/{name}/wta/K16/{x}"][at] for x in ("points", "masses"))
        estimate = VoronoiMixture(points.clamp(-1, 1), masses, Gaussian(H), Box(-1.0, 1.0))
        generator = torch.Generator().manual_seed(i)
        y = law.sample(published["x"][at].view(1, 1), count, generator)[:, 0]
        z = estimate.sample((count,), generator)
        pairs.append((y.double().numpy(), z.double().numpy()))
    return pairs


def _mean(y: Array, z: Array, best: Array) -> float:
    return float(np.linalg.norm(y - z[best], axis=1).mean())


def _pot(y: Array, z: Array) -> float:
    even = np.full(len(y), 1 / len(y))
    return float(ot.emd2(even, even, cdist(y, z), numItermax=10**7))


def _scipy(y: Array, z: Array) -> float:
    return _mean(y, z, linear_sum_assignment(cdist(y, z))[1])


def _solve(cost: Array) -> tuple[Array, Array]:
    rows, columns = lap.lapjvr(cost, return_cost=False)
    return rows, columns


def _lapx(y: Array, z: Array) -> float:
    return _mean(y, z, _solve(cdist(y, z))[1])


def _ours_with_lapx(y: Array, z: Array) -> float:
    """Ours, potentials included, with another solver in place of scipy's."""
    with patch("vwta.paper.emd.linear_sum_assignment", _solve):
        return emd(y, z)


def _opencv(y: Array, z: Array) -> float:
    even = np.full((len(y), 1), 1 / len(y))
    signatures = (np.concatenate([even, x], axis=1).astype(np.float32) for x in (y, z))
    return float(cv2.EMD(*signatures, cv2.DIST_L2)[0])


def _bounds(pairs: Pairs) -> tuple[Array, Array]:
    """Lower bounds by duality, which the distances attain: prices that no pair exceeds."""
    found = []
    for y, z in pairs:
        cost, even = cdist(y, z), np.full(len(y), 1 / len(y))
        _, log = ot.emd2(even, even, cost, numItermax=10**7, log=True)
        prices = log["v"]
        found.append((cost - prices).min(1).mean() + prices.mean())
    return np.arange(len(pairs)), np.log(found)


SIDES = {
    "vwta": emd,
    "vwta with lapjvr": _ours_with_lapx,
    "lapjvr": _lapx,
    "POT": _pot,
    "scipy": _scipy,
    "OpenCV": _opencv,
}
DISTANCES = Job(
    "4 earth mover's distances",
    "square",
    "n",
    (100, 200, 500, 1000),
    _pairs,
    {
        name: lambda pairs, side=side: np.log([side(y, z) for y, z in pairs])
        for name, side in SIDES.items()
    },
    _bounds,
)
