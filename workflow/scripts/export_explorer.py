"""Stores predictions of networks over the range of inputs, for the page."""

from pathlib import Path

from vwta.paper.synthetic.explorer import export
from vwta.workflow.job import job

with job(snakemake):
    export(
        path=Path(snakemake.output[0]),
        networks={name: [Path(file) for file in files] for name, files in snakemake.input.items()},
        selected_by=snakemake.params.selected_by,
        constants=snakemake.params.constants,
        domain=snakemake.params.domain,
        **snakemake.params.explorer,
        code=snakemake.params.code,
    )
