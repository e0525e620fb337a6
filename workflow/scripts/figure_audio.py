"""Draws the pictures of the audio study from its metrics, under a protocol."""

from pathlib import Path

from vwta.paper.figures.audio import monte_carlo, nll_against_h, spread
from vwta.paper.figures.training_curves import training_curves_by_K
from vwta.workflow.job import job

with job(snakemake):
    metrics, curves = Path(snakemake.input.metrics), Path(snakemake.input.curves)
    params = snakemake.params
    pairs = zip(snakemake.output.pdf, snakemake.output.png, strict=True)
    likelihood, volumes, dispersion, *training = ([Path(path) for path in pair] for pair in pairs)
    where = {"protocol": params.protocol, "dataset": params.dataset}
    nll_against_h(metrics, likelihood, **where)
    monte_carlo(metrics, volumes, **where)
    spread(metrics, dispersion, **where)
    for files in training:  # of a protocol that trains networks of its own
        training_curves_by_K(curves, files, **where, models=params.models, counts=params.counts)
