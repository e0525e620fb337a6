"""Imports go downwards and never in circles; the library gets by with its base requirements."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from loading import ROOT

PACKAGE = ROOT / "src" / "vwta"
LIBRARY = {"geometry", "distributions", "nn", "training", "io", "seeds", "web"}
MAY_IMPORT = {
    "geometry": set(),
    "distributions": {"geometry", "seeds"},
    "nn": {"geometry", "distributions", "seeds"},
    "training": {"geometry", "distributions", "nn", "io", "seeds"},
    "io": {"__version__"},
    "seeds": set(),
    "web": set(),
    "style": set(),
    "plot": LIBRARY | {"style"},
    "estimator": LIBRARY | {"plot"},
    "cli": LIBRARY | {"estimator"},
    "paper": LIBRARY | {"style"},
    "workflow": LIBRARY | {"paper", "snakemake"},
    # Nothing imports these two: what the package offers, on first use, and its command.
    "__init__": LIBRARY | {"estimator", "plot"},
    "__main__": {"cli"},
}
EXTRAS = {
    *("matplotlib", "openpyxl", "ot", "pandas", "pyarrow"),
    *("requests", "sklearn", "snakemake", "xlrd", "yaml"),
}

Graph = dict[str, set[str]]


@cache
def read_imports(package: Path) -> Graph:
    """The imports of each module, anywhere in its code; `a.b` for `from a import b`."""
    found: Graph = {}
    for path in package.rglob("*.py"):
        names = found.setdefault(".".join(path.relative_to(package).with_suffix("").parts), set())
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                names.update(f"{base}.{alias.name}" for alias in node.names)
    return found


def faults(imports: Graph) -> list[str]:
    """Imports that :data:`MAY_IMPORT` does not allow, and cycles of modules and of packages."""
    found = []
    modules: Graph = {}
    packages: Graph = {}
    for module, names in imports.items():
        part = module.split(".")[0]
        if part not in MAY_IMPORT:
            found.append(f"{module} has no place in MAY_IMPORT")
        for name in names:
            top = name.removeprefix("vwta.").split(".")[0]
            allowed = top in MAY_IMPORT.get(part, set()) | {part}
            if name.startswith(("vwta.", ".", "snakemake")) and not allowed:
                found.append(f"{module} must not import {name}")
        if part not in ("__init__", "__main__"):
            ours = {name.removeprefix("vwta.") for name in names}
            modules[module] = {m for n in ours for m in (n, n.rpartition(".")[0]) if m in imports}
            others = {_package(m) for m in modules[module]} - {_package(module)}
            packages.setdefault(_package(module), set()).update(others)
    return [*found, *_cycles(modules), *_cycles(packages)]


def _cycles(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"cycle: {' -> '.join(error.args[1])}"]
    return []


def _package(module: str) -> str:
    return module.rpartition(".")[0] or module


def test_imports_go_downwards_without_cycles() -> None:
    assert faults(read_imports(PACKAGE)) == []


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        ("geometry.spaces", "vwta.distributions.mixtures", "must not import"),
        ("distributions.line", "vwta.io.storage.atomic", "must not import"),
        ("nn.losses", "vwta.training.loop.fit", "must not import"),
        ("training.loop", "vwta.estimator.heads", "must not import"),
        ("training.loop", "vwta.paper.metrics", "must not import"),
        ("estimator.regressor", "vwta.cli.main", "must not import"),
        ("paper.figures.style", "vwta.plot.line.density", "must not import"),
        ("plot.line", "vwta.estimator.predicted.PredictedLaw", "must not import"),
        ("cli.main", "vwta.paper.verdicts.command", "must not import"),
        ("paper.metrics", "vwta.workflow.digest.digest", "must not import"),
        ("paper.metrics", "snakemake", "must not import"),
        ("io.storage", ".errors.NoSpace", "must not import"),
        ("unheard_of", "vwta.io.storage", "has no place"),
        ("geometry.spaces", "vwta.geometry.polygons", "cycle: "),
        ("paper.synthetic.true_laws", "vwta.paper.synthetic.train", "cycle: "),
    ],
)
def test_bad_import_is_found(module: str, name: str, fault: str) -> None:
    imports = read_imports(PACKAGE)
    found = faults({**imports, module: imports.get(module, set()) | {name}})
    assert any(fault in line for line in found)


def test_library_imports_no_extra() -> None:
    names = [name for name in read_imports(PACKAGE) if name.split(".")[0] in LIBRARY]
    lines = [f"import vwta.{name.removesuffix('.__init__')}" for name in names]
    lines.append(f"import sys; sys.exit(' '.join(sys.modules.keys() & {EXTRAS}) or 0)")
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
