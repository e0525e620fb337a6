"""Models in one file: weights and calibration as safetensors, all else as JSON; no pickle."""

from __future__ import annotations

__all__ = ["read_model", "write_model"]

from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from vwta.estimator.columns import Columns
from vwta.estimator.conformal import Calibration
from vwta.estimator.heads import HEADS, TRAININGS, Sizes
from vwta.estimator.targets import Targets
from vwta.geometry.spaces import Box
from vwta.io.errors import BadWeights, Damaged, restored_from
from vwta.io.storage import below, read_tensors, write_tensors
from vwta.nn.networks import restore

FORMAT = 2
ATTRIBUTES = (  # fitted attributes that JSON holds as they are
    *("head_", "number_", "heads_", "n_features_in_", "unused_hypotheses_"),
    *("epochs_", "n_hypotheses_"),
)


def write_model(model: Any, path: str | Path) -> None:
    """Writes a fitted model to a file, completely or not at all.

    Arguments:
        model: a :class:`~vwta.estimator.regressor.VoronoiRegressor`.
        path: the file, such as `model.vwta`.
    """
    tensors = {
        f"member{index}.{name}": value
        for index, network in enumerate(model.networks_)
        for name, value in network.state_dict().items()
    }
    if model.calibration_ is not None:
        tensors["calibration"] = model.calibration_.scores
    metadata = {
        "format": FORMAT,
        "parameters": _parameters(model),
        "fitted": {name: getattr(model, name) for name in ATTRIBUTES},
        "features": _features(model),
        "sizes": model.sizes_._asdict(),
        "columns": model.columns_.to_json(),
        "targets": model.targets_.to_json(),
    }
    write_tensors(Path(path), tensors, metadata)


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and fitted attributes of the model in a file.

    Arguments:
        path: the file.
    """
    path = Path(path)
    tensors, stored = _contents(path)
    with restored_from(path):
        found = {name: stored["fitted"][name] for name in ATTRIBUTES}
        if stored["features"] is not None:
            found["feature_names_in_"] = np.array(stored["features"], dtype=object)
        sizes = Sizes(**stored["sizes"])
        build = TRAININGS[HEADS[found["head_"]].training].build
        scores = tensors.get("calibration")
        found |= {
            "sizes_": sizes,
            "columns_": Columns.from_json(stored["columns"]),
            "targets_": Targets(**stored["targets"]),
            "networks_": [
                restore({"sizes": sizes}, below(f"member{index}.", tensors), build)
                for index in range(_members(tensors))
            ],
            "calibration_": None if scores is None else Calibration(scores),
        }
        return _restored(stored["parameters"]), found


def _contents(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and JSON of a file of this format."""
    try:
        tensors, stored = read_tensors(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: no such file. Remedy: check the path") from error
    except Damaged as error:
        raise BadWeights(
            f"{path} is not a model of vwta, or is damaged: {error.why}. Remedy: save the model "
            "again"
        ) from error
    if stored.get("format") != FORMAT:
        raise BadWeights(
            f"{path} has the format {stored.get('format')}, and this version of vwta reads "
            f"{FORMAT}. Remedy: fit and save the model again, or update vwta"
        )
    return tensors, stored


def _parameters(model: Any) -> dict[str, Any]:
    """Parameters as JSON; those that have no meaning elsewhere are left out."""
    found = {name: _plain(value) for name, value in model.get_params(deep=False).items()}
    if isinstance(found["space"], Box):
        found["space"] = {"low": found["space"].low.tolist(), "high": found["space"].high.tolist()}
    if not isinstance(found["random_state"], int | None):
        found["random_state"] = None
    hidden = [_plain(width) for width in found["hidden"]]
    return {**found, "hidden": hidden, "device": str(found["device"]), "checkpoint": None}


def _plain(value: Any) -> Any:
    """A number of numpy, as grid searches give it, as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _restored(stored: dict[str, Any]) -> dict[str, Any]:
    space = stored["space"]
    return {
        **stored,
        "space": Box(**space) if isinstance(space, dict) else space,
        "hidden": tuple(stored["hidden"]),
    }


def _features(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _members(tensors: dict[str, Any]) -> int:
    return len({name.partition(".")[0] for name in tensors if name.startswith("member")})
