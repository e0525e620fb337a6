"""Unpacks an archive of ANSYN."""

from pathlib import Path

from vwta.paper.audio.sources import unpack_split
from vwta.workflow.job import job

with job(snakemake):
    unpack_split(
        archive=Path(snakemake.input[0]),
        folder=Path(snakemake.output[0]),
        overlap=int(snakemake.wildcards.overlap),
        split=int(snakemake.wildcards.split),
    )
