"""The likeliest bad inputs, in one table: each is answered by one message with a remedy.

Every case goes through what a script or a command calls, within `explained`, as a job runs it. The
message must name the thing and the remedy, the exit must not be 0, and nothing may be left behind.
"""

import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from loading import ROOT
from safetensors.torch import save_file
from scipy.io import wavfile
from warm import python

from vwta.cli.main import main as command
from vwta.io.errors import Damaged, explained
from vwta.io.storage import read_table, write_table, write_tensors
from vwta.nn.networks import initialise
from vwta.paper.audio.ansyn import COLUMNS, RATE, Scene
from vwta.paper.audio.features import Settings as Features
from vwta.paper.audio.features import make_features
from vwta.paper.audio.sources import unpack_split
from vwta.paper.downloads.fetch import File, Source, fetch
from vwta.paper.downloads.transfer import Policy
from vwta.paper.downloads.zenodo import read_lock
from vwta.paper.networks import build
from vwta.paper.synthetic.predict import predict
from vwta.paper.synthetic.train import Settings as Training
from vwta.paper.synthetic.train import train
from vwta.paper.training import Job
from vwta.paper.uci.prepare import prepare, prepare_own

GPU = torch.cuda.is_available()
OFFLINE = Policy(attempts=1, unreachable=1, sleep=lambda _: None, timeout=(1.0, 1.0), margin=0)
SPECIFICATION = {"kind": "wta", "inputs": 1, "outputs": 2, "hypotheses": 3, "widths": [4]} | {
    "bounded": True
}


class Case(NamedTuple):
    """Bad input.

    Arguments:
        put: puts it into a folder.
        use: does with it what a script does.
        says: what the message must contain: the thing first, then the remedy.
    """

    put: Callable[[Path], object]
    use: Callable[[Path], object]
    says: tuple[str, str]


# Configurations: a look at the files comes first, then the workflow itself refuses them.

LOOK = ["-m", "vwta.workflow.configuration"]
WORKFLOW = ["-m", "snakemake", "--dry-run"]


def config(text: str | bytes, *says: str, by: list[str] = WORKFLOW) -> Case:
    content = text.encode() if isinstance(text, str) else text
    return Case(lambda folder: (folder / "bad.yaml").write_bytes(content), use_config(by), says)


def use_config(by: list[str]) -> Callable[[Path], None]:
    """A command with an overlay; ends with what it says."""

    def use(folder: Path) -> None:
        done = run(*python(), *by, "--configfile", str(folder / "bad.yaml"))
        sys.exit(done.stdout + done.stderr if done.returncode else 0)

    return use


