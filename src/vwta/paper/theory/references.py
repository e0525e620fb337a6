"""Reference risks of a problem: the asymptotic ones of theory, and Lloyd's optimum for each K."""

from __future__ import annotations

__all__ = ["evaluate_theory", "lloyd_risk"]

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from vwta.geometry.lloyd import lloyd
from vwta.paper.metrics import MetricsFile, risk
from vwta.paper.synthetic.true_laws import Problem, problem
from vwta.paper.theory.zador import effective_area, entropy, grid_risk, zador_risk
from vwta.seeds import generator

logger = logging.getLogger(__name__)


def evaluate_theory(
    constants: Mapping[str, Any],
    counts: Sequence[int],
    low: Sequence[float],
    high: Sequence[float],
    optimum: Mapping[str, int],
    output: MetricsFile,
) -> None:
    """Writes the tidy reference values of theory for a problem, averaged over x.

    Metrics are `risk`, with the methods `zador` (lowest risk for large K), `zador_hist` (a grid's
    risk for large K) and `lloyd`, and `entropy` of the `truth`.

    Arguments:
        constants: the problem's constants.
        counts: numbers K of atoms.
        low: lower corner of the domain.
        high: upper corner.
        optimum: arguments of :func:`lloyd_risk`.
        output: file to write.
    """
    law = problem(output.dataset, **constants)
    area = effective_area(law)
    volume = math.prod(b - a for a, b in zip(low, high, strict=True))
    rows: list[dict[str, Any]] = [{"method": "truth", "metric": "entropy", "value": entropy(law)}]
    for K in counts:
        rows += [
            {"method": "zador", "K": K, "value": zador_risk(area, K)},
            {"method": "zador_hist", "K": K, "value": grid_risk(volume, K)},
        ]
        best = lloyd_risk(law, K, **optimum)
        logger.info("K=%d: Zador %.3g, Lloyd %.3g", K, zador_risk(area, K), best)
        n = optimum["inputs"] * optimum["rows"]
        rows.append({"method": "lloyd", "K": K, "value": best, "n": n})
    output.write({"metric": "risk", **row} for row in rows)


def lloyd_risk(
    law: Problem, K: int, inputs: int, rows: int, starts: int, steps: int, seed: int
) -> float:
    """Reference risk of K atoms that Lloyd's algorithm finds for some inputs, on fresh points.

    Arguments:
        law: the problem.
        K: number of atoms.
        inputs: number of values of x, the middles of as many intervals of [0, 1].
        rows: points for each of them that atoms are fitted to, and as many to measure them on.
        starts: see :func:`vwta.geometry.lloyd.lloyd`.
        steps: likewise.
        seed: seed of points and starts.
    """
    total = 0.0
    for index in range(inputs):
        source = generator(seed, "lloyd", K, index)
        x = torch.tensor([(index + 0.5) / inputs])
        atoms, _ = lloyd(law.sample(x, rows, source), K, starts, steps, source)
        fresh = law.sample(x, rows, source)
        total += sum(risk(atoms, part) * len(part) for part in fresh.split(4096)) / rows
    return total / inputs
