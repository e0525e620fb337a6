"""The command `vwta verdicts`: which numbers and claims of the paper are reproduced."""

from __future__ import annotations

__all__ = ["add_commands", "default_folder"]

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CONFIG = Path("config")
FULL = Path("results", "full")
PUBLISHED = Path("docs", "results")


def add_commands(commands: Any) -> None:
    """Adds the command to the parser of `vwta`."""
    verdicts = commands.add_parser(
        "verdicts",
        help="judge every number and every claim of the paper by the results in a folder",
        description="Judges every number and every claim of the paper by the results in a folder. "
        "The exit status is 0 whatever the verdicts are.",
    )
    verdicts.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="results of a tier (results/quick) or published results (docs/results); by default "
        f"{FULL} if it has tables, or else {PUBLISHED}",
    )
    verdicts.add_argument(
        "--config",
        type=Path,
        default=CONFIG,
        help="folder of the configuration, which says what the paper claims and how it is judged; "
        f"by default {CONFIG}",
    )
    verdicts.set_defaults(run=_run)


def default_folder() -> Path:
    """Results that `vwta verdicts` judges: those of the full tier, or else the published ones."""
    if any(FULL.glob("*/metrics/*.parquet")):
        return FULL
    if PUBLISHED.is_dir():
        return PUBLISHED
    raise FileNotFoundError(
        f"{Path.cwd()} has neither {FULL} nor {PUBLISHED}. Remedy: run this command in a clone of "
        "the repository, or name a folder with results"
    )


def _run(chosen: argparse.Namespace) -> str:
    folder: Path = chosen.folder or default_folder()

    def reads() -> Iterable[Path]:
        return folder.rglob("*.parquet")

    chosen.reads = reads  # a damaged one explains any error
    return _verdicts(folder, chosen.config)


def _verdicts(folder: Path, config: Path) -> str:
    """The summary for the terminal."""
    try:
        from vwta.paper.verdicts.folder import judge_folder
        from vwta.paper.verdicts.summary import terminal
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"verdicts need the package {error.name}. Remedy: pip install 'vwta[paper]'"
        ) from error
    if not config.is_dir():
        raise FileNotFoundError(
            f"{config} is not a folder. Remedy: run this command in a clone of the repository, or "
            "name its folder of configuration with --config"
        )
    return f"Judged by the tables in {folder}\n{terminal(judge_folder(folder, config))}"
