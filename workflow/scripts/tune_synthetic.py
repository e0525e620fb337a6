"""Searches the bandwidths of all networks trained on a problem."""

from pathlib import Path

from vwta.paper.synthetic.tune import Settings, tune
from vwta.workflow.job import job
from vwta.workflow.search_file import search_file

with job(snakemake):
    params = snakemake.params
    tune(
        networks=[Path(path) for path in snakemake.input.networks],
        data=Path(snakemake.input.data),
        settings=Settings(tuning=params.tuning, **params.domain, **params.protocol),
        output=search_file(snakemake),
    )
