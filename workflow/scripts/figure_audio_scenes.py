"""Draws predictions in scenes, by azimuth and elevation and on the sphere."""

from pathlib import Path

from vwta.paper.figures.audio_scenes import scenes, scenes_on_sphere
from vwta.workflow.job import job

with job(snakemake):
    predictions = Path(snakemake.input[0])
    pairs = zip(snakemake.output.pdf, snakemake.output.png, strict=True)
    flat, sphere = ([Path(path) for path in pair] for pair in pairs)
    scenes(predictions, flat)
    scenes_on_sphere(predictions, sphere)
