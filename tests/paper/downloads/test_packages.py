"""Files out of Python packages, with a pip that is none."""

import hashlib
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from vwta.io.errors import Unavailable
from vwta.paper.downloads import packages
from vwta.paper.downloads.fetch import File, Source, fetch

CONTENT = b"a,b\n1,2\n"
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
SOURCE = Source(package="toy-data", version="1.2", member="toy_data/table.csv")
FILE = File("uci/table.csv", (SOURCE,), (SHA256,), len(CONTENT))


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Calls of pip, which gives a wheel of version 1.2 of any package."""
    calls: list[list[str]] = []

    def run(command: list[str], **settings: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        folder = Path(command[command.index("--dest") + 1])
        if not command[-1].endswith("==1.2"):
            return subprocess.CompletedProcess(command, 1, "", "ERROR: no such\x1b version\n")
        with zipfile.ZipFile(folder / "toy_data-1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr("toy_data/table.csv", CONTENT)
            wheel.writestr("toy_data/__init__.py", "raise SystemExit")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(packages.subprocess, "run", run)
    return calls


def test_a_member_of_a_wheel_is_taken(pip: list[list[str]], tmp_path: Path) -> None:
    path = fetch(FILE, tmp_path)
    assert path.read_bytes() == CONTENT
    assert pip[0][-1] == "toy-data==1.2"
    assert {"--no-deps", "--only-binary"} <= set(pip[0])
    assert fetch(FILE, tmp_path) == path
    assert len(pip) == 1  # it is there
    assert [file.name for file in path.parent.iterdir()] == ["table.csv"]


def test_what_pip_says_is_told(pip: list[list[str]], tmp_path: Path) -> None:
    other = Source(package="toy-data", version="9", member="toy_data/table.csv")
    with pytest.raises(Unavailable) as caught:
        fetch(File("uci/table.csv", (other,), (SHA256,)), tmp_path)
    assert "the package toy-data 9: pip found no wheel: ERROR: no such" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_another_content_is_refused(pip: list[list[str]], tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="its content differs"):
        fetch(File("uci/table.csv", (SOURCE,), ("sha256:" + "0" * 64,)), tmp_path)
    assert not (tmp_path / "uci/table.csv").exists()


def test_an_installed_package_needs_no_network(
    pip: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "site"
    (place / "toy_data").mkdir(parents=True)
    (place / "toy_data/table.csv").write_bytes(CONTENT)
    facts = place / "toy_data-1.2.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-data\nVersion: 1.2\n")
    monkeypatch.syspath_prepend(place)
    assert fetch(FILE, tmp_path / "cache").read_bytes() == CONTENT
    assert pip == []
