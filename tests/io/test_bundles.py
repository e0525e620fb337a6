"""Bundles keep their files to the bit, and refuse archives that are not theirs."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from vwta.io.bundles import bundled, unbundled
from vwta.io.errors import BadArchive
from vwta.io.storage import read_tensors


def write(path: Path, **files: bytes) -> None:
    with bundled(path) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)


def test_files_come_back(tmp_path: Path) -> None:
    path = tmp_path / "networks/splits.zip"
    write(path, split1=b"one", split0=b"nought")
    assert [entry.name for entry in path.parent.iterdir()] == ["splits.zip"]
    with unbundled(path) as folder:
        found = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert found == {"split0": b"nought", "split1": b"one"}
    assert not folder.exists()


def test_archive_depends_on_contents_alone(tmp_path: Path) -> None:
    write(tmp_path / "one.zip", a=b"1", b=b"2")
    write(tmp_path / "two.zip", b=b"2", a=b"1")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write(tmp_path / "splits.zip", split0=b"whole", split1=None)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_bad_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "splits.zip"
    path.write_bytes(b"no archive")
    with pytest.raises(BadArchive, match=r"is damaged: .*Remedy: delete it"), unbundled(path):
        pass
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../split0", b"away")
    with pytest.raises(BadArchive, match="has a file named"), unbundled(path):
        pass


def test_messages_name_the_archive(tmp_path: Path) -> None:
    """Its files are in a folder that is gone when the message is read."""
    path = tmp_path / "splits.zip"
    write(path, split0=b"no tensors")
    with (
        pytest.raises(BadArchive, match=f"^{path}/split0 is damaged: "),
        unbundled(path) as folder,
    ):
        read_tensors(folder / "split0")


@pytest.mark.parametrize("read", [read_tensors, Path.read_bytes])
def test_a_file_that_an_archive_lacks_is_named(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "splits.zip"
    write(path, split0=b"alone")
    with (
        pytest.raises(BadArchive, match=rf"{path}/split1.*\. Remedy: delete it and run again"),
        unbundled(path) as folder,
    ):
        read(folder / "split1")
    with pytest.raises(FileNotFoundError), unbundled(path):
        read(tmp_path / "elsewhere")
