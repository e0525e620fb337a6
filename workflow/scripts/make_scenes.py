"""Makes scenes from recordings, or from synthesised sounds if there is no input."""

import sys
from pathlib import Path

from vwta.io.errors import DataError
from vwta.paper.audio.sources import make_split
from vwta.workflow.job import job

with job(snakemake):
    params = snakemake.params
    try:
        make_split(
            folder=Path(snakemake.output[0]),
            overlap=int(snakemake.wildcards.overlap),
            split=int(snakemake.wildcards.split),
            sounds=Path(snakemake.input[0]) if snakemake.input else params.sounds,
            seed=params.seed,
            sizes=params.sizes,
            seconds=params.seconds,
        )
    except DataError as error:
        sys.exit(str(error))
