"""An explorer of one's own model: predicted laws along some features, as a page in one file.

Laws are computed here on a grid of the features; other features stay at typical values: the median,
or the most frequent category. The page draws them with the same formulas.
"""

from __future__ import annotations

__all__ = ["explore"]

import base64
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vwta.distributions.axes import AxisMixture
from vwta.distributions.mixtures import VoronoiMixture
from vwta.distributions.profile import Curves, kernels_of
from vwta.estimator.columns import Categories, Numbers
from vwta.estimator.predicted import PredictedLaw, masses_of, members_of
from vwta.geometry.spaces import Box
from vwta.io.storage import atomic
from vwta.web.markup import Html, as_json, element, join
from vwta.web.pages import asset, document

STEPS = (101, 31, 13)  # values of each feature if there are one, two or three of them
LEVELS = 12  # most categories of a feature that can be chosen
REACH = 2.0  # standard deviations from the mean that a slider goes, within the training values
FAR = 1e4  # where the plane ends in the page, in scaled units
WINDOW = 256  # laws by which the picture's window is found
ABOUT = (
    "The predicted law for features of your choice; those without a slider stay at typical values. "
    "Shaded is the density; circles are hypotheses, darker where their probability is higher."
)


class Feature(NamedTuple):
    """A feature with a slider: its place among the columns, its name, and its values."""

    place: int
    name: str
    values: list[Any]


