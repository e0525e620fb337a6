"""Configuration files that cannot be read, named before Snakemake stumbles over them.

Usage: python workflow/readable.py [SNAKEMAKE ARGUMENT ...]

Snakemake opens the files after `--configfile` before it reads the workflow, and names neither the
file nor the line if one is missing, is no UTF-8 or no YAML.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

__all__ = ["check", "unreadable"]

MAIN = Path("config/config.yaml")


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
    """What is wrong with a file, a line that names it and the remedy."""
    try:
        content = yaml.safe_load(path.read_bytes().decode("utf-8"))
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
    except (
        Exception
    ) as error:  # PyYAML makes values of texts, and a date such as 2001-99-99 is none
        remedy = "Remedy: write it as config.yaml is written, and texts in quotes"
        yield f"{path}: no YAML, {' '.join(str(error).split())[:200]}. {remedy}"
    else:
        if not isinstance(content, dict):
            yield f"{path}: no keys at its top. Remedy: write lines such as `device: cpu`"


if __name__ == "__main__":
    check(sys.argv[1:])
