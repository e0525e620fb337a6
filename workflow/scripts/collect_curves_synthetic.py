"""Puts the curves of the trainings together."""

from pathlib import Path

from job import job

from vwta.studies.synthetic.curves import collect_curves

with job(snakemake):
    collect_curves([Path(path) for path in snakemake.input], Path(snakemake.output[0]))
