"""Scenes obey geometry and timing, come back through the reader, and sound from where they say."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import wavfile

from vwta.geometry.angles import from_degrees
from vwta.io.errors import BadRecording, Unavailable
from vwta.paper.audio.ansyn import (
    AZIMUTHS,
    CLASSES,
    ELEVATIONS,
    OVERLAPS,
    RATE,
    Event,
    Scene,
    frame_labels,
    list_scenes,
    read_scene,
    sound_class,
)
from vwta.paper.audio.scenes import (
    NORMALISATIONS,
    ORDERS,
    Settings,
    draw_events,
    make_scene,
    make_scenes,
    read_sounds,
    render,
    sounds_of_part,
)
from vwta.seeds import generator

MIRROR = Path(os.environ.get("VWTA_MIRROR") or "no-mirror") / "sounds"
SECONDS = {f"{kind}{i:03}.wav": 0.3 * (i + 1) for kind in CLASSES for i in range(5)}
SHORT = Settings(duration=4.0)


@pytest.fixture(scope="module")
def noises() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    return {
        name: rng.uniform(-1, 1, round(seconds * RATE)).astype(np.float32)
        for name, seconds in SECONDS.items()
    }


def drawn(layers: int, seed: int, settings: Settings | None = None) -> list[Event]:
    return draw_events(SECONDS, layers, settings or Settings(), generator(seed))


def together(events: list[Event]) -> list[tuple[Event, Event]]:
    pairs = itertools.combinations(events, 2)
    return [(a, b) for a, b in pairs if a.start < b.end and b.start < a.end]


def intensity(samples: NDArray[np.int16], order: str = "ACN") -> NDArray[np.float64]:
    """Mean of W times (X, Y, Z), over that of W times W; written out apart from the library."""
    if order == "ACN":
        w, y, z, x = samples.T.astype(float)
    else:
        w, x, y, z = samples.T.astype(float)
    return np.array([(w * x).mean(), (w * y).mean(), (w * z).mean()]) / (w * w).mean()


def angle(vector: NDArray[np.float64], event: Event) -> float:
    """Degrees between a vector and the direction of an event."""
    cosine = vector @ from_degrees(event.azimuth, event.elevation) / np.linalg.norm(vector)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


@pytest.mark.parametrize("layers", OVERLAPS)
def test_events_obey_grid_timing_and_separation(layers: int) -> None:
    seen, pairs = 0, 0
    for seed in range(8):
        events = drawn(layers, seed)
        assert events == sorted(events, key=lambda event: event.start)
        assert sum(event.start <= 1 for event in events) >= layers
        for event in events:
            assert 0 <= event.start < event.end <= 30
            assert event.end - event.start == pytest.approx(SECONDS[event.recording], abs=2e-6)
            assert event.azimuth in AZIMUTHS
            assert event.elevation in ELEVATIONS
            assert event.distance in np.arange(1, 10.5, 0.5)
        for a, b in together(events):
            cosine = from_degrees(a.azimuth, a.elevation) @ from_degrees(b.azimuth, b.elevation)
            assert np.degrees(np.arccos(cosine)) >= 10 - 1e-6
            pairs += 1
        counts = frame_labels(events, 1500, places=11).active.sum(1)
        assert counts.max() <= layers
        seen = max(seen, int(counts.max()))
    assert seen == layers
    assert (pairs > 0) == (layers > 1)


def test_wide_separation_holds_too() -> None:
    for a, b in together(drawn(3, 0, Settings(separation=60))):
        cosine = from_degrees(a.azimuth, a.elevation) @ from_degrees(b.azimuth, b.elevation)
        assert cosine <= 0.5 + 1e-9
    with pytest.raises(ValueError, match="make separation smaller"):
        drawn(3, 0, Settings(separation=175))


def test_gaps_of_a_layer() -> None:
    events = drawn(1, 3)
    gaps = [b.start - a.end for a, b in itertools.pairwise(events)]
    assert 0 <= events[0].start <= 1
    assert min(gaps) >= 0.5 - 2e-6
    assert max(gaps) <= 1.5 + 2e-6


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize("order", ORDERS)
def test_intensity_points_to_the_source(
    noises: dict[str, NDArray[np.float32]], normalisation: str, order: str
) -> None:
    settings = Settings(duration=0.7, normalisation=normalisation, order=order)
    ratio = {"N3D": 3**0.5, "SN3D": 1.0, "FuMa": 2**0.5}[normalisation]  # of the gains
    for azimuth, elevation, distance in ((-180, -60, 1), (170, 50, 10), (40, 10, 2), (-90, 0, 5)):
        event = Event("knock001.wav", 0.05, 0.65, elevation, azimuth, distance)
        samples = render([event], noises, settings, generator(1))
        vector = intensity(samples, order)
        assert angle(vector, event) < 1
        assert np.linalg.norm(vector) == pytest.approx(ratio, rel=0.01)


def test_distance_and_noise(noises: dict[str, NDArray[np.float32]]) -> None:
    power = {}
    for distance in (1, 4):
        event = Event("cough001.wav", 1.0, 1.6, 0, 0, distance)
        samples = render([event], noises, SHORT, generator(1)).astype(float)
        sound = slice(round(1.0 * RATE), round(1.6 * RATE))
        power[distance] = np.square(samples[sound, 0]).mean()
        floor = np.square(samples[: RATE // 2]).mean(0)
        assert 10 * np.log10(power[distance] / floor) == pytest.approx([30] * 4, abs=0.3)
    assert power[1] / power[4] == pytest.approx(16, rel=0.02)


def test_loud_scenes_are_not_clipped(noises: dict[str, NDArray[np.float32]]) -> None:
    events = [Event(f"{kind}001.wav", 0, 0.6, 0, 0, 1) for kind in CLASSES]
    samples = render(events, noises, Settings(duration=0.7), generator(1))
    assert (np.abs(samples.astype(int)) == 32767).sum() == 1


def test_round_trip(tmp_path: Path, noises: dict[str, NDArray[np.float32]]) -> None:
    made = make_scenes(tmp_path, noises, SHORT, 1, {"train": 2, "test": 1}, splits=[1])
    assert list_scenes(tmp_path, splits=[1]) == made
    for scene in made:
        samples, events = read_scene(scene)
        names = sounds_of_part(list(noises), scene.split, scene.part, 1, SHORT.held_out)
        place = (scene.overlap, scene.split, scene.part, scene.number)
        again = draw_events(
            {n: len(noises[n]) / RATE for n in names},
            scene.overlap,
            SHORT,
            generator(1, "events", *place),
        )
        assert events == again
        assert samples.shape == (4 * RATE, 4)
    assert not list(tmp_path.rglob("*.tmp"))


def test_same_seed_same_bits(tmp_path: Path, noises: dict[str, NDArray[np.float32]]) -> None:
    content = {}
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        scene = Scene(tmp_path / folder, 2, 1, "train", 1)
        make_scene(scene, noises, SHORT, seed)
        content[folder] = (scene.wav.read_bytes(), scene.csv.read_bytes())
    assert content["a"] == content["b"]
    assert content["a"][0] != content["c"][0]
    assert content["a"][1] != content["c"][1]


def test_a_scene_is_listed_once_it_is_whole(
    tmp_path: Path, noises: dict[str, NDArray[np.float32]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, *_: object) -> None:
        path.write_bytes(b"RIFF")
        raise OSError("no space left")

    make_scene(Scene(tmp_path, 1, 1, "train", 1), noises, SHORT, 1)
    monkeypatch.setattr(wavfile, "write", fail)
    with pytest.raises(OSError, match="no space left"):
        make_scene(Scene(tmp_path, 1, 1, "train", 2), noises, SHORT, 1)
    assert [scene.number for scene in list_scenes(tmp_path, [1], [1], ["train"])] == [1]
    assert not list(tmp_path.rglob("*.tmp"))


def test_train_and_test_share_no_recording() -> None:
    names = list(SECONDS)
    for split in (1, 2):
        train = sounds_of_part(names, split, "train", 0, 0.2)
        test = sounds_of_part(names, split, "test", 0, 0.2)
        assert sorted(train + test) == sorted(names)
        assert {sound_class(name) for name in test} == set(CLASSES)
    assert test != sounds_of_part(names, 1, "test", 0, 0.2)


def test_wrong_settings_are_explained() -> None:
    with pytest.raises(ValueError, match="unknown normalisation 'n3d': expected one of N3D"):
        Settings(normalisation="n3d")
    with pytest.raises(ValueError, match="expected 0 < nearest <= farthest"):
        Settings(distances=(0.0, 10.0, 0.5))
    with pytest.raises(ValueError, match="make duration longer"):
        drawn(1, 0, Settings(duration=2.0))


def test_wrong_folders_are_explained(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"no recording of speech.*Remedy"):
        read_sounds(tmp_path)
    for kind in CLASSES:
        wavfile.write(tmp_path / f"{kind}001.wav", RATE, np.full(9, 32767, np.int16))
    assert read_sounds(tmp_path)["knock001.wav"].tolist() == [1.0] * 9
    wavfile.write(tmp_path / "knock002.wav", RATE, np.zeros((9, 2), np.int16))
    with pytest.raises(BadRecording, match=r"knock002\.wav: channels is 2, expected 1"):
        read_sounds(tmp_path)
    (tmp_path / "bell001.wav").write_bytes(b"")
    with pytest.raises(BadRecording, match=r"bell001\.wav: .*Remedy: rename"):
        read_sounds(tmp_path)


@pytest.mark.skipif(not MIRROR.is_dir(), reason="set VWTA_MIRROR to a folder that holds sounds/")
def test_scenes_of_real_recordings(tmp_path: Path) -> None:
    sounds = read_sounds(MIRROR)
    assert len(sounds) == 220
    for overlap in OVERLAPS:
        scene = Scene(tmp_path, overlap, 1, "train", 1)
        make_scene(scene, sounds, Settings(), 1234)
        samples, events = read_scene(scene)
        assert len(samples) == 30 * RATE
        assert frame_labels(events, 1500, places=9).active.sum(1).max() <= overlap
        if overlap == 1:
            for event in events:
                part = samples[round(event.start * RATE) : round(event.end * RATE)]
                assert angle(intensity(part), event) < 1
