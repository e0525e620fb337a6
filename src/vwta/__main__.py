"""`python -m vwta verdicts [FOLDER]`: which numbers and claims of the paper are reproduced."""

from __future__ import annotations

__all__ = ["default_folder", "main"]

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vwta.io.errors import debugging, explain

CONFIG = Path("config")
FULL = Path("results", "full")
PUBLISHED = Path("docs", "results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command `python -m vwta`, and returns its exit status."""
    chosen = _parser().parse_args(arguments)
    folder: Path | None = chosen.folder
    try:
        folder = folder or default_folder()
        print(_verdicts(folder, chosen.config), end="")
    except Exception as error:
        message = explain(error, map(str, folder.rglob("*.parquet") if folder else ()))
        if chosen.debug or message is None:
            raise
        print(f"vwta: {message}", file=sys.stderr)
        return 1
    return 0


def default_folder() -> Path:
    """Results that `python -m vwta` judges: those of the full tier, or else the published ones."""
    if any(FULL.glob("*/metrics/*.parquet")):
        return FULL
    if PUBLISHED.is_dir():
        return PUBLISHED
    raise FileNotFoundError(
        f"{Path.cwd()} has neither {FULL} nor {PUBLISHED}. Remedy: run this command in a clone of "
        "the repository, or name a folder with results"
    )


def _parser() -> argparse.ArgumentParser:
    debug = "show where an error comes from"
    parser = argparse.ArgumentParser(
        "python -m vwta", description="Command line of the reproduction of the paper."
    )
    parser.add_argument("--debug", action="store_true", default=debugging(), help=debug)
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
        help="results of a tier (results/quick) or published results (docs/results); by default "
        f"{FULL} if it has tables, or else {PUBLISHED}",
    )
    verdicts.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=debug)
    verdicts.add_argument(
        "--config",
        type=Path,
        default=CONFIG,
        help="folder of the configuration, which says what the paper claims and how it is judged; "
        f"by default {CONFIG}",
    )
    return parser


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


if __name__ == "__main__":
    sys.exit(main())
