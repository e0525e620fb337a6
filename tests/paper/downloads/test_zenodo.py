"""Lock files of records: asked once, complete, and the same for the same record."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from vwta.io.errors import Mismatch, Unavailable
from vwta.paper.downloads.transfer import Policy
from vwta.paper.downloads.zenodo import lock_record, read_lock

NAMES = [f"ov{overlap}_split{split}.zip" for overlap in (1, 2, 3) for split in (1, 2, 3)]
LOCK = "audio/ansyn.lock.json"
API = "/api/records/1237703"
RECORD = {
    "id": 1237703,
    "files": [
        {
            "key": name,
            "size": 10**9 + index,
            "checksum": f"md5:{index:032x}",
            "links": {"self": f"https://zenodo.org{API}/files/{name}/content"},
        }
        for index, name in enumerate([*reversed(NAMES), "readme.txt"])
    ],
}


def body(record: object) -> bytes:
    return json.dumps(record).encode()


def lock(website: Any, cache: Path, policy: Policy, mirror: Path | None = None) -> Path:
    return lock_record(website.address + API, NAMES, LOCK, cache, mirror, policy)


def test_lock_of_a_good_record(website: Any, tmp_path: Path, policy: Policy) -> None:
    website.answers[API] = [(200, body(RECORD))]
    path = lock(website, tmp_path, policy)
    assert path == tmp_path / LOCK
    assert sorted(tmp_path.rglob("*")) == [path.parent, path], "nothing else is left"
    files = read_lock(path, NAMES, "audio/ansyn")
    assert list(files) == NAMES
    file = files["ov3_split2.zip"]
    assert file.path == "audio/ansyn/ov3_split2.zip"
    assert [source.url for source in file.sources] == [
        f"{website.address}/records/1237703/files/ov3_split2.zip",
        f"https://zenodo.org{API}/files/ov3_split2.zip/content",
    ]
    assert file.checksums == (f"md5:{1:032x}",)
    assert file.bytes == 10**9 + 1

    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    assert content["record"] == website.address + API
    assert list(content["files"]) == NAMES, "sorted, and without other files of the record"
    assert len(text.splitlines()) < 100
    shuffled = {**RECORD, "files": RECORD["files"][::-1], "downloads": 7}
    website.answers[API] = [(200, body(shuffled))]
    again = lock(website, tmp_path / "again", policy)
    assert again.read_bytes() == path.read_bytes(), "the same for the same files"


def test_record_without_links(website: Any, tmp_path: Path, policy: Policy) -> None:
    record = deepcopy(RECORD)
    for file in record["files"]:
        del file["links"]
    website.answers[API] = [(200, body(record))]
    (file,) = read_lock(lock(website, tmp_path, policy), NAMES[:1], "audio/ansyn").values()
    assert [source.url for source in file.sources] == [
        f"{website.address}/records/1237703/files/ov1_split1.zip"
    ]


def test_lock_that_is_there_is_taken(website: Any, tmp_path: Path, policy: Policy) -> None:
    website.answers[API] = [(200, body(RECORD)), (200, body({"files": []}))]
    first = lock(website, tmp_path, policy).read_bytes()
    assert lock(website, tmp_path, policy).read_bytes() == first
    assert website.seen == [API], "the record may have changed since"
    (tmp_path / LOCK).unlink()
    with pytest.raises(Mismatch, match=r"ov1_split1\.zip is missing"):
        lock(website, tmp_path, policy)


def test_lock_of_the_mirror(website: Any, tmp_path: Path, policy: Policy) -> None:
    website.answers[API] = [(200, body(RECORD))]
    mirror = tmp_path / "mirror"
    first = lock(website, mirror, policy).read_bytes()
    assert lock(website, tmp_path / "cache", policy, mirror).read_bytes() == first
    assert lock(website, tmp_path / "other", policy, tmp_path / "empty").read_bytes() == first
    assert website.seen == [API, API], "only a mirror that lacks it is passed over"


def test_busy_server_is_asked_again(
    website: Any, tmp_path: Path, policy: Policy, waits: list[float]
) -> None:
    website.answers[API] = [(429, b"later"), (200, body(RECORD))]
    assert lock(website, tmp_path, policy).exists()
    assert website.seen == [API, API]
    assert len(waits) == 1


def test_record_that_cannot_be_had(website: Any, tmp_path: Path, policy: Policy) -> None:
    with pytest.raises(Unavailable) as error:
        lock(website, tmp_path, policy)
    first, second = str(error.value).splitlines()
    place = f"The list of files {website.address}{API}"
    assert first == f"{place} could not be downloaded: status 404 Not Found"
    assert "FOLDER/audio/ansyn.lock.json" in second
    assert not (tmp_path / LOCK).exists()


def changed(name: str, **changes: object) -> dict[str, Any]:
    record = deepcopy(RECORD)
    (file,) = (file for file in record["files"] if file["key"] == name)
    file |= changes
    return record


BAD = {
    "no JSON": (b"<html>", "is not JSON"),
    "a list": (body([RECORD]), "is JSON of another kind"),
    "no files": (body({"id": 1}), "has no list of files"),
    "files of another kind": (body({"files": {"entries": {}}}), "has no list of files"),
    "archive renamed": (
        body(changed("ov2_split3.zip", key="ov2_split3.rar")),
        r"cannot be used: ov2_split3\.zip is missing\. Remedy: open it in a browser",
    ),
    "short md5": (
        body(changed("ov1_split1.zip", checksum="md5:12")),
        r"ov1_split1\.zip has the checksum 'md5:12', no md5\. Remedy",
    ),
    "no md5": (
        body(changed("ov1_split1.zip", checksum=None)),
        r"ov1_split1\.zip has the checksum None, no md5",
    ),
    "empty archive": (body(changed("ov1_split2.zip", size=0)), r"ov1_split2\.zip has 0 bytes"),
    "a name of another kind": (
        body(changed("ov1_split2.zip", key=["ov1_split2.zip"])),
        r"ov1_split2\.zip is missing",
    ),
    "immense": (
        body(changed("ov1_split2.zip", size=10**400)),
        r"ov1_split2\.zip has 1000+\.\.\.0+ ",
    ),
    "escapes": (
        body(changed("ov1_split2.zip", checksum="\x1b[2J" + "x" * 10**6)),
        r"ov1_split2\.zip has the checksum '\\x1b\[2Jx+\.\.\.x+', no md5",
    ),
    "endless": (b" " * (10**7 + 1), "10.0 MB or more"),
    "size as text": (body(changed("ov1_split2.zip", size="3")), r"ov1_split2\.zip has '3' bytes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_records_are_refused(website: Any, tmp_path: Path, policy: Policy, case: str) -> None:
    answer, message = BAD[case]
    website.answers[API] = [(200, answer)]
    with pytest.raises(Unavailable if case == "endless" else Mismatch, match=message):
        lock(website, tmp_path, policy)
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize("own", [None, 1, [], ["https://host/a"], "", "a\n", "ftp://host/a"])
def test_links_that_are_no_addresses_are_left_out(
    website: Any, tmp_path: Path, policy: Policy, own: object
) -> None:
    record = changed("ov1_split1.zip", links={"self": own})
    website.answers[API] = [(200, body(record))]
    (file,) = read_lock(lock(website, tmp_path, policy), NAMES[:1], "audio/ansyn").values()
    assert [source.url for source in file.sources] == [
        f"{website.address}/records/1237703/files/ov1_split1.zip"
    ]


def test_spoilt_lock_is_refused(website: Any, tmp_path: Path, policy: Policy) -> None:
    website.answers[API] = [(200, body(RECORD))]
    path = lock(website, tmp_path, policy)
    good = path.read_text(encoding="utf-8")
    for spoilt, why in (
        (good[:100], "is not JSON"),
        (good.replace("ov1_split1.zip", "ov1_split4.zip"), r"ov1_split1\.zip is missing"),
        (good.replace('"urls"', '"url"'), "has the addresses None"),
        ("{}", "has no files"),
    ):
        path.write_text(spoilt, encoding="utf-8")
        with pytest.raises(Mismatch, match=rf"(?s){why}.*Remedy: delete {path}"):
            lock(website, tmp_path, policy)
