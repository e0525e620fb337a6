"""Runs a trained network over the validation and test folds."""

from pathlib import Path

from vwta.paper.audio.predict import predict
from vwta.workflow.job import job

with job(snakemake):
    predict(
        network=Path(snakemake.input.network),
        folds={
            name: [Path(file) for file in snakemake.input[name]] for name in ("validation", "test")
        },
        path=Path(snakemake.output[0]),
        selected_by=snakemake.params.selected_by,
        batch_size=snakemake.params.batch_size,
        device=snakemake.params.device,
        code=snakemake.params.code,
    )
