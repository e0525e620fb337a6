"""A small data set that comes with a package, for runs without any network."""

from __future__ import annotations

__all__ = ["diabetes"]

import numpy as np

from vwta.io.errors import Mismatch
from vwta.paper.uci.regression import Table, matrix_sha256


def diabetes(sha256: str | None = None) -> Table:
    """Data set for the UCI study from a package: diabetes in 442 patients, 10 measurements.

    It is part of scikit-learn. See Efron, Hastie, Johnstone, Tibshirani: *Least angle regression*,
    Annals of Statistics 32(2), 2004.

    Arguments:
        sha256: what :func:`vwta.paper.uci.regression.matrix_sha256` must give for inputs and
            target.
    """
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    inputs, target = bunch.data.astype(np.float64), bunch.target.astype(np.float64)
    found = matrix_sha256(np.column_stack([inputs, target])) if sha256 else None
    if found != sha256:
        raise Mismatch(
            f"diabetes of scikit-learn has other numbers: sha256 {sha256} is expected, {found} was "
            "found. Remedy: install the version of scikit-learn in requirements.lock"
        )
    return Table("diabetes", inputs, target, tuple(bunch.feature_names), "progression")
