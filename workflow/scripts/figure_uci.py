"""Draws the pictures of the UCI study under a protocol."""

from pathlib import Path

from vwta.paper.figures.uci import bandwidth_search, comparison
from vwta.workflow.job import job

with job(snakemake):
    protocol, datasets = snakemake.params.protocol, snakemake.params.datasets
    for paths in zip(snakemake.output.pdf, snakemake.output.png, strict=True):
        files = [Path(path) for path in paths]
        figure = files[0].stem.removeprefix("uci_").removesuffix(f"_{protocol}")
        if figure.startswith("search_"):
            method = figure.removeprefix("search_")
            bandwidth_search(Path(snakemake.input.searches), files, protocol, method, datasets)
        else:
            metrics, printed = Path(snakemake.input.metrics), Path(snakemake.input.printed)
            comparison(metrics, printed, files, protocol, datasets, metric=figure)
