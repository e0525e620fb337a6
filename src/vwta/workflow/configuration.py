"""Files of the configuration: they are read and checked, or refused with a message.

Usage: python -m vwta.workflow.configuration [SNAKEMAKE ARGUMENT ...]

Snakemake opens the files after `--configfile` before it reads the workflow, and names neither the
file nor the line if one is missing, or is not UTF-8 or not YAML. This command does.
"""

from __future__ import annotations

__all__ = [
    "check",
    "check_config",
    "lay_over_own",
    "read_files",
    "read_judgement",
    "read_protocols",
    "refuse",
    "unreadable",
]

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from vwta.workflow import aliases, validation

MAIN = Path("config/config.yaml")
SCHEMAS = Path("workflow", "schemas")
JUDGEMENT = ("verdicts", "claims", "differences")


def check(arguments: Sequence[str]) -> None:
    """Stop if a file of the configuration cannot be read.

    Arguments:
        arguments: those for Snakemake.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", action="extend", default=[])
    files, _ = parser.parse_known_args(list(arguments))
    paths = [MAIN] * MAIN.exists() + [Path(name) for name in files.configfile]
    lines = [line for path in paths for line in unreadable(path)]
    if lines:
        sys.exit("\n".join([*lines, "Nothing was run."]))


def unreadable(path: Path) -> Iterator[str]:
    """A line that names a wrong file of the configuration, the fault and the remedy."""
    try:
        size = path.stat().st_size
        if size > aliases.BYTES:
            yield f"{path}: {size} bytes, more than {aliases.BYTES}. Remedy: remove what it repeats"
            return
        text = path.read_bytes().decode("utf-8")
        if aliases.of_text(text) > aliases.VALUES:
            why = f"its aliases stand for more than {aliases.VALUES} values"
            yield f"{path}: {why}. Remedy: write values in place of aliases (* and &)"
            return
        content = yaml.safe_load(text)
    except OSError as error:
        yield f"{path}: {error.strerror}. Remedy: check the name after --configfile"
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = f"0x{error.object[error.start]:02x}"
        yield f"{path}, line {line}: byte {byte} is not UTF-8. Remedy: save the file as UTF-8"
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        why = " ".join(str(getattr(error, "problem", None) or error).split())
        remedy = "Remedy: check brackets, colons and indentation there; tabs are not allowed"
        yield f"{path}{place}: no YAML, {why}. {remedy}"
    except Exception as error:  # PyYAML makes values of texts; the date 2001-99-99 is none
        remedy = "Remedy: write it as config.yaml is written, and texts in quotes"
        yield f"{path}: no YAML, {' '.join(str(error).split())[:200]}. {remedy}"
    else:
        if not isinstance(content, dict):
            yield f"{path}: no keys at its top. Remedy: write lines such as `device: cpu`"


def refuse(problems: Sequence[str], place: str) -> None:
    """Stop the workflow before any job if there are problems.

    Arguments:
        problems: a line for each.
        place: the files or the keys that have them.
    """
    if problems:
        lines = "\n".join(f"  {line}" for line in problems)
        sys.exit(f"{place} cannot be used:\n{lines}\nNothing was run.")


def read_files(root: Path) -> dict[str, Any]:
    """The table of files from elsewhere, config/data.yaml below the workflow's sources."""
    files: dict[str, Any] = validation.load(root / "config/data.yaml")
    problems = validation.problems(files, root / SCHEMAS / "data.schema.yaml")
    problems = problems or validation.data_contradictions(files)
    refuse(problems, "The table of files config/data.yaml")
    return files


def lay_over_own(config: dict[str, Any], root: Path) -> None:
    """Completes a configuration by the workflow's own, unless it has all keys.

    It lacks some where the workflow runs in a folder without a `config/config.yaml`, or as a module
    of another workflow.

    Arguments:
        config: the configuration, which is changed in place.
        root: folder of the workflow's sources.
    """
    from snakemake.utils import update_config

    if validation.has_all_keys(config, root / SCHEMAS / "config.schema.yaml"):
        return
    whole: dict[str, Any] = validation.load(root / MAIN)
    update_config(whole, config)
    config.update(whole)


def check_config(
    config: dict[str, Any], files: dict[str, Any], root: Path, overlays: Sequence[str]
) -> None:
    """Stop if the configuration breaks its schema or contradicts itself.

    Arguments:
        config: the configuration, with all that was laid over it.
        files: the table of files.
        root: folder of the workflow's sources.
        overlays: the files that were laid over config/config.yaml.
    """
    problems = validation.problems(config, root / SCHEMAS / "config.schema.yaml")
    problems = problems or validation.contradictions(config, list(files["uci"]))
    refuse(problems, " + ".join(["The configuration config/config.yaml", *overlays]))


def read_protocols(root: Path, study: str, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The switches of the protocols of a study in the configuration, by stage.

    Arguments:
        root: folder of the workflow's sources.
        study: synthetic, uci or audio.
        names: those of its protocols.
    """
    found = {}
    for name in names:
        found[name] = validation.load(root / "config/protocols" / study / f"{name}.yaml")
        problems = validation.problems(
            found[name], root / SCHEMAS / f"protocol.{study}.schema.yaml"
        )
        if study == "synthetic" and not problems:
            problems = validation.protocol_contradictions(found[name])
        refuse(problems, f"The protocol {study}/{name}.yaml")
    problems = validation.ownership_problems(study, found)
    refuse(problems, f"The choice of protocols in {study}.protocols")
    return found


@cache
def read_judgement(root: Path) -> list[Any]:
    """Content of the files of JUDGEMENT in config, on which verdicts depend besides metrics."""
    found = [validation.load(root / "config" / f"{name}.yaml") for name in JUDGEMENT]
    for name, content in zip(JUDGEMENT, found, strict=True):
        problems = validation.problems(content, root / SCHEMAS / f"{name}.schema.yaml")
        refuse(problems, f"config/{name}.yaml")
    return found


if __name__ == "__main__":
    check(sys.argv[1:])
