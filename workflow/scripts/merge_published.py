"""Merges a table of metrics into the published one."""

from pathlib import Path

from vwta.paper.collection import merge
from vwta.workflow.job import job

with job(snakemake):
    published, run = Path(snakemake.params.published), Path(snakemake.params.run)
    merge(published, run, Path(snakemake.output[0]))
