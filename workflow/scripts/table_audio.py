"""Writes the tables of the audio study."""

from pathlib import Path

import pandas as pd

from vwta.io.storage import read_table
from vwta.paper.audio.tables import write_tables
from vwta.workflow.job import job
from vwta.workflow.tolerance import tolerated

with job(snakemake), tolerated(snakemake.output):
    metrics = read_table(Path(snakemake.input.metrics))
    printed = pd.read_csv(snakemake.input.printed)
    folder = Path(snakemake.output[0]).parent
    dataset = snakemake.params.dataset
    interval = snakemake.params.low, snakemake.params.high
    sizes = snakemake.params.sizes
    for protocol, ending in snakemake.params.endings.items():
        write_tables(metrics, printed, folder, protocol, dataset, interval, sizes, ending)
