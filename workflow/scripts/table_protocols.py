"""Writes what several protocols give for the same quantities."""

from pathlib import Path

import pandas as pd
from job import job

from vwta.storage import read_table
from vwta.tables import protocols_side_by_side, write

with job(snakemake):
    metrics = pd.concat([read_table(Path(path)) for path in snakemake.input])
    table = protocols_side_by_side(
        metrics, snakemake.params.protocols, against=snakemake.params.protocols[1:]
    )
    write(table, Path(snakemake.output.csv), Path(snakemake.output.markdown))
