"""Draws the data set of a synthetic problem."""

from pathlib import Path

from vwta.paper.synthetic.generate import generate
from vwta.workflow.job import job

with job(snakemake):
    generate(
        dataset=snakemake.wildcards.dataset,
        constants=snakemake.params.constants,
        clouds=snakemake.params.clouds,
        rows=snakemake.params.rows,
        seed=snakemake.params.seed,
        path=Path(snakemake.output[0]),
        code=snakemake.params.code,
    )
