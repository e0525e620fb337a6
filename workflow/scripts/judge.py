"""Judges the paper's numbers and claims."""

from pathlib import Path

from vwta.paper.verdicts import evidence, reported
from vwta.paper.verdicts.output import write
from vwta.paper.verdicts.table import Settings, judge_all
from vwta.workflow.job import job

with job(snakemake):
    files = [*snakemake.input.metrics, *snakemake.input.predictions]
    measured = evidence.read(map(Path, files))
    paper = reported.read(Path(snakemake.input.reported[0]).parent)
    settings = Settings.of(*snakemake.params.settings)
    tiers = {study: snakemake.params.tiers[study] for study in measured["study"].unique()}
    path, table, *_ = map(Path, snakemake.output)
    verdicts = judge_all(measured, paper, settings, tiers)
    write(verdicts, path, table.parent, snakemake.params.code)
