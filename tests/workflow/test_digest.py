"""Digests cover what a script imports, and nothing else."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from loading import ROOT, load_module

from vwta.workflow import digest

MODULE = ROOT / "src/vwta/workflow/digest.py"
COPY = "src/vwta/workflow/digest.py"

TREE = {
    "workflow/scripts/train.py": (
        "from vwta.workflow.job import job\nfrom vwta.deep.train import train\n"
    ),
    "workflow/scripts/draw.py": "from vwta.figures import draw\n",
    "src/vwta/workflow/__init__.py": "",
    "src/vwta/workflow/job.py": "import sys\nfrom vwta.workflow import lock\njob = 1\n",
    "src/vwta/workflow/lock.py": "lock = 1\n",
    "src/vwta/__init__.py": "from .figures import draw\n",
    "src/vwta/losses.py": "def loss():\n    return 1\n",
    "src/vwta/data.py": "data = 1\n",
    "src/vwta/late.py": "late = 1\n",
    "src/vwta/unused.py": "unused = 1\n",
    "src/vwta/io/provenance.py": "facts = 1\n",
    "src/vwta/figures/__init__.py": "def draw():\n    return 1\n",
    "src/vwta/deep/__init__.py": "",
    "src/vwta/io/__init__.py": "",
    "src/vwta/deep/train.py": (
        "from vwta import losses\nfrom ..io import provenance\nfrom ..data import data\n"
        "def train():\n    from vwta.late import late\n    return losses, data, late, provenance\n"
    ),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {**TREE, COPY: MODULE.read_text()}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_follows_every_form_of_import(tree: Path) -> None:
    covered = {
        str(path.relative_to(tree))
        for path in load_module(tree / COPY).sources(tree / "workflow/scripts/train.py")
    }
    assert covered == {
        "workflow/scripts/train.py",
        "src/vwta/workflow/__init__.py",
        "src/vwta/workflow/job.py",
        "src/vwta/deep/__init__.py",
        "src/vwta/deep/train.py",
        "src/vwta/io/__init__.py",
        "src/vwta/losses.py",
        "src/vwta/data.py",
        "src/vwta/late.py",
    }


def digests(tree: Path) -> dict[str, str]:
    """Digests of both scripts, by a module that has read nothing yet."""
    module, scripts = load_module(tree / COPY), tree / "workflow/scripts"
    return {name: module.digest(scripts / name) for name in ("train.py", "draw.py")}


def append(text: str) -> Callable[[str], str]:
    return lambda content: content + text


@pytest.mark.parametrize(
    ("name", "edit", "changed"),
    [
        ("src/vwta/losses.py", append("beta = 2\n"), {"train.py"}),
        ("src/vwta/losses.py", lambda text: text.replace("return 1", "return 2"), {"train.py"}),
        ("src/vwta/late.py", append("more = 1\n"), {"train.py"}),
        ("src/vwta/deep/__init__.py", append("more = 1\n"), {"train.py"}),
        ("src/vwta/figures/__init__.py", append("colour = 2\n"), {"draw.py"}),
        ("workflow/scripts/train.py", append("train()\n"), {"train.py"}),
        ("src/vwta/workflow/job.py", append("job = 2\n"), {"train.py"}),
        ("src/vwta/workflow/lock.py", append("more = 1\n"), set()),
        ("src/vwta/unused.py", append("more = 1\n"), set()),
        ("src/vwta/__init__.py", append("more = 1\n"), set()),
        ("src/vwta/io/provenance.py", append("more = 1\n"), set()),
        ("src/vwta/losses.py", append("\n\n# a comment\n"), set()),
        ("src/vwta/losses.py", lambda text: '"""What it is."""\n' + text, set()),
        (
            "src/vwta/losses.py",
            lambda text: text.replace("loss():\n", 'loss():\n    """Why."""\n\n'),
            set(),
        ),
    ],
)
def test_changes_with_what_matters(
    tree: Path, name: str, edit: Callable[[str], str], changed: set[str]
) -> None:
    before = digests(tree)
    path = tree / name
    content = path.read_text()
    assert edit(content) != content
    path.write_text(edit(content))
    after = digests(tree)
    assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.parametrize(
    "line",
    [
        "import vwta",
        "from vwta import Box",
        "import importlib\nimportlib.import_module('vwta.losses')",
        "__import__('vwta.losses')",
    ],
)
def test_refuses_what_it_cannot_follow(tree: Path, line: str) -> None:
    (tree / "src/vwta/data.py").write_text(f"{line}\n")
    with pytest.raises(
        ImportError, match=r"src/vwta/data\.py, line \d.*from vwta\.<module> import"
    ):
        digests(tree)


def test_missing_module_is_named(tree: Path) -> None:
    (tree / "src/vwta/data.py").write_text("from vwta.nowhere import x\n")
    with pytest.raises(ImportError, match=r"vwta\.nowhere"):
        digests(tree)


def test_reads_each_file_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, script = load_module(tree / COPY), tree / "workflow/scripts/train.py"
    first = module.digest(script)
    monkeypatch.setattr(Path, "read_text", lambda path, **_: pytest.fail(f"{path} is read again"))
    monkeypatch.setattr(module.ast, "parse", lambda *_, **__: pytest.fail("parsed again"))
    assert module.digest(script) == first


@pytest.mark.parametrize(
    "script", sorted((ROOT / "workflow/scripts").glob("*.py")), ids=lambda path: path.stem
)
def test_every_script_has_a_digest(script: Path) -> None:
    named = ["vwta.paper.figures.uci"] if script.stem == "figure" else []
    assert len(digest.digest(script, *named)) == 16


def test_covers_what_python_imports() -> None:
    """Training loads from vwta the modules that its digest covers, and those that are left out."""
    import subprocess

    program = (
        "import sys, vwta.paper.synthetic.train\n"
        "print(*(name for name in sys.modules if name.split('.')[0] == 'vwta'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
    )
    closure = digest._closure(ROOT / "workflow/scripts/train_synthetic.py")
    own = {"vwta.workflow", "vwta.workflow.job", "vwta.workflow.training_job"}
    assert set(done.stdout.split()) - digest.LEFT_OUT == closure - own


def test_named_modules_are_covered(tree: Path) -> None:
    """A script that imports by a name that it is given must say which modules it may be given."""
    script = tree / "workflow/scripts/any.py"
    script.write_text("import importlib\nimportlib.import_module(name)\n")
    module = load_module(tree / COPY)
    with pytest.raises(ImportError, match="computed name"):
        module.digest(script)
    assert module.digest(script, "vwta.figures") != module.digest(script, "vwta.late")
    assert tree / "src/vwta/figures/__init__.py" in module.sources(script, "vwta.figures")
    assert tree / "src/vwta/late.py" not in module.sources(script, "vwta.figures")


def test_jobs_import_the_package_that_was_read(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_module(tree / COPY)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["elsewhere", str(tree / "src")]))
    for _ in range(2):
        module.share(tree)
        assert os.environ["PYTHONPATH"] == os.pathsep.join([str(tree / "src"), "elsewhere"])
    with pytest.raises(SystemExit, match=r"would run the code in .*Remedy: make setup"):
        module.share(ROOT)
    module.share(ROOT / "docs")  # which brings no package


def test_the_same_package_may_be_elsewhere(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it was installed, and the workflow is a clone of the same revision."""
    monkeypatch.setenv("PYTHONPATH", "")  # which `share` sets
    module = load_module(tree / COPY)
    shutil.copytree(tree / "src", tmp_path / "clone/src")
    (tree / "src/vwta/__pycache__").mkdir(exist_ok=True)
    (tree / "src/vwta/__pycache__/late.pyc").write_bytes(b"compiled")
    module.share(tmp_path / "clone")
    (tmp_path / "clone/src/vwta/deep/assets.css").write_text("")
    with pytest.raises(SystemExit, match=r"not its own: they differ in deep/assets\.css\."):
        module.share(tmp_path / "clone")


@pytest.mark.parametrize(
    "path", ["/a b/python", "/$(touch x)/python", "/a;b/python", "/a'b/python"]
)
def test_interpreter_that_a_shell_would_misread(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", path)
    with pytest.raises(SystemExit, match=r"Nothing was run\. Remedy: call make"):
        digest.share(ROOT)
