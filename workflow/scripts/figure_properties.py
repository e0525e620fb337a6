"""Draws what theory says of optimal networks and trained ones do."""

from pathlib import Path

from vwta.paper.figures.theory import cells, point_density, weak_convergence
from vwta.workflow.job import job

FIGURES = {
    "weak_convergence": weak_convergence,
    "cells": cells,
    "point_density": point_density,
}

with job(snakemake):
    FIGURES[snakemake.params.figure](
        metrics=Path(snakemake.input[0]),
        paths=[Path(path) for path in snakemake.output],
        protocols=snakemake.params.protocols,
        datasets=snakemake.params.datasets,
    )
