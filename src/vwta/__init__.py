"""Conditional density estimation with winner-takes-all learners.

Everything public is imported from here, on first use: `from vwta import Box, VoronoiMixture`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .directions import Directions as Directions
    from .distributions import DiracMixture as DiracMixture
    from .distributions import KernelMixture as KernelMixture
    from .distributions import VoronoiMixture as VoronoiMixture
    from .ensembles import Average as Average
    from .kernels import Gaussian as Gaussian
    from .kernels import Uniform as Uniform
    from .kernels import VonMisesFisher as VonMisesFisher
    from .spaces import Box as Box
    from .spaces import Sphere as Sphere

_MODULES = {
    "Box": "spaces",
    "Sphere": "spaces",
    "Gaussian": "kernels",
    "VonMisesFisher": "kernels",
    "Uniform": "kernels",
    "Directions": "directions",
    "DiracMixture": "distributions",
    "KernelMixture": "distributions",
    "VoronoiMixture": "distributions",
    "Average": "ensembles",
}
__all__ = sorted(_MODULES)  # noqa: PLE0605
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'vwta' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
