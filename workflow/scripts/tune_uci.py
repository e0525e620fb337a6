"""Searches the bandwidths of all networks trained on a data set."""

from pathlib import Path

from vwta.paper.uci.tune import Settings, tune
from vwta.workflow.job import job
from vwta.workflow.search_file import search_file
from vwta.workflow.splits import networks_of_splits

with job(snakemake), networks_of_splits(snakemake) as networks:
    tune(
        networks=networks,
        data=Path(snakemake.input.data),
        settings=Settings(**snakemake.params.settings),
        output=search_file(snakemake),
    )
