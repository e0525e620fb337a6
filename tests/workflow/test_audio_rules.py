"""Rules that put the audio study's scenes on disk, from each of the three sources."""

import hashlib
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from archives import zipped
from loading import environment
from scipy.io import wavfile
from warm import python

from vwta.io.storage import read_table
from vwta.paper.audio.ansyn import CLASSES, COLUMNS, RATE, list_scenes, read_scene

SCENES = "results/smoke/audio/scenes/{source}/ov1_split{split}"
API = "/api/records/1237703"
OVERLAY: dict[str, Any] = {
    "audio": {
        "seconds": 6,
        "scenes": {"sounds": 2, "sizes": {"train": 1, "test": 1}},
        "overlaps": [1],
    }
}
# In place of the script that makes features: it notes what is on disk while it runs.
NOTES = """
from pathlib import Path

from vwta.workflow.job import job

with job(snakemake):
    found = [path for place in ("data", "results") for path in Path(place).rglob("ov*_split*")]
    kept = [str(path) for path in found if not {"logs", "benchmarks"} & set(path.parts)]
    Path(snakemake.output.labels).write_text(chr(10).join(kept))
    Path(snakemake.output.train).touch()
    Path(snakemake.output.test).touch()
"""


def snakemake(
    tree: Path, *arguments: str, mirror: Path | str = "", **audio: Any
) -> subprocess.CompletedProcess[str]:
    """Runs the smallest tier with some keys of the audio study changed."""
    overlay = {"audio": {**OVERLAY["audio"], **audio}}
    (tree / "tiny.yaml").write_text(yaml.safe_dump(overlay), encoding="utf-8")
    files = ["--configfile", "config/smoke.yaml", "tiny.yaml"]
    command = [*python(), "-m", "snakemake", *files, *arguments]
    env = environment(tree, VWTA_MIRROR=str(mirror))
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)


