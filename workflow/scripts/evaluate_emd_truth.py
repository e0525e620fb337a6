"""Measures how far two samples of a problem's true law are from each other."""

from pathlib import Path

from vwta.paper.synthetic.transport import Reference, evaluate_emd_truth
from vwta.workflow.job import job

with job(snakemake):
    evaluate_emd_truth(
        data=Path(snakemake.input.data),
        path=Path(snakemake.output[0]),
        constants=snakemake.params.constants,
        settings=Reference(**snakemake.params.emd, clouds=snakemake.params.clouds),
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
    )
