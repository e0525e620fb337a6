"""Writes how large the sets of the UCI study are."""

from pathlib import Path

from vwta.paper.uci.sizes import sizes
from vwta.workflow.job import job

with job(snakemake):
    sizes(
        tables=dict(zip(snakemake.params.splits, map(Path, snakemake.input), strict=True)),
        splits=snakemake.params.splits,
        path=Path(snakemake.output[0]),
    )
