"""The true law of a problem, evaluated as the estimators are: what the best of them could reach."""

from __future__ import annotations

__all__ = ["evaluate_truth"]

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vwta.data.synthetic import problem
from vwta.metrics import likelihood_rows, tidy
from vwta.provenance import provenance
from vwta.spaces import Box
from vwta.storage import read_tensors, sha256, write_table


def evaluate_truth(
    constants: Mapping[str, Any],
    data: Path,
    path: Path,
    low: Sequence[float],
    high: Sequence[float],
    epsilon: float,
    cap: float,
    code: str,
    protocol: str,
    dataset: str,
) -> None:
    """Writes the tidy metrics of the true law on the test points.

    `outside` is the number of points outside the domain, which no method's `nll` counts.

    Arguments:
        constants: the problem's constants.
        data: file of the sets.
        path: file to write.
        low: lower corner of the domain.
        high: upper corner.
        epsilon: see :func:`vwta.metrics.nll_capped`.
        cap: likewise.
        code: digest of the code.
        protocol: name of the protocol.
        dataset: name of the problem.
    """
    sets, _ = read_tensors(data)
    x, y = sets["x_test"].double(), sets["y_test"].double()
    log_prob = problem(dataset, **constants).log_density(x, y)
    inside = Box(low, high).contains(y)
    rows = likelihood_rows(log_prob, inside, epsilon, cap)
    rows += [{"metric": "outside", "value": int((~inside).sum()), "n": len(y)}]
    common = {"study": "synthetic", "protocol": protocol, "dataset": dataset, "method": "truth"}
    record = provenance(code=code, data=sha256(data))
    write_table(path, tidy(rows, **common), {"provenance": record})
