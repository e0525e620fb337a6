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
import filecmp
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

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


class Import(NamedTuple):
    """An import of names out of an origin, or of modules if that is None."""

    line: int
    names: tuple[str, ...]
    origin: str | None
    level: int


class Module(NamedTuple):
    """What the text of a module does: a hash without comments, docstrings and layout; its imports.

    Arguments:
        content: the hash.
        imports: of any module, in any order.
        computed: the first line that imports by a computed name, or 0.
    """

    content: str
    imports: tuple[Import, ...]
    computed: int


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

    Stops with a message if the workflow comes with a package of its own, and that has other files,
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
    own = Path(root, "src", PACKAGE)
    if own.is_dir() and (other := _other(own, SOURCE / PACKAGE)):
        sys.exit(
            f"The workflow in {root} would run the code in {SOURCE}, not its own: they differ in "
            f"{other}. Nothing was run. Remedy: make setup, or pip install what has the same "
            f"revision, or set PYTHONPATH={own.parent}"
        )
    others = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    places = [str(SOURCE), *(place for place in others if place != str(SOURCE))]
    os.environ["PYTHONPATH"] = os.pathsep.join(places)


def _other(one: Path, two: Path) -> str | None:
    """The first file in which two copies of a package differ, if any."""
    if one.resolve() == two:
        return None
    names = {
        path.relative_to(folder).as_posix()
        for folder in (one, two)
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    _, other, unreadable = filecmp.cmpfiles(one, two, sorted(names), shallow=False)
    return min(other + unreadable, default=None)


@cache
def _digest_of(script: Path, modules: tuple[str, ...]) -> str:
    total = hashlib.sha256()
    for name in [None, *sorted(_closure(script, modules))]:
        file = script if name is None else _find(name)
        total.update(f"{name}:{_read(_text(file)).content}\n".encode())
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
    module = _read(_text(path))
    for found in module.imports:
        if found.origin is not None:
            names |= _from_import(path, found)
            continue
        names |= {name for name in found.names if _is_ours(name)}
        if PACKAGE in found.names:
            _refuse(path, found.line, f"`import {PACKAGE}` does not say which module it needs")
    if module.computed and not computed:
        _refuse(path, module.computed, "an import by a computed name cannot be followed")
    return frozenset(names)


def _from_import(path: Path, found: Import) -> set[str]:
    base = found.origin or ""
    if found.level:
        package = path.relative_to(SOURCE).parent.parts
        base = ".".join([*package[: len(package) - found.level + 1], *filter(None, [base])])
    if not _is_ours(base):
        return set()
    names = {base}
    for name in found.names:
        if _exists(f"{base}.{name}"):
            names.add(f"{base}.{name}")
        elif base == PACKAGE:
            _refuse(path, found.line, f"`{name}` is not a module of {PACKAGE}")
    return names


def _refuse(path: Path, line: int, why: str) -> None:
    place = path.relative_to(SOURCE.parent) if path.is_relative_to(SOURCE.parent) else path
    remedy = f"write `from {PACKAGE}.<module> import <name>`"
    raise ImportError(f"{place}, line {line}: {why}, so that its digest would miss code: {remedy}")


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
def _read(text: str) -> Module:
    """What digests need to know of a module, by its text alone."""
    tree = ast.parse(text)
    imports = []
    for node in _statements(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            origin = (node.module or "") if isinstance(node, ast.ImportFrom) else None
            imports.append(Import(node.lineno, names, origin, getattr(node, "level", 0)))
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    content = hashlib.sha256(ast.unparse(tree).encode()).hexdigest()
    return Module(content, tuple(imports), _computed(text, tree))


def _computed(text: str, tree: ast.Module) -> int:
    """The first line with an import by a computed name; 0 if there is none."""
    if not any(name in text for name in BY_NAME):
        return 0
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return min((node.lineno for node in calls if _called(node) in BY_NAME), default=0)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """A module and the statements in it, without the expressions, which are most of its nodes."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in BLOCKS:
            waiting += getattr(node, block, ())


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _called(node: ast.Call) -> str:
    function = node.func
    return str(getattr(function, "attr", getattr(function, "id", "")))
