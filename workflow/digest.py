"""Digests of code: what a job's result depends on besides its inputs and its settings.

Snakemake watches a script, not what the script imports. Every rule therefore carries
`code=digest("train_synthetic.py")` among its `params`: a hash of the script and of all modules of
this repository that it imports, directly or not. Imports are read from the syntax tree, nothing is
executed, and comments, blank lines and docstrings do not count.

Three modules are left out. `vwta/__init__.py` only re-exports names, and would otherwise tie every
job to every module. `vwta/io/provenance.py` writes down how a result came about and computes none
of it; `vwta/io/errors.py` says why there is none.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

__all__ = ["digest", "sources"]

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "workflow" / "scripts"
SOURCE = ROOT / "src"
PACKAGE = "vwta"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LEFT_OUT = {PACKAGE, f"{PACKAGE}.io.provenance", f"{PACKAGE}.io.errors"}


def digest(script: str) -> str:
    """Hash of a script in `workflow/scripts` and of everything it imports from this repository."""
    return _digest_of(SCRIPTS / script)


def sources(script: str) -> list[Path]:
    """The files that `digest(script)` covers: the script first, then modules by name."""
    path = SCRIPTS / script
    return [path, *(_find(name) for name in sorted(_closure(path)))]


@cache
def _digest_of(path: Path) -> str:
    total = hashlib.sha256()
    for name in [None, *sorted(_closure(path))]:
        file = path if name is None else _find(name)
        total.update(f"{name}:{_content(file)}\n".encode())
    return total.hexdigest()[:16]


def _closure(path: Path) -> set[str]:
    """Names of the repository's modules that the file at `path` imports, transitively."""
    found: set[str] = set()
    waiting = [*_imports(path)]
    while waiting:
        name = waiting.pop()
        if name in found or name in LEFT_OUT:
            continue
        found.add(name)
        waiting += _imports(_find(name))
        if "." in name:  # importing a.b.c runs a.b too
            waiting.append(name.rpartition(".")[0])
    return found


@cache
def _imports(path: Path) -> frozenset[str]:
    """Names of the repository's modules that the file at `path` itself imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if _is_ours(alias.name)}
            if any(alias.name == PACKAGE for alias in node.names):
                _refuse(path, node, f"`import {PACKAGE}` does not say which module it needs")
        elif isinstance(node, ast.ImportFrom):
            names |= _from_import(path, node)
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            _refuse(path, node, "an import by a computed name cannot be followed")
    return frozenset(names)


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
    place = f"{path.relative_to(ROOT)}, line {getattr(node, 'lineno', '?')}"
    remedy = f"write `from {PACKAGE}.<module> import <name>`"
    raise ImportError(f"{place}: {why}, so that its digest would miss code: {remedy}")


def _is_ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.") or (SCRIPTS / f"{name}.py").is_file()


def _exists(name: str) -> bool:
    return any(path.is_file() for path in _places(name))


def _find(name: str) -> Path:
    for path in _places(name):
        if path.is_file():
            return path
    raise ImportError(f"module {name} is imported but is at none of {_places(name)}")


def _places(name: str) -> list[Path]:
    stem = SOURCE.joinpath(*name.split("."))
    return [stem.with_suffix(".py"), stem / "__init__.py", SCRIPTS / f"{name}.py"]


@cache
def _content(path: Path) -> str:
    """Hash of what the file at `path` does: its code without comments, docstrings and layout."""
    tree = _tree(path)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _called(node: ast.Call) -> str:
    function = node.func
    return getattr(function, "attr", getattr(function, "id", ""))
