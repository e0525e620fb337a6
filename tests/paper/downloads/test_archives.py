"""Archives are unpacked whole or not at all, and never beyond their folder."""

import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from vwta.io.errors import BadArchive
from vwta.paper.downloads.archives import Limits, extract, unpack


def archive_of(path: Path, members: dict[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def special(name: str, kind: int) -> zipfile.ZipInfo:
    """A member of another kind than a file: `stat.S_IFLNK` and the like."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3  # Unix
    info.external_attr = (kind | 0o777) << 16
    return info


@pytest.fixture
def good(tmp_path: Path) -> Path:
    members = {"folder/": b"", "folder/a.txt": b"alpha", "folder/deep/b.txt": b"beta", "c": b""}
    return archive_of(tmp_path / "good.zip", members)


def test_unpacks_all(good: Path, tmp_path: Path) -> None:
    unpack(good, tmp_path / "new" / "out")
    found = sorted(path for path in (tmp_path / "new/out").rglob("*") if path.is_file())
    names = [str(path.relative_to(tmp_path / "new/out")) for path in found]
    assert names == ["c", "folder/a.txt", "folder/deep/b.txt"]
    assert [path.read_bytes() for path in found] == [b"", b"alpha", b"beta"]
    assert os.listdir(tmp_path / "new") == ["out"]


def test_extracts_one_member_alone(good: Path, tmp_path: Path) -> None:
    extract(good, "folder/deep/b.txt", tmp_path / "out" / "b")
    assert (tmp_path / "out/b").read_bytes() == b"beta"
    assert os.listdir(tmp_path / "out") == ["b"]


def test_finds_a_member_that_has_moved(good: Path, tmp_path: Path) -> None:
    extract(good, "other folder/b.txt", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"beta"


def test_names_what_is_there_instead(good: Path, tmp_path: Path) -> None:
    with pytest.raises(
        BadArchive, match=r"no member 'x\.txt'; its first ones are c, folder/a\.txt"
    ):
        extract(good, "x.txt", tmp_path / "x")
    twice = archive_of(tmp_path / "twice.zip", {"1/x.txt": b"1", "2/x.txt": b"2"})
    with pytest.raises(BadArchive, match="no member"):
        extract(twice, "x.txt", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_leaves_a_full_folder_alone(good: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    unpack(good, tmp_path / "out")  # an empty one is taken
    (tmp_path / "out/mine").write_text("mine")
    with pytest.raises(FileExistsError, match="Remedy: remove it"):
        unpack(good, tmp_path / "out")
    assert (tmp_path / "out/mine").read_text() == "mine"


HARMFUL: dict[str, tuple[dict[str | zipfile.ZipInfo, bytes], str]] = {
    "above": ({"../evil": b"x"}, "outside of its folder"),
    "above, later": ({"a/../../evil": b"x"}, "outside of its folder"),
    "nothing": ({"./": b""}, "outside of its folder"),
    "absolute": ({"/evil": b"x"}, "absolute path"),
    "drive": ({"C:/evil": b"x"}, "absolute path"),
    "drive, relative": ({"c:evil": b"x"}, "absolute path"),
    "backslash": ({"..\\evil": b"x"}, "backslash"),
    "link": ({special("link", stat.S_IFLNK): b"/etc"}, "link or a device"),
    "device": ({special("device", stat.S_IFCHR): b""}, "link or a device"),
    "pipe": ({special("pipe", stat.S_IFIFO): b""}, "link or a device"),
    "bomb": ({"zeros": bytes(10**6)}, "grows more than 200 times"),
    "deep": ({"a/" * 2000 + "b": b"x"}, "is below more than 50 folders"),
    "file and folder": ({"a": b"x", "a/b": b"x"}, "is a file and a folder"),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_refuses_what_does_harm(tmp_path: Path, case: str) -> None:
    members, why = HARMFUL[case]
    bad = archive_of(tmp_path / "bad.zip", {"good": b"fine", **members})
    before = set(tmp_path.rglob("*"))
    with pytest.raises(BadArchive, match=why) as refusal:
        unpack(bad, tmp_path / "out")
    assert str(bad) in str(refusal.value)
    assert "Remedy" in str(refusal.value)
    with pytest.raises(BadArchive, match=why):
        extract(bad, "good", tmp_path / "good")
    assert set(tmp_path.rglob("*")) == before
    assert not (tmp_path.parent / "evil").exists()


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(members=3), "4 members, more than 3"),
        (Limits(total=8), "9 bytes, more than 8"),
        (Limits(ratio=0.1), r"grows more than 0\.1 times"),
        (Limits(depth=1), "'folder/deep/b.txt' is below more than 1 folders"),
        (Limits(members=4, entry=50), r"its directory takes \d{3} bytes, more than"),
    ],
)
def test_limits(good: Path, tmp_path: Path, limits: Limits, why: str) -> None:
    with pytest.raises(BadArchive, match=why):
        unpack(good, tmp_path / "out", limits)
    assert not (tmp_path / "out").exists()


def test_large_directories_are_not_even_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes 20 microseconds a member, for two million members in 94 MB."""
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", *[0] * 9, 1, *[0] * 6) + b"a"
    directory = entry * 200_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, len(directory), 0, 0)
    (tmp_path / "bad.zip").write_bytes(directory + end)
    parsed: list[str] = []
    monkeypatch.setattr(zipfile, "ZipInfo", parsed.append)
    with pytest.raises(BadArchive, match="it has 200000 members, more than 100000"):
        unpack(tmp_path / "bad.zip", tmp_path / "out")
    with pytest.raises(BadArchive, match="takes 9400000 bytes, more than 1000000"):
        extract(tmp_path / "bad.zip", "a", tmp_path / "a", Limits(members=1000))
    assert parsed == []
    assert os.listdir(tmp_path) == ["bad.zip"]


def test_archives_of_archives_are_no_large_directories(good: Path, tmp_path: Path) -> None:
    """Though the end of one that is stored has other directories in it."""
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        for number in range(3):
            archive.write(good, f"{number}.zip")
    unpack(tmp_path / "outer.zip", tmp_path / "out", Limits(members=3))
    assert (tmp_path / "out/2.zip").read_bytes() == good.read_bytes()


def test_foreign_names_are_escaped_and_short(tmp_path: Path) -> None:
    names = {"\x1b[2J" + "x" * 200: b"", "../\n" + "y" * 5000: b""}
    for name in names:
        bad = archive_of(tmp_path / "bad.zip", {name: b""})
        with pytest.raises(BadArchive) as error:
            extract(bad, "z", tmp_path / "z")
        assert str(error.value).isprintable()
        assert len(str(error.value)) < 400 + len(str(bad))


def test_refuses_two_members_of_one_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a", b"2")
    with pytest.raises(BadArchive, match="2 members 'a'"):
        unpack(tmp_path / "bad.zip", tmp_path / "out")


def test_refuses_other_compressions(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a", b"1" * 100)
    with pytest.raises(BadArchive, match="compressed by method 12"):
        unpack(tmp_path / "bad.zip", tmp_path / "out")


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    """Another byte in the compressed content of the first member that has some."""
    place = content.index(b"folder/a.txt") + len("folder/a.txt") + 1
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def declare(content: bytes) -> bytes:
    """The directory says that `alpha` has 4 bytes."""
    place = content.rindex(b"PK\x01\x02", 0, content.rindex(b"folder/a.txt")) + 24
    assert content[place] == 5
    return content[:place] + b"\x04" + content[place + 1 :]


@pytest.mark.parametrize("damage", [cut, flip, declare, lambda content: b"<html>", lambda _: b""])
def test_damage_is_noticed(good: Path, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    good.write_bytes(damage(good.read_bytes()))
    with pytest.raises(BadArchive, match=r"is damaged.*Remedy"):
        unpack(good, tmp_path / "out")
    with pytest.raises(BadArchive, match="is damaged"):
        extract(good, "folder/a.txt", tmp_path / "a")
    assert os.listdir(tmp_path) == ["good.zip"]
