"""Pictures of predicted laws; each function takes matplotlib axes, or makes them, and returns them.

They need the extra `plot`: `pip install 'vwta[plot]'`.
"""

from __future__ import annotations

__all__ = [
    "bandwidth",
    "calibration",
    "cells",
    "density",
    "density2d",
    "fan",
    "odds",
    "scenarios",
    "sphere",
    "style",
    "sweep",
]

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"vwta.plot needs the package {error.name}. Remedy: pip install 'vwta[plot]'"
    ) from error

from vwta.plot.directions import sphere
from vwta.plot.line import density, fan, sweep
from vwta.plot.modes import scenarios
from vwta.plot.plane import cells, density2d
from vwta.plot.scores import bandwidth, calibration, odds
from vwta.style import style