def said(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


def run(tree: Path, *targets: str, **options: Any) -> None:
    done = snakemake(tree, "--cores", "1", "--", *targets, **options)
    assert done.returncode == 0, said(done)


def nothing_to_do(tree: Path, *targets: str, **options: Any) -> bool:
    return "Nothing to be done" in said(snakemake(tree, "--dry-run", "--", *targets, **options))


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.suffix in (".wav", ".csv"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def edit(tree: Path, entry: str, **changes: Any) -> None:
    """Changes an audio entry of the table of files, which then may name this machine."""
    path = tree / "config/data.yaml"
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    table["audio"][entry] |= changes
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    schema = tree / "workflow/schemas/data.schema.yaml"
    schema.write_text(schema.read_text().replace("^https://", "^https?://"), encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path, copy_repository: Callable[[Path], Path]) -> Path:
    return copy_repository(tmp_path / "tree")


def wav(seconds: float, channels: int) -> bytes:
    buffer = io.BytesIO()
    wavfile.write(buffer, RATE, np.ones((round(seconds * RATE), channels), np.int16).squeeze())
    return buffer.getvalue()


def md5(content: bytes) -> str:
    return f"md5:{hashlib.md5(content, usedforsecurity=False).hexdigest()}"


def test_scenes_by_formula(tree: Path) -> None:
    target = SCENES.format(source="synthetic", split=2)
    run(tree, target)
    scenes = list_scenes(tree / target, [1], [2])
    assert [scene.part for scene in scenes] == ["train", "test"]
    samples, events = read_scene(scenes[0])
    assert samples.shape == (6 * RATE, 4)
    assert events
    assert nothing_to_do(tree, target, keep_scenes=True), "what is kept is the same"

    first = contents(tree / target)
    shutil.rmtree(tree / target)
    run(tree, target)
    assert len(first) == 4
    assert contents(tree / target) == first


def test_scenes_of_recordings(tree: Path, tmp_path: Path, website: Any) -> None:
    """From the archive, in a second attempt; what was gathered needs neither it nor a mirror."""
    members = {f"train/{kind}{i:03}.wav": wav(0.4, 1) for kind in CLASSES for i in range(2)}
    archive = zipped(members | {"README.txt": b"Read me"})
    website.answers["/sounds.zip"] = [(404, b""), (200, archive)]
    file = {
        "path": "audio/sounds.zip",
        "sources": [{"url": f"{website.address}/sounds.zip"}],
        "checksums": [md5(archive)],
    }
    edit(tree, "sounds", file=file, per_class=2)
    target = SCENES.format(source="resynthesis", split=1)
    note = tree / "data/.absent/sounds"

    failed = snakemake(tree, "--cores", "1", "--", target, source="resynthesis")
    assert failed.returncode != 0
    assert f"{website.address}/sounds.zip: status 404 Not Found" in said(failed)
    assert "Until it is there, the audio study cannot run on resynthesis;" in said(failed)
    assert "Traceback" not in said(failed)
    assert "status 404" in note.read_text(encoding="utf-8")

    run(tree, target, source="resynthesis")
    assert not note.exists()
    assert len(list((tree / "data/audio/sounds").glob("*.wav"))) == 22
    (scene, _) = list_scenes(tree / target, [1], [1])
    _, events = read_scene(scene)
    assert events[0].end - events[0].start == pytest.approx(0.4)
    website.answers.clear()
    other = {**OVERLAY["audio"]["scenes"], "sounds": 9}  # synthesised
    assert nothing_to_do(tree, target, source="resynthesis", mirror=tmp_path, scenes=other)


def official(split: int) -> bytes:
    """An archive in ANSYN's format: one scene for each part."""
    description = "\n".join([",".join(COLUMNS), "speech001.wav,0.0,0.5,-10,30,2.5"]).encode()
    members = {}
    for part in ("train", "test"):
        members[f"wav_ov1_split{split}_30db/{part}_1_desc_30_100.wav"] = wav(1, 4)
        members[f"desc_ov1_split{split}/{part}_1_desc_30_100.csv"] = description
    return zipped(members)


@pytest.fixture
def ansyn(tree: Path, website: Any) -> Path:
    """A tree whose ANSYN is on the website."""
    files = []
    for name in (f"ov{overlap}_split{split}.zip" for overlap in (1, 2, 3) for split in (1, 2, 3)):
        content = official(int(name[9]))
        files.append({"key": name, "size": len(content), "checksum": md5(content)})
        website.answers[f"/records/1237703/files/{name}"] = [(200, content)]
    website.answers[API] = [(200, json.dumps({"files": files}).encode())]
    edit(tree, "ansyn", record=website.address + API)
    return tree


@pytest.fixture
def fetched(ansyn: Path) -> Path:
    """The same tree, in which features are notes of what is on disk."""
    (ansyn / "workflow/scripts/features_audio.py").write_text(NOTES, encoding="utf-8")
    return ansyn


FEATURES = "results/smoke/audio/features/ansyn/ov1_split{split}.safetensors"


def test_one_archive_at_a_time(fetched: Path, website: Any) -> None:
    third = "/records/1237703/files/ov1_split3.zip"
    website.answers[third].insert(0, (404, b""))
    targets = [FEATURES.format(split=split) for split in (1, 2, 3)]
    options = {"source": "ansyn", "keep_archives": False}
    failed = snakemake(fetched, "--cores", "2", "--", *targets, **options)
    assert failed.returncode != 0
    assert "audio/ansyn/ov1_split3.zip could not be downloaded. Tried:" in said(failed)
    assert f"{website.address}{third}: status 404 Not Found" in said(failed)
    assert "Until it is there, the audio study cannot run on ansyn;" in said(failed)
    assert "Traceback" not in said(failed)
    note = fetched / "data/.absent/ansyn_ov1_split3"
    assert note.exists()
    assert [(fetched / target).exists() for target in targets] == [True, True, False], said(failed)

    run(fetched, *targets, **options)
    assert not note.exists()
    for split, target in enumerate(targets, 1):
        on_disk = (fetched / target).read_text(encoding="utf-8").split()
        scenes = SCENES.format(source="ansyn", split=split)
        assert [path for path in on_disk if "/scenes/" in path] == [scenes]
        assert not [path for path in on_disk if path.endswith(".zip")], "its own is gone too"
    assert not list((fetched / "results").rglob("*.wav"))
    assert website.seen.count(API) == 1, "the lock is read in place of the record"
    (fetched / "data/audio/ansyn.lock.json").unlink()
    assert nothing_to_do(fetched, *targets, **options)


def test_kept_archives_are_not_fetched_again(fetched: Path, website: Any) -> None:
    target = SCENES.format(source="ansyn", split=2)
    website.answers[API].insert(0, (200, b'{"files": []}'))
    failed = snakemake(fetched, "--cores", "1", "--", target, source="ansyn")
    assert failed.returncode != 0
    assert f"{website.address}{API} cannot be used: ov1_split1.zip is missing;" in said(failed)
    assert "Traceback" not in said(failed)
    assert website.seen == [API]

    run(fetched, target, source="ansyn", keep_archives=True)
    assert len(list_scenes(fetched / target, [1], [2])) == 2
    assert [path.name for path in (fetched / "data/audio/ansyn").iterdir()] == ["ov1_split2.zip"]
    shutil.rmtree(fetched / target)
    done = snakemake(fetched, "--dry-run", "--", target, source="ansyn", keep_archives=False)
    assert "unpack_ansyn" in said(done)
    assert "fetch_ansyn" not in said(done)


def test_ansyn_through_the_whole_study(ansyn: Path) -> None:
    """From the archives to likelihoods, with the published features and network."""
    whole = yaml.safe_load((ansyn / "config/config.yaml").read_text(encoding="utf-8"))["audio"]
    target = "results/smoke/audio/paper/ansyn/metrics.parquet"
    training = {"epochs": 1, "batch_size": 32, "trunk": whole["training"]["trunk"]}
    options = {"features": whole["features"], "seconds": 4, "training": training}
    run(ansyn, target, source="ansyn", **options)
    table = read_table(ansyn / target)
    found = table[(table["metric"] == "nll") & ~table["tuned"]].groupby("method")["value"]
    assert {"v_wta", "k_wta", "unif_hist", "tk_hist", "m_vmf"} <= set(found.groups)
    assert np.isfinite(found.min()).all()
