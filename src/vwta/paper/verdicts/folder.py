"""Verdicts by the tables of a folder."""

from __future__ import annotations

__all__ = ["judge_folder"]

from pathlib import Path

from vwta.paper.verdicts import evidence, reported
from vwta.paper.verdicts.configuration import load
from vwta.paper.verdicts.table import Verdicts, judge_all


def judge_folder(folder: Path, config: Path) -> Verdicts:
    """Judges every number and every claim of the paper.

    Arguments:
        folder: results of a tier, or what is published of them.
        config: what the paper says and how it is judged: `reported`, `claims.yaml` and so on.
    """
    measured = evidence.read(evidence.find(folder))
    paper = reported.read(config / "reported")
    return judge_all(measured, paper, load(config), evidence.tiers_of(folder))
