"""Computes the features and labels of all scenes of an overlap and a split."""

from pathlib import Path

from vwta.paper.audio.features import Settings, make_features
from vwta.workflow.job import job

with job(snakemake):
    make_features(
        scenes=Path(snakemake.input[0]),
        overlap=int(snakemake.wildcards.overlap),
        split=int(snakemake.wildcards.split),
        features={part: Path(snakemake.output[part]) for part in ("train", "test")},
        labels=Path(snakemake.output.labels),
        settings=Settings(**snakemake.params.settings),
        code=snakemake.params.code,
    )
