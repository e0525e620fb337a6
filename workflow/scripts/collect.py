"""Puts tables of metrics together."""

from pathlib import Path

from vwta.paper.collection import collect
from vwta.workflow.job import job

with job(snakemake):
    output = snakemake.output[0]
    within = output.removesuffix(snakemake.params.place)
    collect([Path(path) for path in snakemake.input], Path(output), within)
