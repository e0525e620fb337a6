"""Puts tables of metrics together."""

from pathlib import Path

from vwta.paper.collection import collect
from vwta.workflow.job import job

with job(snakemake):
    collect([Path(path) for path in snakemake.input], Path(snakemake.output[0]))
