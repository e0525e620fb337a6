"""Scenes are read as they lie on disk, or refused with one message that says where and why."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from vwta.geometry.angles import from_degrees
from vwta.io.errors import BadRecording, BadTable, Unavailable
from vwta.paper.audio.ansyn import (
    CLASSES,
    COLUMNS,
    RATE,
    Event,
    Scene,
    frame_labels,
    list_scenes,
    read_events,
    read_recording,
    read_scene,
)

HEADER = ",".join(COLUMNS) + "\n"
LINE = "knock004.wav,0.5,1.25,-60,170,2.5\n"


def write(scene: Scene, text: str = HEADER + LINE, seconds: float = 2.0) -> Scene:
    for path in (scene.wav, scene.csv):
        path.parent.mkdir(parents=True, exist_ok=True)
    samples = np.arange(4 * int(seconds * RATE), dtype=np.int16).reshape(-1, 4)
    wavfile.write(scene.wav, RATE, samples)
    scene.csv.write_text(text)
    return scene


def test_names_follow_the_archives(tmp_path: Path) -> None:
    scene = Scene(tmp_path, 3, 1, "test", 12)
    assert scene.wav == tmp_path / "wav_ov3_split1_30db" / "test_12_desc_30_100.wav"
    assert scene.csv == tmp_path / "desc_ov3_split1" / "test_12_desc_30_100.csv"


def test_reads_a_scene(tmp_path: Path) -> None:
    samples, events = read_scene(write(Scene(tmp_path, 1, 1, "train", 1)))
    assert samples.shape == (2 * RATE, 4)
    assert samples[1].tolist() == [4, 5, 6, 7]
    assert events == [Event("knock004.wav", 0.5, 1.25, elevation=-60, azimuth=170, distance=2.5)]


def test_lists_by_overlap_split_part_and_number(tmp_path: Path) -> None:
    made = [
        Scene(tmp_path, overlap, split, part, number)
        for overlap in (1, 2)
        for split in (1, 2)
        for part in ("train", "test")
        for number in (2, 10)
    ]
    for scene in made:
        write(scene, seconds=0.01)
    (made[0].wav.parent / "notes.txt").write_text("")
    assert list_scenes(tmp_path, (1, 2), (1, 2)) == made
    assert [scene.part for scene in list_scenes(tmp_path, [2], [1], ["test"])] == ["test"] * 2
    with pytest.raises(Unavailable, match=r"wav_ov1_split3_30db: no such folder\. Remedy: unpack"):
        list_scenes(tmp_path)
    made[3].csv.unlink()
    with pytest.raises(Unavailable, match=rf"{made[3].csv.name}: no such file.*Remedy"):
        list_scenes(tmp_path, [1], [1])
    with pytest.raises(Unavailable, match="no scene valid_1"):
        list_scenes(tmp_path, [1], [1], ["valid"])


BAD = {
    "empty file": ("", "line 1: the columns are missing. Remedy: they must be sound_event"),
    "azimuth first": (
        HEADER.replace("ele,azi", "azi,ele") + LINE,
        "line 1: the columns are sound_event_recording,",
    ),
    "short line": (HEADER + LINE + "knock004.wav,1,2\n", "line 3: 3 cells where there are 6"),
    "unknown class": (HEADER + LINE.replace("knock", "bell"), "line 2, column 'sound_event"),
    "no digits": (HEADER + LINE.replace("004", ""), "'knock.wav' is not a class with 3 digits"),
    "text": (HEADER + LINE + LINE.replace("2.5", "far"), "line 3, column 'dist': 'far' is no"),
    "nan": (
        HEADER + LINE.replace("1.25", "nan"),
        "line 2, column 'end_time': 'nan' is not a finite",
    ),
    "backwards": (HEADER + LINE.replace("1.25", "0.5"), "line 2: the event lasts from 0.5 to 0.5"),
    "before the start": (HEADER + LINE.replace("0.5", "-1", 1), "lasts from -1.0 to 1.25 s"),
    "after the end": (HEADER + "\n" + LINE.replace(",0.5,1.25", ",4,5"), "line 3: the event star"),
    "swapped": (HEADER + LINE.replace("-60,170", "170,-60"), "column 'ele': 170 degrees lie out"),
    "azimuth": (HEADER + LINE.replace("170", "180"), "column 'azi': 180 degrees lie outside -180"),
    "distance": (HEADER + LINE.replace("2.5", "0"), "line 2, column 'dist': 0 m. Remedy"),
}


def test_columns_with_other_names_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, other = tmp_path / "scene.csv", tmp_path / "other.csv"
    path.write_text(HEADER + LINE)
    other.write_text("recording,start,end,elevation,azimuth,distance\n" + LINE)
    expected = read_events(path)
    assert not caplog.text
    assert read_events(other) == read_events(other) == expected
    (record,) = caplog.records
    assert f"{other}: the columns recording, start, end, elevation, azimuth" in record.getMessage()


@pytest.mark.parametrize("case", BAD)
def test_bad_descriptions_are_explained(tmp_path: Path, case: str) -> None:
    text, message = BAD[case]
    path = tmp_path / "scene.csv"
    path.write_text(text)
    with pytest.raises(BadTable) as error:
        read_events(path, duration=4.0)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)
    assert "Remedy" in str(error.value)


def test_bad_recordings_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "scene.wav"
    for rate, samples, message in (
        (RATE, np.zeros((9, 2), np.int16), "channels is 2, expected 4"),
        (RATE, np.zeros(9, np.int16), "channels is 1, expected 4"),
        (48000, np.zeros((9, 4), np.int16), "rate is 48000, expected 44100"),
        (RATE, np.zeros((9, 4), np.float32), "kind of sample is float32, expected int16"),
    ):
        wavfile.write(path, rate, samples)
        with pytest.raises(BadRecording, match=f"scene.wav: {message}. Remedy: convert"):
            read_recording(path)
    wavfile.write(path, RATE, np.zeros((9, 4), np.int16))
    whole = path.read_bytes()
    for broken in (whole[:-8], whole[:30], b"RIFX", b"", b"no sound at all"):
        path.write_bytes(broken)
        with pytest.raises(BadRecording, match=r"scene\.wav: .*Remedy: get this file again"):
            read_recording(path)
    with pytest.raises(BadRecording, match="No such file"):
        read_recording(tmp_path / "none.wav")


def test_other_chunks_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "scene.wav"
    wavfile.write(path, RATE, np.ones((9, 4), np.int16))
    whole = path.read_bytes() + b"note\x04\x00\x00\x00some"
    path.write_bytes(whole[:4] + (len(whole) - 8).to_bytes(4, "little") + whole[8:])
    assert read_recording(path).tolist() == [[1] * 4] * 9


def test_frames_tell_class_and_direction() -> None:
    early = Event("cough001.wav", 0.1, 0.16, elevation=0, azimuth=90, distance=1)
    late = Event("speech001.wav", 0.13, 0.3, elevation=30, azimuth=-180, distance=1)
    labels = frame_labels([late, early], frames=10)
    assert labels.active.sum(1).tolist() == [0, 0, 0, 0, 0, 1, 2, 2, 1, 1]
    assert labels.kind[6].tolist() == [CLASSES.index("cough"), CLASSES.index("speech"), -1]
    assert labels.kind[8].tolist() == [CLASSES.index("speech"), -1, -1]
    np.testing.assert_allclose(labels.direction[6, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(labels.direction[6, 1], from_degrees(-180, 30))
    np.testing.assert_allclose(np.linalg.norm(labels.direction, axis=-1), labels.active)


def test_frames_keep_what_fills_them_most() -> None:
    times = [(0.0, 0.001), (0.0, 0.02), (0.01, 0.04), (0.015, 0.04)]
    events = [Event(f"{CLASSES[i]}001.wav", *t, 0, 10 * i, 1) for i, t in enumerate(times)]
    assert frame_labels(events, 2).kind.tolist() == [[1, 2, 3], [2, 3, -1]]


def test_a_scene_may_be_silent() -> None:
    assert not frame_labels([], 5).active.any()
