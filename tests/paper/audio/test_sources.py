"""The audio study's scenes: unpacked or made, whole or not at all, the same in every attempt."""

import hashlib
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from archives import zipped
from scipy.io import wavfile

from vwta.io import storage
from vwta.io.errors import BadArchive, BadRecording, Mismatch, NoSpace, Unavailable
from vwta.paper.audio.ansyn import CLASSES, COLUMNS, RATE, list_scenes, read_scene
from vwta.paper.audio.scenes import read_sounds
from vwta.paper.audio.sources import gather_recordings, make_split, unpack_split
from vwta.paper.downloads.fetch import File, Source
from vwta.paper.downloads.transfer import Policy

POLICY = Policy(sleep=lambda seconds: None, timeout=(5.0, 5.0), margin=0)
TINY = {"seed": 1, "sizes": {"train": 1, "test": 1}, "seconds": 6}


def wav(seconds: float, channels: int) -> bytes:
    buffer = io.BytesIO()
    rng = np.random.default_rng(0)
    samples = rng.integers(-999, 999, (round(seconds * RATE), channels)).astype(np.int16)
    wavfile.write(buffer, RATE, samples if channels > 1 else samples[:, 0])
    return buffer.getvalue()


def official(overlap: int, split: int) -> dict[str, bytes]:
    """Members of an archive in ANSYN's format: one scene for each part."""
    event = "speech001.wav,0.0,0.5,-10,30,2.5"
    description = "\n".join([",".join(COLUMNS), event]).encode()
    members = {}
    for part in ("train", "test"):
        name = f"{part}_1_desc_30_100"
        members[f"wav_ov{overlap}_split{split}_30db/{name}.wav"] = wav(1, 4)
        members[f"desc_ov{overlap}_split{split}/{name}.csv"] = description
    return members


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("below", ["", "ov2_split3/"])
def test_unpacks_an_archive(tmp_path: Path, below: str) -> None:
    members = official(2, 3)
    others = {f"{below}readme.txt": b"Read me", "__MACOSX/._readme.txt": b""}
    archive = tmp_path / "ov2_split3.zip"
    archive.write_bytes(zipped({below + name: data for name, data in members.items()} | others))
    folder = tmp_path / "out/ov2_split3"
    (tmp_path / "out/.ov2_split3.99.tmp").mkdir(parents=True)  # of a process that was killed
    unpack_split(archive, folder, 2, 3)
    assert contents(folder) == members
    assert [path.name for path in folder.parent.iterdir()] == ["ov2_split3"]
    first, second = list_scenes(folder, [2], [3])
    assert (first.part, second.part) == ("train", "test")
    samples, events = read_scene(first)
    assert samples.shape == (RATE, 4)
    assert (events[0].elevation, events[0].azimuth) == (-10, 30)


