"""Measures how far two samples of a problem's true law are from each other."""

from pathlib import Path

from vwta.paper.synthetic.transport import Reference, evaluate_emd_truth
from vwta.workflow.job import job
from vwta.workflow.metrics_file import metrics_file

with job(snakemake):
    evaluate_emd_truth(
        data=Path(snakemake.input.data),
        constants=snakemake.params.constants,
        settings=Reference(**snakemake.params.emd, clouds=snakemake.params.clouds),
        output=metrics_file(snakemake, "synthetic"),
    )
