"""Parameters of an estimator are checked before anything is trained."""

from __future__ import annotations

__all__ = ["check_parameters"]

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch

NUMBERS: dict[str, tuple[Callable[[float], bool], str]] = {
    "validation_fraction": (lambda x: 0 < x < 1, "between 0 and 1, such as 0.2"),
    "learning_rate": (lambda x: x > 0, "above 0, such as 0.005"),
    "weight_decay": (lambda x: x >= 0, "above 0, or 0 for no decay"),
}
SEEDS = 2**32  # scikit-learn and numpy take seeds below


def check_parameters(model: Any) -> None:
    """Raises an error that names the first wrong parameter of a model and the remedy.

    Arguments:
        model: a :class:`~vwta.estimator.regressor.VoronoiRegressor`.
    """
    for name in ("n_hypotheses", "members", "steps", "batch_size"):
        value = getattr(model, name)
        if not (_is_whole(value) and value >= 1):
            raise ValueError(f"{name} is {value!r}. Remedy: give a whole number from 1 on")
    for name, (right, remedy) in NUMBERS.items():
        value = getattr(model, name)
        if not (_is_finite(value) and right(value)):
            raise ValueError(f"{name} is {value!r}. Remedy: give a number {remedy}")
    widths = model.hidden if isinstance(model.hidden, Sequence) else ()
    if not widths or not all(_is_whole(width) and width >= 1 for width in widths):
        raise ValueError(f"hidden is {model.hidden!r}. Remedy: give widths of layers, as (64, 64)")
    if not (isinstance(model.progress, bool | np.bool_) or model.progress == "auto"):
        raise ValueError(f"progress is {model.progress!r}. Remedy: give True, False or 'auto'")
    _check_seed(model.random_state)
    _check_device(model.device)


def _check_seed(seed: Any) -> None:
    if seed is None or isinstance(seed, np.random.RandomState):
        return
    if not (_is_whole(seed) and 0 <= seed < SEEDS):
        raise ValueError(
            f"random_state is {seed!r}. Remedy: give a whole number from 0 to {SEEDS - 1}, a "
            "RandomState or None"
        )


def _check_device(device: Any) -> None:
    try:
        torch.device("cpu" if device == "auto" else device)
    except (RuntimeError, TypeError):
        message = f"device {device!r}. Remedy: choose 'auto', 'cpu' or 'cuda'"
        raise ValueError(message) from None


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