TEST_CSV = "desc_ov1_split1/test_1_desc_30_100.csv"
TEST_WAV = "wav_ov1_split1_30db/test_1_desc_30_100.wav"
GOOD = official(1, 1)
BAD = {
    "above": (zipped(GOOD | {"../evil": b"x"}), r"'\.\./evil' would be outside of its folder"),
    "cut short": (zipped(GOOD)[:-500], r"ov1_split1\.zip is damaged"),
    "spoilt inside": (zipped(GOOD).replace(b"speech001", b"speech002"), r"is damaged: Bad CRC"),
    "description missing": (
        zipped({name: data for name, data in GOOD.items() if name != TEST_CSV}),
        rf"ov1_split1\.zip is not complete: {TEST_CSV}: no such file, but {TEST_WAV} needs it\. R",
    ),
    "no test scene": (
        zipped({name: data for name, data in GOOD.items() if "test_" not in name}),
        r"is not complete: wav_ov1_split1_30db: no scene test_1",
    ),
    "another split": (
        zipped(official(1, 2)),
        "has no folder wav_ov1_split1_30db; its folders are desc_ov1_split2, wav_ov1_split2_30db",
    ),
    "two levels down": (
        zipped({f"a/b/{name}": data for name, data in GOOD.items()}),
        "has no folder wav_ov1_split1_30db; its folders are a",
    ),
    "bomb": (zipped({f"{i}": b"" for i in range(2001)}), "it has 2001 members, more than 2000"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_archives_leave_nothing(tmp_path: Path, case: str) -> None:
    content, message = BAD[case]
    archive = tmp_path / "ov1_split1.zip"
    archive.write_bytes(content)
    with pytest.raises(BadArchive, match=message) as error:
        unpack_split(archive, tmp_path / "out/ov1_split1", 1, 1)
    assert "Remedy: delete it and fetch it again" in str(error.value)
    assert str(error.value).count("Remedy") == 1
    assert list((tmp_path / "out").iterdir()) == []
    assert not list(tmp_path.rglob("evil"))


def test_scenes_depend_on_their_place_alone(tmp_path: Path) -> None:
    make_split(tmp_path / "a/ov2_split1", 2, 1, sounds=2, **TINY)
    larger = TINY | {"sizes": {"train": 2, "test": 1}}
    make_split(tmp_path / "b/ov2_split1", 2, 1, sounds=2, **larger)
    few, many = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert len(few) == 4
    assert few.items() <= many.items()
    assert len({data for name, data in many.items() if name.endswith(".wav")}) == 3
    make_split(tmp_path / "c/ov2_split1", 2, 1, sounds=2, **TINY | {"seed": 2})
    other = contents(tmp_path / "c")
    assert other.keys() == few.keys()
    assert all(other[name] != few[name] for name in few)


def test_scenes_that_are_too_short_or_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadRecording, match=r"audio\.seconds = 2\. Remedy: make audio\.seconds"):
        make_split(tmp_path / "out", 1, 1, sounds=2, **TINY | {"seconds": 2})
    monkeypatch.setattr(
        storage.shutil, "disk_usage", lambda folder: SimpleNamespace(free=200_000_000)
    )
    with pytest.raises(NoSpace, match=r"4\.2 MB and a margin of 200\.0 MB are needed.*larger disk"):
        make_split(tmp_path / "out", 1, 1, sounds=2, **TINY)
    assert list(tmp_path.iterdir()) == []


def recordings(per_class: int = 2) -> dict[str, bytes]:
    sound = wav(0.4, 1)
    return {f"{kind}{i:03}.wav": sound + bytes(i) for kind in CLASSES for i in range(per_class)}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def archive_at(website: Any, content: bytes) -> File:
    """The archive of the recordings, on the website."""
    website.answers["/sounds.zip"] = [(200, content)]
    md5 = f"md5:{hashlib.md5(content, usedforsecurity=False).hexdigest()}"
    return File("audio/sounds.zip", (Source(f"{website.address}/sounds.zip"),), (md5,))


def in_archive(files: dict[str, bytes]) -> bytes:
    """As the official archive has them: two levels down, among files of other kinds."""
    members = {f"train_dev/train/{name}": data for name, data in files.items()}
    scene = {"train_dev/dev/sound/dev_1_ebr_-6_nec_1_poly_0.wav": wav(0.1, 1)}
    return zipped(members | scene | {"train_dev/README.txt": b"Read me"})


def test_recordings_of_a_mirror(website: Any, tmp_path: Path) -> None:
    archive = archive_at(website, b"")
    mirror, files = tmp_path / "mirror", recordings()
    write(mirror / "sounds", files | {"notes.txt": b"mine", "dev_1.wav": b"mine"})
    folder = tmp_path / "cache/audio/sounds"
    gather_recordings(folder, archive, 2, tmp_path / "cache", mirror, POLICY)
    assert contents(folder) == files
    assert len(read_sounds(folder)) == 22
    assert website.seen == []
    assert contents(mirror / "sounds").keys() > files.keys(), "a mirror is left as it is"


def test_recordings_of_the_archive(website: Any, tmp_path: Path) -> None:
    """Which is also taken when the mirror's recordings are not complete, or cannot be read."""
    files = recordings()
    archive = archive_at(website, in_archive(files))
    fewer = {name: data for name, data in files.items() if name != "knock001.wav"}
    mirrors = {
        "absent": None,
        "empty": tmp_path / "nothing",
        "fewer": write(tmp_path / "fewer/sounds", fewer).parent,
        "spoilt": write(tmp_path / "spoilt/sounds", files | {"knock001.wav": b"x"}).parent,
    }
    for name, mirror in mirrors.items():
        cache = tmp_path / "cache" / name
        gather_recordings(cache / "audio/sounds", archive, 2, cache, mirror, POLICY)
        assert contents(cache / "audio/sounds") == files, name
    assert len(website.seen) == len(mirrors)


def test_recordings_that_cannot_be_had(website: Any, tmp_path: Path) -> None:
    folder, cache = tmp_path / "cache/audio/sounds", tmp_path / "cache"
    files = recordings()
    archive = archive_at(website, in_archive(files))
    website.answers["/sounds.zip"] = [(404, b"")]
    fewer = {name: data for name, data in files.items() if name != "knock001.wav"}
    mirror = write(tmp_path / "mirror/sounds", fewer).parent
    with pytest.raises(Unavailable) as error:
        gather_recordings(folder, archive, 2, cache, mirror, POLICY)
    text = str(error.value)
    assert f"{website.address}/sounds.zip: status 404 Not Found" in text
    assert "as FOLDER/sounds/speech001.wav and so on" in text
    assert f"{mirror}/sounds: 2 recordings of each class are expected, there are 1 of knock" in text

    twice = archive_at(website, in_archive(files | {"again/knock001.wav": b""}))
    with pytest.raises(Mismatch, match=r"knock001\.wav is there twice"):
        gather_recordings(folder, twice, 2, cache, None, POLICY)
    assert list(folder.parent.iterdir()) == [cache / "audio/sounds.zip"]
