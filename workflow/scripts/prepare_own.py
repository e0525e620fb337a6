"""Reads a table of one's own."""

from pathlib import Path

from job import job

from vwta.paper.uci.prepare import prepare_own

with job(snakemake):
    entry = snakemake.params.entry
    prepare_own(
        source=Path(snakemake.input[0]),
        target=entry["target"],
        delimiter=entry.get("delimiter", ","),
        path=Path(snakemake.output[0]),
        code=snakemake.params.code,
    )
