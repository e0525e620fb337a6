"""Puts tables of metrics together."""

from pathlib import Path

from job import job

from vwta.paper.collection import collect

with job(snakemake):
    collect([Path(path) for path in snakemake.input], Path(snakemake.output[0]))