def run(*line: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


CONFIGURATIONS = {
    "unknown key": config(
        "uci: {splts: 3}",
        "uci.splts: unknown key",
        "did you mean splits?",
        by=["-m", "vwta.workflow.plan", "never"],
    ),
    "wrong type": config("synthetic: {K: 9}", "synthetic.K = 9", "must be a list"),
    "text for a number": config(
        "synthetic: {training: {learning_rate: 1e-3}}",
        "synthetic.training.learning_rate = '1e-3'",
        "write it without quotes",
    ),
    "K twice": config("audio: {K: [9, 9]}", "audio.K = [9, 9]", "must not list anything twice"),
    "tier that is a path": config("tier: ../elsewhere", "tier = '../elsewhere'", "that matches"),
    "unknown protocol": config(
        "uci: {protocols: [papr]}", "uci.protocols[0] = 'papr'", "must be one of paper"
    ),
    "own table that is missing": config(
        "uci: {datasets: [{csv: none/houses.csv, target: price}]}",
        "none/houses.csv: no such file",
        "write its path",
    ),
    "own table whose name is a path": config(
        "uci: {datasets: [{csv: houses/.., target: price}]}",
        "uci.datasets[0].csv = houses/..",
        "rename it",
    ),
    "no YAML": config("tier: [", "bad.yaml, line 1: no YAML", "Remedy: check brackets", by=LOOK),
    "other encoding": config(
        b"# caf\xe9",
        "bad.yaml, line 1: byte 0xe9 is not UTF-8",
        "Remedy: save the file as UTF-8",
        by=LOOK,
    ),
    "no keys": config(
        "- smoke", "bad.yaml: no keys at its top", "Remedy: write lines such as", by=LOOK
    ),
    "aliases of aliases": config(
        "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)),
        "bad.yaml: its aliases stand for more than 100000 values",
        "Remedy: write values in place of aliases",
        by=LOOK,
    ),
    "no file": Case(
        lambda _: None, use_config(LOOK), ("bad.yaml: No such file", "Remedy: check the name")
    ),
}


# A user's own tables.


def own(text: str, *says: str) -> Case:
    return Case(lambda folder: (folder / "mine.csv").write_text(text), use_own, says)


def use_own(folder: Path) -> None:
    prepare_own(folder / "mine.csv", "y", ",", folder / "mine.safetensors", "code")


OWN = {
    "no target": own("a,b\n1,2\n3,4\n", "mine.csv, line 1: there is no column 'y'", "name one of"),
    "text in a cell": own("a,y\n1,2\nred,4\n", "mine.csv, line 3, column 'a'", "put a number"),
    "nan in a cell": own("a,y\n1,nan\n2,4\n", "mine.csv, line 2, column 'y'", "put a number"),
    "empty table": own("", "mine.csv, line 1: the file is empty", "must name the columns"),
    "one row": own("a,y\n1,2\n", "mine.csv, line 3: only one row", "at least 2 rows"),
    "column twice": own("a,a,y\n1,2,3\n", "mine.csv, line 1: 2 columns are called 'a'", "rename"),
    "no table": Case(lambda _: None, use_own, ("mine.csv: no such file", "check the path")),
}


# Files of UCI.


def uci(text: str, *says: str, rows: int = 2, matrix: str | None = None) -> Case:
    def use(folder: Path) -> None:
        prepare("yacht", folder / "y.data", rows, matrix, folder / "out.safetensors", "code")

    return Case(lambda folder: (folder / "y.data").write_text(text), use, says)


def put_mirror(folder: Path) -> None:
    for place in ("mirror/uci", "cache/uci", "cache/.partial"):
        (folder / place).mkdir(parents=True)
    (folder / "mirror/uci/y.data").write_text(ROW)


def use_mirror(folder: Path) -> None:
    """Fetches a file whose content must be another, from a mirror and from nowhere."""
    file = File("uci/y.data", (Source("https://127.0.0.1:9/y.data"),), ("sha256:" + "0" * 64,))
    fetch(file, folder / "cache", folder / "mirror", OFFLINE)


ROW = "1 2 3 4 5 6 7\n"
UCI = {
    "cut short": uci(ROW, "y.data: 1 rows where yacht has 2", "delete the file and fetch it again"),
    "web page": uci("<html>\n", "y.data is not the file of yacht", "delete the file and fetch"),
    "columns": uci("1 2 3\n" * 2, "a table of shape (2, 3)", "delete the file and fetch it again"),
    "other numbers": uci(
        ROW * 2, "y.data: the table of yacht has other numbers", "fetch it again", matrix="0" * 64
    ),
    "other content": Case(
        put_mirror,
        use_mirror,
        ("uci/y.data could not be downloaded", "set data.mirror"),
    ),
}


# Scenes of ANSYN.

LINE = "knock004.wav,0.5,1.25,-60,170,2.5\n"
HEADER = ",".join(COLUMNS) + "\n"


def scene(
    *says: str,
    text: str = HEADER + LINE,
    rate: int = RATE,
    channels: int = 4,
    cut: int = 0,
) -> Case:
    def put(folder: Path) -> None:
        for part in ("train", "test"):
            one = Scene(folder, 1, 1, part, 1)
            one.wav.parent.mkdir(exist_ok=True)
            one.csv.parent.mkdir(exist_ok=True)
            wavfile.write(one.wav, rate, np.zeros((2 * RATE, channels), np.int16))
            one.wav.write_bytes(one.wav.read_bytes()[: -cut or None])
            one.csv.write_text(text)

    return Case(put, use_scenes, says)


def use_scenes(folder: Path) -> None:
    files = {part: folder / f"{part}.npy" for part in ("train", "test")}
    settings = Features(seconds=2, bands=8, every=1, floor=None)
    make_features(folder, 1, 1, files, folder / "labels.safetensors", settings, "code")


WAV, CSV = "train_1_desc_30_100.wav", "train_1_desc_30_100.csv"
SCENES = {
    "two channels": scene(f"{WAV}: channels is 2", "Remedy: convert it", channels=2),
    "other rate": scene(f"{WAV}: rate is 48000", "Remedy: convert it", rate=48000),
    "recording cut short": scene(f"{WAV}: ", "Remedy: get this file again", cut=1000),
    "missing column": scene(
        f"{CSV}, line 1: the columns are", "they must be", text=HEADER.replace(",dist", "")
    ),
    "unknown class": scene(
        f"{CSV}, line 2, column 'sound_event_recording': 'bell004.wav' is not a class",
        "the classes are",
        text=HEADER + LINE.replace("knock", "bell"),
    ),
    "angle": scene(
        f"{CSV}, line 2, column 'azi': 270 degrees",
        "both in degrees",
        text=HEADER + LINE.replace("170", "270"),
    ),
}


# Archives.


def archive(*says: str, **members: Any) -> Case:
    """A zip archive with members, and what `spoil` makes of it."""
    spoil = members.pop("spoil", lambda content: content)

    def put(folder: Path) -> None:
        path = folder / "ov1_split1.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
            for name, content in members["of"].items():
                opened.writestr(name, content)
        path.write_bytes(spoil(path.read_bytes()))

    def use(folder: Path) -> None:
        unpack_split(folder / "ov1_split1.zip", folder / "scenes", overlap=1, split=1)

    return Case(put, use, says)


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def put_lock(folder: Path) -> None:
    """A lock that asks for another md5 than the mirror's archive has."""
    entry = {"bytes": 3, "checksum": "md5:" + "0" * 32, "urls": ["https://127.0.0.1:9/a.zip"]}
    (folder / "lock.json").write_text(json.dumps({"files": {"a.zip": entry}}))
    for place in ("mirror/audio", "cache/audio", "cache/.partial"):
        (folder / place).mkdir(parents=True)
    (folder / "mirror/audio/a.zip").write_bytes(b"abc")


def use_lock(folder: Path) -> None:
    file = read_lock(folder / "lock.json", ["a.zip"], "audio")["a.zip"]
    fetch(file, folder / "cache", folder / "mirror", OFFLINE)


REFUSED = "ov1_split1.zip is not unpacked: its member"
FETCH = "Remedy: delete it and fetch it again"
ARCHIVES = {
    "way out": archive(f"{REFUSED} '../a' would be outside", FETCH, of={"../a": b"1"}),
    "absolute path": archive(f"{REFUSED} '/tmp/a' has an absolute", FETCH, of={"/tmp/a": b"1"}),
    "link": archive(f"{REFUSED} 'a' is a link", FETCH, of={link("a"): b"/etc/passwd"}),
    "bomb": archive(f"{REFUSED} 'a' grows more than", FETCH, of={"a": bytes(10**6)}),
    "archive cut short": archive(
        "ov1_split1.zip is damaged", FETCH, of={"a": b"1"}, spoil=lambda content: content[:-9]
    ),
    "web page in place of an archive": archive(
        "ov1_split1.zip is damaged", FETCH, of={}, spoil=lambda _: b"<html>"
    ),
    "nothing of ANSYN in it": archive(
        "ov1_split1.zip has no folder wav_ov1_split1_30db", FETCH, of={"a": b"1"}
    ),
    "other md5": Case(
        put_lock, use_lock, ("audio/a.zip could not be downloaded", "set data.mirror")
    ),
    "lock of another kind": Case(
        lambda folder: (folder / "lock.json").write_text("[]"),
        use_lock,
        ("lock.json is JSON of another kind", "Remedy: delete"),
    ),
}


# Trained weights.


def weights(*says: str, spoil: Callable[[Path], object]) -> Case:
    def put(folder: Path) -> None:
        network = initialise(SPECIFICATION, 1, build)
        tensors = {f"loss.{name}": value for name, value in network.state_dict().items()}
        facts = {"network": SPECIFICATION, "provenance": {"K": 3}}
        write_tensors(folder / "seed1.safetensors", tensors, facts)
        spoil(folder / "seed1.safetensors")

    return Case(put, use_weights, says)


def use_weights(folder: Path) -> None:
    predict(
        outputs={folder / "seed1.safetensors": folder / "out.safetensors"},
        selected_by="loss",
        constants={},
        x=[0.5],
        targets=2,
        seed=1,
        code="code",
        dataset="single_gaussian",
    )


def other_shape(path: Path) -> None:
    facts = {"network": {**SPECIFICATION, "hypotheses": 5}, "provenance": {"K": 5}}
    network = initialise(SPECIFICATION, 1, build)
    write_tensors(path, {f"loss.{k}": v for k, v in network.state_dict().items()}, facts)


def put_rows(folder: Path) -> None:
    """Writes a row for each split."""
    names = [f"{axis}_{split}" for axis in "xy" for split in ("train", "validation")]
    rows = {name: torch.ones(1, 1 if name.startswith("x") else 2) for name in names}
    write_tensors(folder / "data.safetensors", rows, {})


def use_gpu(folder: Path) -> None:
    common = {"beta": 1.0, "score_reduction": "sum", "clouds": False, "start": "default"}
    common |= {"epochs": 1, "batch_size": 2, "learning_rate": 1e-3, "widths": [4]}
    common |= {"epochs_see": "the same rows", "sharing": {"kind": "winner"}}
    data, out = folder / "data.safetensors", {1: folder / "out.safetensors"}
    settings, rest = Training(**common), folder / ".unfinished"
    train(Job("single_gaussian", "wta", 3, out, rest, "cuda", "code"), data, {}, settings)


def other_metadata(path: Path) -> None:
    """Metadata that are texts, as the format wants them, and yet no JSON."""
    save_file({"a": torch.ones(1)}, path, {"network": "{wta"})


def use_table(folder: Path) -> None:
    read_table(folder / "metrics.parquet")


def table(*says: str, spoil: Callable[[bytearray], object]) -> Case:
    """A table of metrics, some bytes of which are others."""

    def put(folder: Path) -> None:
        path = folder / "metrics.parquet"
        write_table(path, pd.DataFrame({"value": np.arange(500.0)}), {"provenance": {"K": 3}})
        content = bytearray(path.read_bytes())
        spoil(content)
        path.write_bytes(content)

    return Case(put, use_table, says)


def flip(at: int) -> Callable[[bytearray], None]:
    def spoil(content: bytearray) -> None:
        content[at] ^= 4

    return spoil


def use_all_memory(folder: Path) -> None:
    torch.empty(2**50)


TABLES = {
    "damaged page": table("metrics.parquet is damaged", "Remedy: delete it", spoil=flip(400)),
    "damaged footer": table("metrics.parquet is damaged", "Remedy: delete it", spoil=flip(-9)),
    "another column": table(
        "metrics.parquet is damaged",
        "Remedy: delete it",
        spoil=lambda content: content.__setitem__(slice(None), content.replace(b"value", b"valve")),
    ),
}
WEIGHTS = {
    "too short a header": weights(
        "seed1.safetensors is damaged",
        "Remedy: delete it",
        spoil=lambda path: path.write_bytes(b"abc"),
    ),
    "metadata that are no JSON": weights(
        "seed1.safetensors is damaged", "Remedy: delete it", spoil=other_metadata
    ),
    "a flipped bit": weights(
        "seed1.safetensors is damaged: its hash does not match",
        "Remedy: delete it",
        spoil=lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"),
    ),
    "more memory than there is": Case(
        lambda _: None, use_all_memory, ("there is not enough memory", "Remedy: run fewer jobs")
    ),
    "weights cut short": weights(
        "seed1.safetensors is damaged",
        "Remedy: delete it",
        spoil=lambda path: path.write_bytes(path.read_bytes()[:-9]),
    ),
    "pickle": weights(
        "seed1.safetensors is damaged",
        "Remedy: delete it",
        spoil=lambda path: path.write_bytes(pickle.dumps({"loss": [1.0] * 99})),
    ),
    "other shapes": weights(
        "seed1.safetensors has no network to restore", "Remedy: delete it", spoil=other_shape
    ),
    "weights of nothing known": weights(
        "seed1.safetensors has no network to restore",
        "Remedy: delete it",
        spoil=lambda path: write_tensors(path, {"a": torch.ones(1)}, {}),
    ),
    "no GPU": Case(
        put_rows,
        use_gpu,
        ("device 'cuda': torch sees no GPU", "set `device` to 'auto' or 'cpu'"),
    ),
}

TABLE = {
    f"{kind}: {name}": case
    for kind, cases in {
        "config": CONFIGURATIONS,
        "own csv": OWN,
        "uci": UCI,
        "ansyn": SCENES,
        "archive": ARCHIVES,
        "weights": WEIGHTS,
        "table": TABLES,
    }.items()
    for name, case in cases.items()
}


@contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Fails if a file below a folder comes, goes or changes; locks of downloads do not count."""

    def state() -> dict[Path, bytes]:
        files = (path for path in folder.rglob("*") if ".snakemake" not in path.parts)
        kept = (path for path in files if path.suffix != ".lock")
        return {path: path.read_bytes() if path.is_file() else b"" for path in kept}

    before = state()
    yield
    assert state() == before


@pytest.mark.parametrize("name", TABLE)
def test_bad_input(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put, use, says = TABLE[name]
    if name == "weights: no GPU" and GPU:
        pytest.skip("there is a GPU")
    monkeypatch.delenv("VWTA_DEBUG", raising=False)
    put(tmp_path)
    files = [str(path) for path in tmp_path.rglob("*") if path.is_file()]
    with (
        untouched(tmp_path),
        pytest.raises(SystemExit) as end,
        explained(inputs=files),
    ):
        use(tmp_path)
    message = end.value.code
    assert isinstance(message, str), "an exit status other than 0, and a message"
    assert "Traceback" not in message
    for text in says:
        assert text in message


COMMANDS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "make, unknown TIER": (
        ["make", "plan", "TIER=ful"],
        ("TIER=ful is unknown", "choose one of: smoke quick laptop desktop full"),
    ),
    "make, a form of --configfile": (
        ["make", "reproduce", "ARGS=--configfile=mine.yaml"],
        ("write --configfile FILE in place of --configfile=FILE",),
    ),
    "plan, nothing": (
        [sys.executable, "-m", "vwta.workflow.plan"],
        ("Usage: python -m vwta.workflow.plan TIER",),
    ),
    "make, unknown STUDY": (
        ["make", "publish", "TIER=full", "STUDY=usi"],
        ("STUDY=usi is unknown", "choose one of: all synthetic uci audio"),
    ),
    "vwta, unknown command": (
        [sys.executable, "-m", "vwta", "verdict"],
        ("invalid choice: 'verdict'", "choose from"),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_bad_command(name: str) -> None:
    line, says = COMMANDS[name]
    before = set(ROOT.iterdir())
    done = run(*line)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    for text in says:
        assert text in done.stderr
    assert set(ROOT.iterdir()) - before <= {ROOT / ".snakemake"}


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: None, ("no tables of metrics", "Remedy: name a folder such as")),
        (
            lambda folder: (folder / "uci/sizes.parquet").write_bytes(b"PAR1"),
            ("uci/sizes.parquet is damaged", "Remedy: delete it and run again"),
        ),
    ],
)
def test_verdicts_of_bad_results(
    spoil: Callable[[Path], object],
    says: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "uci").mkdir()
    spoil(tmp_path)
    with untouched(tmp_path):
        assert command(["verdicts", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    for text in says:
        assert text in said
    with pytest.raises((FileNotFoundError, Damaged)):
        command(["verdicts", str(tmp_path), "--debug"])


def test_the_table_is_as_long_as_it_says() -> None:
    assert len(TABLE) >= 30
    assert all(len(case.says) == 2 for case in TABLE.values())
