"""Writes the sizes of the UCI study's data sets."""

from pathlib import Path

from vwta.paper.uci.sizes import sizes
from vwta.workflow.job import job

with job(snakemake):
    sizes(
        tables=dict(zip(snakemake.params.splits, map(Path, snakemake.input), strict=True)),
        splits=snakemake.params.splits,
        path=Path(snakemake.output[0]),
    )
