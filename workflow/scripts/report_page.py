"""Builds the page."""

from pathlib import Path

from vwta.paper.page.build import build
from vwta.paper.page.contents import gather
from vwta.workflow.job import job

with job(snakemake):
    given = snakemake.input
    contents = gather(
        verdicts=Path(given.verdicts),
        differences=Path(given.differences),
        tolerances=Path(given.tolerances),
        metrics=[Path(path) for path in given.metrics],
        figures=snakemake.params.pictures,
        tables=[Path(path) for path in given.tables],
        citation=next(Path(path) for path in given if path.endswith(".cff")),
        readme=Path(given.readme) if given.get("readme") else None,
        options=snakemake.params.options,
        verified=snakemake.params.verified,
        explorer=next((Path(path) for path in given if path.endswith(".safetensors")), None),
    )
    build(contents, Path(snakemake.output[0]))
