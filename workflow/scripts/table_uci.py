"""Writes the tables of the UCI study."""

from pathlib import Path

import pandas as pd

from vwta.io.storage import read_table
from vwta.paper.uci.headline import write_headline
from vwta.paper.uci.paired import write_ablations, write_paired
from vwta.paper.uci.rivals import costs_of, write_costs, write_rivals
from vwta.paper.uci.tables import write_protocols, write_sizes, write_tables
from vwta.workflow.job import job
from vwta.workflow.tolerance import tolerated

with job(snakemake), tolerated(snakemake.output):
    metrics, searches, sizes = (
        read_table(Path(snakemake.input[name])) for name in ("metrics", "searches", "sizes")
    )
    printed, printed_sizes = (
        pd.read_csv(snakemake.input[name]) for name in ("printed", "printed_sizes")
    )
    folder = Path(snakemake.output[0]).parent
    protocols, datasets = snakemake.params.protocols, snakemake.params.printed
    own = snakemake.params.datasets
    every = list(dict.fromkeys(name for names in own.values() for name in names))
    write_sizes(sizes, printed_sizes, folder, every)
    write_headline(metrics, searches, sizes, printed, folder, datasets)
    write_rivals(metrics, sizes, folder, every)
    write_costs(costs_of(Path(snakemake.input.metrics)), folder, every)
    write_paired(metrics, folder, protocols, datasets)
    write_ablations(metrics, printed, folder, datasets)
    write_protocols(metrics, sizes, printed, folder, protocols, datasets)
    for protocol in protocols:
        write_tables(metrics, searches, sizes, printed, folder, protocol, own[protocol])
