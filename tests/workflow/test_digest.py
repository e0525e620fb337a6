"""Digests cover what a script imports, and nothing else."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from loading import ROOT, load_module

MODULE = ROOT / "workflow" / "digest.py"

TREE = {
    "workflow/scripts/train.py": "from job import job\nfrom vwta.deep.train import train\n",
    "workflow/scripts/draw.py": "from vwta.figures import draw\n",
    "workflow/scripts/job.py": "import sys\njob = 1\n",
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
    for name, text in {**TREE, "workflow/digest.py": MODULE.read_text()}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_follows_every_form_of_import(tree: Path) -> None:
    covered = {
        str(path.relative_to(tree))
        for path in load_module(tree / "workflow/digest.py").sources("train.py")
    }
    assert covered == {
        "workflow/scripts/train.py",
        "workflow/scripts/job.py",
        "src/vwta/deep/__init__.py",
        "src/vwta/deep/train.py",
        "src/vwta/io/__init__.py",
        "src/vwta/losses.py",
        "src/vwta/data.py",
        "src/vwta/late.py",
    }


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
        ("workflow/scripts/job.py", append("job = 2\n"), {"train.py"}),
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
    scripts = ["train.py", "draw.py"]
    before = {script: load_module(tree / "workflow/digest.py").digest(script) for script in scripts}
    path = tree / name
    content = path.read_text()
    assert edit(content) != content
    path.write_text(edit(content))
    after = {script: load_module(tree / "workflow/digest.py").digest(script) for script in scripts}
    assert {script for script in scripts if before[script] != after[script]} == changed


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
        load_module(tree / "workflow/digest.py").digest("train.py")


def test_missing_module_is_named(tree: Path) -> None:
    (tree / "src/vwta/data.py").write_text("from vwta.nowhere import x\n")
    with pytest.raises(ImportError, match=r"vwta\.nowhere"):
        load_module(tree / "workflow/digest.py").digest("train.py")


def test_reads_each_file_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_module(tree / "workflow/digest.py")
    first = module.digest("train.py")
    monkeypatch.setattr(module, "_tree", lambda path: pytest.fail(f"{path} is read again"))
    assert module.digest("train.py") == first


@pytest.mark.parametrize(
    "script", sorted(path.name for path in (ROOT / "workflow/scripts").glob("*.py"))
)
def test_every_script_has_a_digest(script: str) -> None:
    assert len(load_module("workflow/digest.py").digest(script)) == 16


def test_covers_what_python_imports() -> None:
    """What training really loads from vwta is what its digest says, but for what is left out."""
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
    module = load_module("workflow/digest.py")
    closure = module._closure(ROOT / "workflow/scripts/train_synthetic.py") - {"job"}
    assert set(done.stdout.split()) - module.LEFT_OUT == closure
