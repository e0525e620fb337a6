"""A test that changes what others see fails, wherever it does so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from loading import ROOT

OTHER = """
import os

def test_other():
    found = os.environ.get("VWTA_MIRROR"), os.environ["HOME"], os.getcwd()
    assert found == (None, "here", {here!r})
"""
KINDS = {
    "nothing": "def test_it(monkeypatch): monkeypatch.setenv('VWTA_MIRROR', 'x')",
    "import": "os.environ['VWTA_MIRROR'] = 'x'\ndef test_it(): pass",
    "test": "def test_it(): os.environ['VWTA_MIRROR'] = 'x'",
    "removed": "def test_it(): del os.environ['HOME']",
    "folder": "def test_it(): os.chdir('/')",
    **{
        scope: f"""
@pytest.fixture(scope={scope!r})
def leak():
    os.environ['VWTA_MIRROR'] = 'x'

def test_it(leak): pass
"""
        for scope in ("function", "module", "session")
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_leaks_is_named_and_put_back(kind: str, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(f"import os\nimport pytest\n{KINDS[kind]}\n")
    (tmp_path / "test_b.py").write_text(OTHER.format(here=str(tmp_path)))
    command = [sys.executable, "-m", "pytest", "-p", "guard", "-p", "no:cacheprovider", "-q"]
    command += ["--continue-on-collection-errors"]
    variables = {name: text for name, text in os.environ.items() if name != "VWTA_MIRROR"}
    variables |= {"PYTHONPATH": str(ROOT / "tests"), "HOME": "here"}
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    changed = {"removed": "HOME", "folder": "the current folder, /"}.get(kind, "VWTA_MIRROR")
    assert re.search(r"\b(\d) passed", done.stdout)
    if kind == "nothing":
        assert "2 passed" in done.stdout, done.stdout
    else:
        assert done.returncode == 1, done.stdout
        assert f"has changed {changed}" in done.stdout
        assert "1 error in" in done.stdout
        assert "test_b" not in done.stdout
