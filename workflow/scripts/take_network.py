"""Takes a trained network from a deposit in place of a training."""

from pathlib import Path

from vwta.workflow.deposit import take
from vwta.workflow.job import job

with job(snakemake):
    labels = snakemake.input.get("labels")  # of the audio study
    files = [Path(file) for file in labels or [snakemake.input.data]]
    take(
        folder=Path(snakemake.params.deposit),
        name=snakemake.params.name,
        output=Path(snakemake.output[0]),
        files=files,
    )
