"""Models that were saved."""

from __future__ import annotations

__all__ = ["load"]

from pathlib import Path

from vwta.estimator.files import read_model
from vwta.estimator.regressor import VoronoiRegressor


def load(path: str | Path) -> VoronoiRegressor:
    """Reads a model that :meth:`VoronoiRegressor.save` wrote, on this machine or another one.

    Arguments:
        path: the file.
    """
    parameters, fitted = read_model(path)
    model = VoronoiRegressor(**parameters)
    for name, value in fitted.items():
        setattr(model, name, value)
    return model
