"""Reads a data set of the UCI study from its file."""

from pathlib import Path

from vwta.paper.uci.prepare import prepare
from vwta.workflow.job import job

with job(snakemake):
    prepare(
        dataset=snakemake.wildcards.dataset,
        source=Path(snakemake.input[0]) if snakemake.input else None,
        rows=snakemake.params.rows,
        matrix=snakemake.params.matrix,
        path=Path(snakemake.output[0]),
        code=snakemake.params.code,
    )
