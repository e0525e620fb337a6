"""Whatever bytes a parser gets, it gives a value or its own error, and writes nothing elsewhere."""

import io
import json
import wave
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import openpyxl
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from loading import ROOT

from vwta.io.errors import BadArchive, BadRecording, BadTable, DataError, Mismatch
from vwta.paper.audio.ansyn import CHANNELS, COLUMNS, RATE, Event, read_events, read_recording
from vwta.paper.downloads.archives import unpack
from vwta.paper.downloads.transfer import Policy
from vwta.paper.downloads.zenodo import lock_record, read_lock
from vwta.paper.uci.datasets import FORMATS, read
from vwta.paper.uci.own import read_csv
from vwta.paper.uci.regression import Table
from vwta.workflow import validation
from vwta.workflow.configuration import unreadable

T = TypeVar("T")
HEADER = ",".join(COLUMNS) + "\n"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def parsed(parse: Callable[[], T], refusal: type[DataError]) -> T | None:
    """The result of a parser, None if it refuses with its own error and a remedy."""
    try:
        return parse()
    except refusal as error:
        message = str(error)
    assert "Remedy: " in message
    return None


@st.composite
def spoilt(draw: st.DrawFn, whole: bytes) -> bytes:
    """A good file with some bytes changed, and perhaps its end missing."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(0, 4))):
        content[draw(st.integers(0, len(whole) - 1))] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else content)


def lines(characters: str, *starts: str) -> st.SearchStrategy[bytes]:
    """Text of a few characters, after one of some starts; or any bytes at all."""
    text = st.tuples(st.sampled_from(["", *starts]), st.text(characters, max_size=60))
    return text.map(lambda parts: "".join(parts).encode()) | st.binary(max_size=60)


@settings(max_examples=150)
@given(content=lines('ay,;\n\r"0159.-e \t\0_nif\ufeff\u2028', "a,y\n", "a,y\n1,2\n3,4\n"))
@example(content=b"a,y\n" + b"1" * 200_000 + b",2\n3,4\n")
def test_own_tables(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    table = parsed(lambda: read_csv(path, "y"), BadTable)
    if table is not None:
        assert len(table.target) >= 2
        assert len(table.columns) == table.inputs.shape[1]


@settings(max_examples=150)
@given(
    content=lines(
        'knock04.wv,\n\r"0159-e \t\0\u2028nai', HEADER, f"{HEADER}knock004.wav,0,1,0,0,1\n"
    )
)
@example(content=(HEADER + "x" * 200_000).encode())
def test_descriptions(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "scene.csv"
    path.write_bytes(content)
    events = parsed(lambda: read_events(path, duration=30.0), BadTable)
    if events is not None:
        assert all(isinstance(event, Event) and event.start < event.end for event in events)


def recording() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(CHANNELS)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes(bytes(range(80)))
    return file.getvalue()


@settings(max_examples=300)
@given(content=spoilt(recording()) | st.binary(max_size=60))
@example(content=recording())
def test_recordings(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "scene.wav"
    path.write_bytes(content)
    samples = parsed(lambda: read_recording(path), BadRecording)
    if samples is not None:
        assert samples.shape[1] == CHANNELS
        assert samples.nbytes <= len(content)


def workbook(sheet: str, columns: int) -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    rows = [[f"c{place}" for place in range(columns)], *([1.5] * columns for _ in range(3))]
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def text_file(name: str) -> bytes:
    columns = FORMATS[name].columns
    header = {"kin8nm": ",", "protein": ",", "wine": ";"}.get(name)
    sign = header or ("," if name == "year" else " ")
    rows = [[f"c{place}" for place in range(columns)]] if header else []
    return "\n".join(sign.join(row) for row in [*rows, *[["1.5"] * columns] * 3]).encode()


OFFICIAL = {name: text_file(name) for name in FORMATS.keys() - {"concrete", "energy", "power"}}
OFFICIAL |= {"energy": workbook("1", 10), "power": workbook("Sheet5", 5), "concrete": b"\xd0\xcf"}


@pytest.mark.filterwarnings("ignore:loadtxt")  # an empty file
@settings(max_examples=20)
@pytest.mark.parametrize("name", sorted(FORMATS))
@given(data=st.data())
def test_files_of_uci(name: str, data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "file.xlsx"
    path.write_bytes(data.draw(spoilt(OFFICIAL[name]) | st.binary(max_size=60)))
    table = parsed(lambda: read(name, path), BadTable)
    if table is not None:
        assert isinstance(table, Table)
        assert table.inputs.shape[1] == FORMATS[name].inputs


LOCK = {"a.zip": {"bytes": 1, "checksum": "md5:" + "0" * 32, "urls": ["https://host/a.zip"]}}


@settings(max_examples=100)
@given(
    content=st.binary(max_size=40)
    | JSON.map(lambda value: json.dumps(value).encode())
    | JSON.map(lambda value: json.dumps({"files": {"a.zip": value}}).encode())
    | spoilt(json.dumps({"files": LOCK}).encode())
)
@example(content=b"[" * 5000)
def test_locks(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    path.write_bytes(content)
    files = parsed(lambda: read_lock(path, ["a.zip"], "audio"), Mismatch)
    if files is not None:
        assert files["a.zip"].path == "audio/a.zip"


RECORD = {
    "files": [
        {
            "key": "a.zip",
            "size": 1,
            "checksum": "md5:" + "0" * 32,
            "links": {"self": "https://host/a.zip"},
        }
    ]
}
ODD = JSON | st.sampled_from(
    [[], {}, ["a.zip"], "\ud800", "https://a b", 10**30, 10**4000, "\x1b[2J"]
)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """A record of Zenodo with other values in some places."""
    record: dict[str, Any] = deepcopy(RECORD)
    (file,) = record["files"]
    for place in draw(st.sets(st.sampled_from([*file, "self", "more"]))):
        if place == "more":
            record["files"].insert(0, draw(ODD | st.fixed_dictionaries({"key": ODD})))
        else:
            (file.get("links") if place == "self" else file)[place] = draw(ODD)
        if place == "links":
            break
    return json.dumps(record).encode()


@settings(max_examples=300)
@given(content=records() | spoilt(json.dumps(RECORD).encode()))
@example(content=json.dumps({"files": [{**RECORD["files"][0], "key": ["a.zip"]}]}).encode())
@example(content=json.dumps({"files": [{**RECORD["files"][0], "links": {"self": []}}]}).encode())
@example(content=b'{"files": [{"key": "a.zip", "size": ' + b"[" * 900 + b"]" * 900 + b"}]}")
@example(content=b'{"files": ' + b"9" * 5000 + b"}")
def test_records(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that can be read again, or one line that says what is wrong with the record."""

    def download(url: str, path: Path, policy: Policy) -> None:
        path.write_bytes(content)

    monkeypatch.setattr("vwta.paper.downloads.zenodo.download", download)
    (tmp_path / "lock.json").unlink(missing_ok=True)
    url = "https://host/api/records/1"
    try:
        path = lock_record(url, ["a.zip"], "lock.json", tmp_path)
    except Mismatch as error:
        message = str(error)
        assert message.isprintable()
        assert len(message) < 1000
        assert "Remedy: " in message
        assert not (tmp_path / "lock.json").exists()
    else:
        (file,) = read_lock(path, ["a.zip"], "audio").values()
        assert file.sources[0].url == "https://host/records/1/files/a.zip"
        assert all(source.url.isascii() and source.url.isprintable() for source in file.sources)
        assert 0 < file.bytes <= 10**12


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("folder/a", b"alpha" * 9)
        opened.writestr("b", b"beta")
    return file.getvalue()


