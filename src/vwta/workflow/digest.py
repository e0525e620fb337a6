"""Digests of code: what a job's result depends on besides its inputs and its settings.

Snakemake watches a script, not the modules that the script imports. Every rule therefore carries
`code=digest(SCRIPTS / "train_synthetic.py")` among its `params`: a hash of the script and of all
modules of vwta that it imports, directly or not. Imports are read from the syntax tree, nothing is
executed, and comments, blank lines and docstrings do not count. The modules are those of the
package that this module belongs to, which is also the one that jobs import: see :func:`share`.

Five modules are left out. `vwta/__init__.py` only re-exports names, and would otherwise tie every
job to every module. `vwta.io.provenance` writes down how a result came about and computes none of
it; `vwta.io.errors` says why there is none; `vwta.workflow.lock` says who works in a folder;
`vwta.workflow.networks` refuses networks that belong to another job.

A change of code that was shown to change no bits (:mod:`vwta.workflow.adopt`) is listed in
config/adopted.csv beside the scripts: its digest is that of the code before.
"""

from __future__ import annotations

__all__ = ["ADOPTED", "SOURCE", "digest", "share", "sources"]

import ast
import csv
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PACKAGE = "vwta"
ADOPTED = Path("config", "adopted.csv")  # below the folder of the workflow's sources
SHELL_SAFE = re.compile(r"[\w./+@%=,:-]+")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields that hold statements
BY_NAME = {"import_module", "__import__"}
LEFT_OUT = {
    PACKAGE,
    f"{PACKAGE}.io.provenance",
    f"{PACKAGE}.io.errors",
    f"{PACKAGE}.workflow.lock",
    f"{PACKAGE}.workflow.networks",
}


def digest(script: Path, *modules: str) -> str:
    """Hash of a script and of everything that it imports from this package.

    Arguments:
        script: the script's file.
        modules: names of modules that the script imports by a name that it is given. Only a script
            for which some are named may import by a computed name.
    """
    script = Path(script)
    found = _digest_of(script, modules)
    equal = _adopted(script.parents[2] / ADOPTED) if len(script.parents) > 2 else {}
    seen: set[str] = set()
    while (script.stem, found) in equal and found not in seen:
        seen.add(found)
        found = equal[script.stem, found]
    return found


def sources(script: Path, *modules: str) -> list[Path]:
    """The files that :func:`digest` covers: the script first, then modules by name."""
    return [Path(script), *(_find(name) for name in sorted(_closure(Path(script), modules)))]


def share(root: Path) -> None:
    """Makes the jobs of this process import this package, whatever else may be installed.

    Stops with a message if the workflow comes with a package of its own, and that is another one,
    or if a shell, through which Snakemake starts this interpreter, would read its path as more than
    a name.

    Arguments:
        root: folder of the workflow's sources.
    """
    if not SHELL_SAFE.fullmatch(sys.executable):
        sys.exit(
            f"The path of this Python, {sys.executable!r}, has characters that a shell does not "
            "read as they stand, and Snakemake starts it through a shell. Nothing was run. "
            "Remedy: call make, which reaches Python by another path, or move the environment"
        )
    own = Path(root, "src")
    if Path(own, PACKAGE).is_dir() and own.resolve() != SOURCE:
        sys.exit(
            f"The workflow in {root} would run the code in {SOURCE}, not its own. Nothing was run. "
            f"Remedy: make setup, or set PYTHONPATH={own}"
        )
    others = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    places = [str(SOURCE), *(place for place in others if place != str(SOURCE))]
    os.environ["PYTHONPATH"] = os.pathsep.join(places)


@cache
def _digest_of(script: Path, modules: tuple[str, ...]) -> str:
    total = hashlib.sha256()
    for name in [None, *sorted(_closure(script, modules))]:
        file = script if name is None else _find(name)
        total.update(f"{name}:{_content(_text(file))}\n".encode())
    return total.hexdigest()[:16]


@cache
def _adopted(table: Path) -> dict[tuple[str, str], str]:
    """For stages and their digests, the digests of codes that were shown to give the same bits."""
    if not table.is_file():
        return {}
    with table.open(newline="", encoding="utf-8") as file:
        return {(row["stage"], row["digest"]): row["equals"] for row in csv.DictReader(file)}


def _closure(script: Path, modules: tuple[str, ...] = ()) -> set[str]:
    """Names of this package's modules that a script imports, transitively."""
    found: set[str] = set()
    waiting = [*modules, *_imports(script, computed=bool(modules))]
    while waiting:
        name = waiting.pop()
        if name in found or name in LEFT_OUT:
            continue
        found.add(name)
        waiting += _imports(_find(name))
        waiting.append(name.rpartition(".")[0])  # importing a.b.c runs a.b too
    return found


@cache
def _imports(path: Path, computed: bool = False) -> frozenset[str]:
    """Names of this package's modules that the file at `path` itself imports, anywhere in it."""
    names: set[str] = set()
    tree = _tree(path)
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if _is_ours(alias.name)}
            if any(alias.name == PACKAGE for alias in node.names):
                _refuse(path, node, f"`import {PACKAGE}` does not say which module it needs")
        elif isinstance(node, ast.ImportFrom):
            names |= _from_import(path, node)
    if not computed:
        _refuse_computed(path, tree)
    return frozenset(names)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """A module and the statements in it, without the expressions, which are most of its nodes."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in BLOCKS:
            waiting += getattr(node, block, ())


def _refuse_computed(path: Path, tree: ast.Module) -> None:
    """Raises :class:`ImportError` if a file imports by a computed name."""
    if not any(name in _text(path) for name in BY_NAME):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in BY_NAME:
            _refuse(path, node, "an import by a computed name cannot be followed")


def _from_import(path: Path, node: ast.ImportFrom) -> set[str]:
    base = node.module or ""
    if node.level:
        package = path.relative_to(SOURCE).parent.parts
        base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
    if not _is_ours(base):
        return set()
    names = {base}
    for alias in node.names:
        if _exists(f"{base}.{alias.name}"):
            names.add(f"{base}.{alias.name}")
        elif base == PACKAGE:
            _refuse(path, node, f"`{alias.name}` is not a module of {PACKAGE}")
    return names


def _refuse(path: Path, node: ast.AST, why: str) -> None:
    place = path.relative_to(SOURCE.parent) if path.is_relative_to(SOURCE.parent) else path
    remedy = f"write `from {PACKAGE}.<module> import <name>`"
    line = f"line {getattr(node, 'lineno', '?')}"
    raise ImportError(f"{place}, {line}: {why}, so that its digest would miss code: {remedy}")


def _is_ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def _exists(name: str) -> bool:
    return any(path.is_file() for path in _places(name))


def _find(name: str) -> Path:
    for path in _places(name):
        if path.is_file():
            return path
    raise ImportError(f"module {name} is imported but is at none of {_places(name)}")


def _places(name: str) -> list[Path]:
    stem = SOURCE.joinpath(*name.split("."))
    return [stem.with_suffix(".py"), stem / "__init__.py"]


@cache
def _content(text: str) -> str:
    """Hash of what a file's text does: its code without comments, docstrings and layout."""
    tree = ast.parse(text)
    for node in _statements(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


def _tree(path: Path) -> ast.Module:
    return ast.parse(_text(path), filename=str(path))


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _called(node: ast.Call) -> str:
    function = node.func
    return str(getattr(function, "attr", getattr(function, "id", "")))
