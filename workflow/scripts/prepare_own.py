"""Reads a user's own table."""

from pathlib import Path

from vwta.paper.uci.prepare import prepare_own
from vwta.workflow.job import job

with job(snakemake):
    entry = snakemake.params.entry
    prepare_own(
        source=Path(snakemake.input[0]),
        target=entry["target"],
        delimiter=entry.get("delimiter", ","),
        path=Path(snakemake.output[0]),
        code=snakemake.params.code,
    )
