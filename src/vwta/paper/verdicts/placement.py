r"""Where hypotheses are: the lower right quadrant of the paper's first figure.

There, :math:`[0, 1] \times [-1, 0)`, the problem `uniform_to_gaussians` has its narrow Gaussian.
The paper says that a single hypothesis models it, and stands at its mean.
"""

from __future__ import annotations

__all__ = ["METRIC", "distances"]

import math
from pathlib import Path
from typing import Any

import numpy as np

DATASET, INPUTS = "uniform_to_gaussians", (0.6, 0.9)  # of the figure
MEAN, SCALE = (0.5, -0.5), 0.05  # of the narrow Gaussian
METRIC = "lone_hypothesis"


def distances(path: Path) -> list[dict[str, Any]]:
    """Rows of how far a lone hypothesis is from the mean, in standard deviations, for each K.

    It is the larger one for the two inputs of the figure, and infinite if the quadrant has no
    hypothesis, or several.

    Arguments:
        path: predictions, see :func:`vwta.paper.synthetic.explorer.export`.
    """
    from safetensors import safe_open

    rows = []
    with safe_open(path, framework="numpy") as file:
        names = [name for name in file.keys() if f"/{DATASET}/wta/" in name]  # noqa: SIM118
        at = [int(np.abs(file.get_tensor("x") - x).argmin()) for x in INPUTS] if names else []
        for name in (name for name in names if name.endswith("/points")):
            protocol, _, method, K, _ = name.split("/")
            points = file.get_tensor(name).astype(float)
            value = max(_distance(points[index]) for index in at)
            about = {"protocol": protocol, "dataset": DATASET, "method": method, "K": int(K[1:])}
            rows.append({**about, "metric": METRIC, "value": value, "n": len(INPUTS)})
    return rows


def _distance(points: np.ndarray) -> float:
    inside = points[(points[:, 0] >= 0) & (points[:, 1] < 0)]
    return math.dist(inside[0], MEAN) / SCALE if len(inside) == 1 else math.inf
