"""Puts the curves of the trainings together."""

from pathlib import Path

from vwta.paper.collection import collect_curves
from vwta.workflow.job import job

with job(snakemake):
    networks = {name: [Path(path) for path in files] for name, files in snakemake.input.items()}
    collect_curves(networks, Path(snakemake.output[0]))
