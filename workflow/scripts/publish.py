"""Publishes studies, and says what it did."""

from pathlib import Path

from vwta.paper.publish import publish, read_notes
from vwta.workflow.job import job

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    told = publish(
        [Path(file) for file in (*given.metrics, *given.drawn, *given.copied)],
        params.lacking | read_notes(map(Path, given.notes)),
        Path(params.place),
        params.tier,
        Path(params.config),
    )
    print("\n".join(told))
