"""Puts the curves of the trainings together."""

from pathlib import Path

from vwta.paper.collection import collect_curves
from vwta.workflow.job import job

with job(snakemake):
    output = snakemake.output[0]
    within = output.removesuffix(snakemake.params.place)
    networks = {name: [Path(path) for path in files] for name, files in snakemake.input.items()}
    collect_curves(networks, Path(output), within)
