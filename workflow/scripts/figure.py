"""Draws one figure or several, by the functions that the table of figures names."""

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from vwta.workflow.job import job
from vwta.workflow.tolerance import tolerated


def function(place: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def paths(files: str | Iterable[str]) -> Path | list[Path]:
    """The path of a file, or those of several."""
    return Path(files) if isinstance(files, str) else [Path(file) for file in files]


with job(snakemake), tolerated(snakemake.output):
    drawings = snakemake.params.drawings
    pairs = zip(paths(snakemake.output.pdf), paths(snakemake.output.png), strict=True)
    for drawing, files in zip(drawings, pairs, strict=True):
        made = {name: function(place)(**own) for name, (place, own) in drawing["made"].items()}
        function(drawing["draw"])(
            **{name: paths(snakemake.input[name]) for name in drawing["inputs"]},
            paths=list(files),
            **drawing["settings"],
            **made,
        )
