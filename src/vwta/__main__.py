"""`python -m vwta verdicts [FOLDER]`: what came of the paper's numbers and claims."""

from __future__ import annotations

__all__ = ["default_folder", "main"]

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vwta.io.errors import debugging, explain

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; its exit status."""
    parser = argparse.ArgumentParser("python -m vwta", description=__doc__)
    shown = "show where an error comes from"
    parser.add_argument("--debug", action="store_true", default=debugging(), help=shown)
    commands = parser.add_subparsers(dest="command", required=True)
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
        help="results of a tier (results/quick) or what is published of them (docs/results); if "
        "none is named, results/full if it has tables, or else docs/results",
    )
    verdicts.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=shown)
    verdicts.add_argument(
        "--config", type=Path, default=ROOT / "config", help="folder of the configuration"
    )
    chosen = parser.parse_args(arguments)
    folder = chosen.folder or default_folder()
    try:
        print(_verdicts(folder, chosen.config), end="")
    except Exception as error:
        message = explain(error, map(str, folder.rglob("*.parquet")))
        if chosen.debug or message is None:
            raise
        print(f"vwta: {message}", file=sys.stderr)
        return 1
    return 0


def _verdicts(folder: Path, config: Path) -> str:
    """The summary for the terminal."""
    from vwta.paper.verdicts.folder import judge_folder
    from vwta.paper.verdicts.summary import terminal

    return f"Judged by the tables in {folder}\n{terminal(judge_folder(folder, config))}"


def default_folder() -> Path:
    """Results of the full tier if there are any, or else what is published."""
    full = Path("results", "full")
    return full if any(full.glob("*/metrics/*.parquet")) else ROOT / "docs" / "results"


if __name__ == "__main__":
    sys.exit(main())
