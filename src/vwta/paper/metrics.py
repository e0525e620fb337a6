"""Metrics: plain functions of log-densities and atoms, and the tidy table they are gathered in.

The table has one row a number. The number is identified by the columns `study`,
`protocol`, `dataset`, `method`, `K`, `h`, `tuned`, `seed`, `split` and `metric`; `value` is the
number, and `n` tells how many points it averages over. Where a column does not apply it is missing.

`h` is the bandwidth a number was measured at; of local kernels, which have one for each cell, a
factor on all of them. Either it was given, the same for all seeds, or it
was chosen for this very network, as the one with the lowest NLL of the validation rows: `tuned` is
true then. So the NLL at the tuned bandwidth is the row of metric `nll` whose `tuned` is true, its
`h` is the outcome of the search, and curves over given bandwidths leave such rows out.
"""

from __future__ import annotations

__all__ = [
    "COLUMNS",
    "MetricsFile",
    "likelihood_rows",
    "nll",
    "nll_capped",
    "of_protocol",
    "risk",
    "rmse",
    "tidy",
]

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from vwta.io.provenance import provenance
from vwta.io.storage import write_table

if TYPE_CHECKING:  # torch takes a second to import, and pictures and tables need none of it
    from torch import Tensor

COLUMNS: dict[str, str] = {
    "study": "str",
    "protocol": "str",
    "dataset": "str",
    "method": "str",
    "K": "Int64",
    "h": "float64",
    "tuned": "bool",
    "seed": "Int64",
    "split": "Int64",
    "metric": "str",
    "value": "float64",
    "n": "Int64",
}


def nll(log_prob: Tensor) -> float:
    r"""Metric: negative log-likelihood :math:`-\frac{1}{n} \sum_i \log p(y_i | x_i)`, in nats.

    Arguments:
        log_prob: log-densities, with shape `(n,)`. One of -inf makes the outcome inf: leave out
            what lies outside the domain beforehand, and report how much that is.
    """
    return -log_prob.mean().item()


def nll_capped(log_prob: Tensor, epsilon: float, cap: float) -> float:
    r"""Metric: negative log-likelihood as the published code has it, over all points.

    .. math:: \frac{1}{n} \sum_i \min(-\log(p(y_i | x_i) + \epsilon), c)

    Arguments:
        log_prob: log-densities, with shape `(n,)`; -inf is allowed.
        epsilon: added to each density.
        cap: largest contribution of a point.
    """
    softened = log_prob.logaddexp(log_prob.new_tensor(math.log(epsilon)))
    return (-softened).clamp(max=cap).mean().item()


def risk(points: Tensor, y: Tensor) -> float:
    r"""Metric: quantisation error :math:`\frac{1}{n} \sum_i \min_k \|z_k(x_i) - y_i\|^2`.

    Arguments:
        points: atoms, with shape `(n, K, d)`.
        y: targets, with shape `(n, d)`.
    """
    return (points - y.unsqueeze(-2)).square().sum(-1).amin(-1).mean().item()


def rmse(mean: Tensor, y: Tensor) -> float:
    r"""Metric: root mean squared error :math:`\sqrt{\frac{1}{n} \sum_i \|m(x_i) - y_i\|^2}`.

    Arguments:
        mean: means of the laws, with shape `(n, d)`.
        y: targets, with shape `(n, d)`.
    """
    if mean.shape != y.shape or y.dim() != 2:
        raise ValueError(
            f"mean {tuple(mean.shape)} and y {tuple(y.shape)} must have the same shape (n, d)"
        )
    return (mean - y).double().square().sum(-1).mean().sqrt().item()


def tidy(rows: Iterable[Mapping[str, Any]], **common: Any) -> pd.DataFrame:
    """Tidy table of metrics, one row a number.

    Arguments:
        rows: for each number its `metric`, `value`, `n` (points it averages over), and whichever
            other columns it has. Columns without a value are missing (`NA`), except `tuned`, which
            is false unless given.
        common: columns that are the same for all rows.

    Example:
        >>> tidy([{"metric": "nll", "value": 0.5, "n": 10}], study="synthetic").shape
        (1, 12)
    """
    records = [{"tuned": False, **common, **row} for row in rows]
    unknown = {name for record in records for name in record} - COLUMNS.keys()
    if unknown:
        raise ValueError(f"unknown columns {sorted(unknown)}: expected some of {list(COLUMNS)}")
    return pd.DataFrame(records, columns=list(COLUMNS)).astype(COLUMNS)


@dataclass(frozen=True)
class MetricsFile:
    """A file of tidy metrics that an evaluation writes.

    Attributes:
        path: its path.
        study: name of the study.
        protocol: name of the protocol.
        dataset: name of the problem or data set.
        code: digest of the code.
    """

    path: Path
    study: str
    protocol: str
    dataset: str
    code: str

    def write(self, rows: Iterable[Mapping[str, Any]], **facts: Any) -> None:
        """Writes the table, and a record of what its numbers come from.

        Arguments:
            rows: see :func:`tidy`.
            facts: facts of the record, such as the hash of the data.
        """
        table = tidy(rows, study=self.study, protocol=self.protocol, dataset=self.dataset)
        write_table(self.path, table, {"provenance": provenance(code=self.code, **facts)})


def of_protocol(table: pd.DataFrame, protocol: str, otherwise: str) -> pd.DataFrame:
    """Rows of metrics of a protocol, and of another for methods that it has none of.

    Rows of the other one are given as if they were the protocol's own.
    A protocol that takes the networks of another differs from it for some methods alone.

    Arguments:
        table: tidy table.
        protocol: the protocol.
        otherwise: the other one.
    """
    own, other = (table[table["protocol"] == name] for name in (protocol, otherwise))
    lacking = ~other["method"].isin(own["method"])
    return pd.concat([own, other[lacking].assign(protocol=protocol)], ignore_index=True)


def likelihood_rows(
    log_prob: Tensor, inside: Tensor, epsilon: float, cap: float
) -> list[dict[str, Any]]:
    """Rows of metrics for the likelihood of some points.

    Arguments:
        log_prob: log-densities, with shape `(n,)`.
        inside: whether each point lies in the domain, with shape `(n,)`. `nll` is over these alone,
            for every method; `nll_capped` is over all.
        epsilon: see :func:`nll_capped`.
        cap: likewise.
    """
    capped = nll_capped(log_prob, epsilon, cap)
    return [
        {"metric": "nll", "value": nll(log_prob[inside]), "n": int(inside.sum())},
        {"metric": "nll_capped", "value": capped, "n": len(log_prob)},
    ]