@settings(max_examples=200)
@given(content=spoilt(archive()) | st.binary(max_size=60))
def test_damaged_archives(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("archive")
    assert not litter(folder, lambda path: path.write_bytes(content))


@settings(max_examples=150)
@given(name=st.text("ab./\\:~\0é ", min_size=1, max_size=12) | st.text(min_size=1, max_size=12))
@example(name="a" * 300)
def test_names_in_archives(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    def write(path: Path) -> None:
        info = zipfile.ZipInfo()
        info.filename = info.orig_filename = name  # as it is: the constructor would mend it
        with zipfile.ZipFile(path, "w") as opened:
            opened.writestr(info, b"content")

    try:
        name.encode()
    except UnicodeEncodeError:
        return  # no archive can be made of it
    assert not litter(tmp_path_factory.mktemp("archive"), write)


def litter(folder: Path, write: Callable[[Path], object]) -> set[str]:
    """Files that an archive, unpacked or refused, leaves or takes where it should not."""
    path, inner = folder / "a.zip", folder / "inner"
    inner.mkdir()
    write(path)
    refused = parsed(lambda: unpack(path, inner / "out") or True, BadArchive) is None
    around = {entry.name for entry in folder.iterdir()} ^ {"a.zip", "inner"}
    return around | {entry.name for entry in inner.iterdir()} - (set() if refused else {"out"})


@settings(max_examples=120)
@given(content=lines("ab:-[]{}&*!#|>'\"%@`? \n\t019.,", "tier: ", "!!int ", "a: 2001-99-"))
@example(content=b"[" * 1500)
@example(content=b"a: 2001-99-99")
def test_files_of_the_configuration(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    for line in unreadable(path):
        assert line.startswith(f"{path}")
        assert "Remedy: " in line


@pytest.fixture(scope="module")
def schema() -> Iterator[Path]:
    """Of the configuration; it is read once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "load", cache(validation.load))
        yield ROOT / "workflow/schemas/config.schema.yaml"


CONFIG: dict[str, Any] = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))


@st.composite
def configurations(draw: st.DrawFn) -> Any:
    """The whole paper's configuration, with anything at all in place of a part of it."""
    config = deepcopy(CONFIG)
    place: Any = config
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 3)) == 0:
            break
        place = inner
    place[key] = draw(JSON | st.dictionaries(st.integers() | st.none(), st.integers(), max_size=2))
    return config


@given(config=configurations())
def test_configurations(config: Any, schema: Path) -> None:
    sets = ["boston", "diabetes"]
    found = validation.problems(config, schema)
    found = found or validation.contradictions(config, sets)
    assert all(isinstance(line, str) and line for line in found)
