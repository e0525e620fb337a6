"""Files of a revision, out of a repository into a folder."""

import os
import subprocess
from pathlib import Path

import pytest

from vwta.io.errors import DataError
from vwta.workflow.checkout import check_out, keep_checkout

FIRST, SECOND = 1_600_000_000, 1_700_000_000


def git(folder: Path, *arguments: str, seconds: int = FIRST) -> str:
    about = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    time = {"GIT_COMMITTER_DATE": f"{seconds} +0000"}
    command = ["git", *about, *arguments]
    environment = {**os.environ, **time}
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository in which the second commit changes one of two files."""
    folder = tmp_path / "repository"
    (folder / "a place").mkdir(parents=True)
    (folder / "same.txt").write_text("same")
    (folder / "a place/größe.bin").write_bytes(b"\x00\xff\n")
    git(folder, "init", "--quiet")
    for text, seconds in (("one", FIRST), ("two", SECOND)):
        (folder / "a place/text").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", text, seconds=seconds)
    git(folder, "tag", "v1", "HEAD~")
    return folder


def test_a_checkout_has_the_files_and_when_they_were_changed(
    repository: Path, tmp_path: Path
) -> None:
    tree = keep_checkout(repository, "HEAD", tmp_path / "kept")
    assert tree.name == git(repository, "rev-parse", "HEAD")
    times = {p.relative_to(tree).as_posix(): p.stat().st_mtime for p in tree.rglob("*.*")}
    assert times == {"same.txt": FIRST, "a place/größe.bin": FIRST}
    assert (tree / "a place/text").stat().st_mtime == SECOND
    assert (tree / "a place/text").read_text() == "two"
    assert (tree / "a place/größe.bin").read_bytes() == b"\x00\xff\n"


def test_there_is_one_for_each_revision(repository: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first = keep_checkout(repository, "v1", kept)
    assert (first / "a place/text").read_text() == "one"
    (first / "same.txt").write_text("left as it is")
    assert keep_checkout(repository, "HEAD~", kept) == first
    assert (first / "same.txt").read_text() == "left as it is"
    assert keep_checkout(repository, "HEAD", kept) != first
    assert sorted(path.name for path in kept.iterdir())[0][0] != ".", "nothing temporary is left"


def test_some_parts_alone_are_written(repository: Path, tmp_path: Path) -> None:
    check_out(repository, "v1", tmp_path / "tree", ["same.txt"])
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["same.txt"]


def test_an_unknown_revision_is_named(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'nowhere' is no revision of .*Remedy: see `git log`"):
        keep_checkout(repository, "nowhere", tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
