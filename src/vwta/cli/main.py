"""The program `vwta`, which is `python -m vwta` too.

Installed packages add commands of their own through entry points of the group `vwta.commands`: a
function that is given what `argparse` calls subparsers, and that sets `run` for each command to a
function of the parsed arguments. It returns what to print.
"""

from __future__ import annotations

__all__ = ["main"]

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import entry_points, version

from vwta.cli.arguments import add_commands
from vwta.io.errors import debugging, explain

DESCRIPTION = """\
Predicts the whole law of a target, not just its mean: fit a model to a table, then ask it for
quantiles and samples of new rows.

  vwta fit houses.csv --target price -o model.vwta
  vwta predict model.vwta new.csv -o predicted.csv
  vwta sample model.vwta new.csv -n 100 -o samples.csv
  vwta diagnose model.vwta test.csv -o diagnosis.html
  vwta explore model.vwta -o explorer.html
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command `vwta`, and returns its exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show  # type: ignore[assignment]
            text = chosen.run(chosen)
    except (Exception, KeyboardInterrupt) as error:
        message = None if chosen.debug else _message(error, getattr(chosen, "reads", None))
        if message is None:
            raise
        print(f"vwta: {message}", file=sys.stderr)
        return 1
    print(text.removesuffix("\n"))
    return 0


def _show(message: Warning | str, *_: object) -> None:
    """A warning for the user, without the place in the code."""
    print(f"vwta: warning: {message}", file=sys.stderr)


def _message(error: BaseException, reads: object) -> str | None:
    """The message for the user, None if the error is a bug."""
    files = reads() if callable(reads) else ()
    return explain(error, map(str, files))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "vwta", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    debug = "show where an error comes from"
    parser.add_argument("--debug", action="store_true", default=debugging(), help=debug)
    parser.add_argument("--version", action="version", version=f"vwta {version('vwta')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_commands(commands)
    for point in sorted(entry_points(group="vwta.commands"), key=lambda point: point.name):
        point.load()(commands)
    for each in commands.choices.values():
        each.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=debug)
    return parser
