"""Imports go downwards and never in circles; the library gets by with its base requirements."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from loading import ROOT

PACKAGE = ROOT / "src" / "vwta"
LIBRARY = {"geometry", "distributions", "nn", "training", "io", "seeds"}
MAY_IMPORT = {
    "geometry": set(),
    "distributions": {"geometry"},
    "nn": {"geometry", "distributions", "seeds"},
    "training": {"geometry", "distributions", "nn", "io", "seeds"},
    "io": {"__version__"},
    "seeds": set(),
    "paper": LIBRARY,
    "workflow": LIBRARY | {"paper", "snakemake"},
    # Nothing imports these two: what the package offers, on first use, and its command.
    "__init__": LIBRARY,
    "__main__": LIBRARY | {"paper"},
}
EXTRAS = {
    *("matplotlib", "openpyxl", "ot", "pandas", "pyarrow"),
    *("requests", "sklearn", "snakemake", "xlrd", "yaml"),
}

Graph = dict[str, set[str]]


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


def check(imports: Graph) -> None:
    """Fails unless imports keep to :data:`MAY_IMPORT`, without cycles of modules or packages."""
    modules: Graph = {}
    packages: Graph = {}
    for module, names in imports.items():
        part = module.split(".")[0]
        for name in names:
            top = name.removeprefix("vwta.").split(".")[0]
            if name.startswith(("vwta.", ".", "snakemake")):
                assert top in MAY_IMPORT[part] | {part}, f"{module} must not import {name}"
        if part not in ("__init__", "__main__"):
            ours = {name.removeprefix("vwta.") for name in names}
            modules[module] = {m for n in ours for m in (n, n.rpartition(".")[0]) if m in imports}
            found = {_package(m) for m in modules[module]} - {_package(module)}
            packages.setdefault(_package(module), set()).update(found)
    TopologicalSorter(modules).prepare()
    TopologicalSorter(packages).prepare()


def _package(module: str) -> str:
    return module.rpartition(".")[0] or module


def test_imports_go_downwards_without_cycles() -> None:
    check(read_imports(PACKAGE))


@pytest.mark.parametrize(
    ("module", "name", "error"),
    [
        ("geometry.spaces", "vwta.distributions.mixtures", AssertionError),
        ("distributions.line", "vwta.io.storage.atomic", AssertionError),
        ("nn.losses", "vwta.training.loop.fit", AssertionError),
        ("training.loop", "vwta.paper.metrics", AssertionError),
        ("paper.metrics", "vwta.workflow.digest.digest", AssertionError),
        ("paper.metrics", "snakemake", AssertionError),
        ("io.storage", ".errors.NoSpace", AssertionError),
        ("unheard_of", "vwta.io.storage", KeyError),
        ("geometry.spaces", "vwta.geometry.polygons", CycleError),
        ("paper.data.synthetic", "vwta.paper.synthetic.train", CycleError),
    ],
)
def test_bad_import_is_found(module: str, name: str, error: type[Exception]) -> None:
    imports = read_imports(PACKAGE)
    with pytest.raises(error):
        check({**imports, module: imports.get(module, set()) | {name}})


def test_library_imports_no_extra() -> None:
    names = [name for name in read_imports(PACKAGE) if name.split(".")[0] in LIBRARY]
    lines = [f"import vwta.{name.removesuffix('.__init__')}" for name in names]
    lines.append(f"import sys; sys.exit(' '.join(sys.modules.keys() & {EXTRAS}) or 0)")
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
