"""Measures the properties of optimal networks on the trained ones of a problem."""

from pathlib import Path

from vwta.paper.synthetic.generate import law_of_split
from vwta.paper.theory.evaluate import Settings, evaluate_properties
from vwta.workflow.job import job

with job(snakemake):
    evaluate_properties(
        networks=[Path(path) for path in snakemake.input.networks],
        data=Path(snakemake.input.data),
        theory=Path(snakemake.input.theory),
        path=Path(snakemake.output[0]),
        law=law_of_split(snakemake.wildcards.dataset, "train", **snakemake.params.law),
        settings=Settings(
            **snakemake.params.properties,
            **snakemake.params.domain,
            **snakemake.params.protocol,
        ),
        code=snakemake.params.code,
        protocol=snakemake.wildcards.protocol,
        dataset=snakemake.wildcards.dataset,
    )