def explore(model: Any, path: str | Path, features: Sequence[str] | None = None) -> None:
    """Writes a page that shows the laws that a model predicts, with a slider for each feature.

    Arguments:
        model: a fitted :class:`~vwta.estimator.regressor.VoronoiRegressor` whose targets have one
            column or two.
        path: the page, an HTML file that needs no network.
        features: at most three names of columns, or their places as text if they have no names; by
            default the ones that move the predicted laws most.
    """
    targets = model.targets_
    if targets.dimension > 2 or targets.space == "sphere":
        raise ValueError(
            f"the explorer is for targets of one or two columns, not {targets.dimension} on the "
            f"{targets.space}. Remedy: fit a model of one or two of them"
        )
    names = _names(model)
    chosen = _chosen(model, names, features)
    law = model.predict_dist(_rows(model, chosen))
    data = {
        "features": [{"name": each.name, "values": each.values} for each in chosen],
        "names": targets.names or [f"y{j}" for j in range(targets.dimension)],
        "typical": {
            name: _typical(column)
            for place, (name, column) in enumerate(zip(names, model.columns_.columns, strict=True))
            if place not in {each.place for each in chosen}
        },
        **_exported(law),
    }
    script = "\n".join([asset("geometry.js"), asset("model.js")])
    title = f"Explorer: {', '.join(data['names'])}"
    body = [element("p", ABOUT), _frame()]
    text = document(title, body, theme=True, script=script, data=as_json(data))
    with atomic(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _frame() -> Html:
    """The parts of the page that its script fills."""
    canvas = element("canvas", id="law", width=880, height=560, role="img")
    return join(
        [
            element("form", class_="controls", id="controls", aria_label="Features"),
            element(
                "div",
                element("div", canvas, element("p", class_="meta", id="about", aria_live="polite")),
                element("div", element("h2", "Scenarios"), element("div", id="modes")),
                class_="beside",
            ),
            element("p", class_="meta", id="typical"),
        ]
    )


def _names(model: Any) -> list[str]:
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    return [str(place) for place in range(model.n_features_in_)]


def _typical(column: Numbers | Categories) -> Any:
    return column.median if isinstance(column, Numbers) else next(iter(column.levels), None)


def _values(column: Numbers | Categories, steps: int) -> list[Any]:
    if isinstance(column, Categories):
        return list(column.levels[:LEVELS])
    reach = REACH * column.scale
    low, high = max(column.mean - reach, column.low), min(column.mean + reach, column.high)
    values: list[Any] = np.linspace(low, high, steps).tolist()
    return values


def _chosen(model: Any, names: list[str], features: Sequence[str] | None) -> list[Feature]:
    columns = model.columns_.columns
    if features is None:
        places = _most_moving(model)[:3]
    else:
        for name in features:
            if name not in names:
                known = ", ".join(map(repr, names))
                raise ValueError(f"feature {name!r}. Remedy: choose among {known}")
        places = [names.index(name) for name in dict.fromkeys(features)]
        if not 1 <= len(places) <= 3:
            raise ValueError(f"{len(places)} features. Remedy: choose one, two or three")
    steps = STEPS[len(places) - 1]
    return [Feature(place, names[place], _values(columns[place], steps)) for place in places]


def _rows(model: Any, chosen: Sequence[Feature]) -> Any:
    """Inputs `(g, c)` of all combinations of values, the last feature's first."""
    grid = list(itertools.product(*(each.values for each in chosen)))
    base = [_typical(column) for column in model.columns_.columns]
    table = np.empty((len(grid), len(base)), dtype=object)
    table[:] = base
    for at, each in enumerate(chosen):
        table[:, each.place] = [values[at] for values in grid]
    if not hasattr(model, "feature_names_in_"):
        return table
    import pandas as pd

    return pd.DataFrame(table, columns=model.feature_names_in_)


def _most_moving(model: Any) -> list[int]:
    """Places of columns, first those along which means and standard deviations vary most."""
    effects = []
    for place, column in enumerate(model.columns_.columns):
        values = _values(column, 9)
        law = model.predict_dist(_rows(model, [Feature(place, "", values)]))
        scaled = np.stack([law.mean.reshape(len(values), -1), law.std.reshape(len(values), -1)])
        effects.append(float((scaled / law.scale).std(1).sum()))
    return sorted(range(len(effects)), key=lambda place: -effects[place])


def _exported(law: PredictedLaw) -> dict[str, Any]:
    """The laws of the grid, in numbers from which the page draws them."""
    some = law[np.linspace(0, len(law) - 1, min(WINDOW, len(law))).astype(int)]
    flat = law.mean.reshape(len(law), -1)
    found = {"mean": _packed(flat), **_modes(law)}
    if law.targets.dimension == 1:
        low, high = some.quantile([0.002, 0.998]).reshape(2, -1)
        found["quantiles"] = _packed(law.quantile([0.05, 0.5, 0.95]).reshape(3, -1).T)
        found |= _curves(law)
        ends = np.array([[low.min()], [high.max()]])
    else:
        points = some.sample(64, random_state=0).reshape(-1, 2)
        ends = np.quantile(points, [0.001, 0.999], axis=0)
        found |= _atoms(law)
    low, high = ends + 0.06 * (ends[1] - ends[0]) * np.array([[-1], [1]])
    targets = law.targets
    if targets.low is not None and targets.high is not None:
        low, high = np.maximum(low, targets.low), np.minimum(high, targets.high)
    window = {"low": low.tolist(), "high": high.tolist()}
    unit = {"location": targets.location, "scale": targets.scale}
    return {**found, "window": window, **unit}


def _curves(law: PredictedLaw) -> dict[str, Any]:
    """Truncated Gaussians of all laws on the line, and their hypotheses, in scaled units."""
    parts = [Curves.of(kernels_of(part)) for part in law.laws()]
    columns = (torch.cat(x).numpy() for x in zip(*parts, strict=True))
    names = ("centre", "low", "high", "precision", "level")
    atoms = np.concatenate([each.points[..., 0].numpy() for each in law.atoms], 1)
    masses = torch.cat([masses_of(law, member) for member in range(len(law.atoms))], 1)
    return {
        "curves": {name: _packed(x) for name, x in zip(names, columns, strict=True)},
        "atoms": _packed(atoms),
        "masses": _packed(masses.numpy()),
    }


@torch.no_grad()
def _atoms(law: PredictedLaw) -> dict[str, Any]:
    """Atoms of all members in the plane, in scaled units."""
    found = []
    for each in members_of(law.law):
        h = each.kernel.h.expand(each.masses.shape)
        arrays = {"points": each.points.flatten(1), "masses": each.masses, "scales": h}
        if isinstance(each, AxisMixture):
            arrays["widths"] = (each.widths * h[..., None]).flatten(1)
        if getattr(each, "centres", None) is not None:
            arrays |= {"centres": each.centres.flatten(1), "inside": each.log_cell_mass}
        found.append({name: _packed(x.numpy()) for name, x in arrays.items()})
    first = members_of(law.law)[0]
    box = None
    if isinstance(first, VoronoiMixture):
        assert isinstance(first.space, Box)
        low, high = (
            side.expand(2).double().numpy() for side in (first.space.low, first.space.high)
        )
        box = {
            "low": np.maximum(low, -FAR).tolist(),
            "high": np.minimum(high, FAR).tolist(),
        }
    return {"members": found, "box": box}


def _modes(law: PredictedLaw) -> dict[str, Any]:
    """Scenarios of all laws: row, probability and mean; on the line 90 % of their mass too."""
    table = law.scenarios().to_numpy(dtype=np.float64)
    d = law.targets.dimension
    kept = [0, 2, *range(3, 3 + d), *([7, 8] if d == 1 else [])]
    return {"modes": _packed(table[:, kept])}


def _packed(values: NDArray[Any]) -> dict[str, Any]:
    """Numbers as text: float32 in base64, with their shape."""
    array = np.ascontiguousarray(values, dtype="<f4")
    return {"shape": list(array.shape), "base64": base64.b64encode(array.tobytes()).decode()}
