"""Synthesised sounds: within bounds, the same for the same seed, and different for each class."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from vwta.paper.audio.ansyn import CLASSES, RATE, sound_class
from vwta.paper.audio.sounds import RECIPES, synthesise, synthesise_all

WINDOW = 2048


@pytest.fixture(scope="module")
def sounds() -> dict[str, NDArray[np.float32]]:
    return synthesise_all(8, seed=1)


def mean_log_spectrum(wave: NDArray[np.float32], bands: int = 40) -> NDArray[np.float64]:
    """Mean over time of the log-power in bands equally wide in octaves, without its level."""
    padded = np.pad(wave.astype(float), (0, WINDOW))
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[:: WINDOW // 2]
    power = np.square(np.abs(np.fft.rfft(frames * np.hanning(WINDOW))))[:, 1:]
    edges = np.geomspace(1, WINDOW // 2, bands + 1).astype(int)
    log_power = np.stack(
        [
            np.log(power[:, a - 1 : max(b - 1, a)].mean(1) + 1e-4)
            for a, b in itertools.pairwise(edges)
        ],
        -1,
    ).mean(0)
    return np.asarray(log_power - log_power.mean())


def test_every_class_has_a_recipe() -> None:
    assert tuple(RECIPES) == CLASSES
    with pytest.raises(ValueError, match="unknown class 'bell': expected one of speech"):
        synthesise("bell", 0, 1)


def test_bounds(sounds: dict[str, NDArray[np.float32]]) -> None:
    assert len(sounds) == 8 * len(CLASSES)
    for name, wave in sounds.items():
        assert wave.dtype == np.float32
        assert 0.2 <= len(wave) / RATE <= 3.0, name
        assert np.abs(wave).max() == 1.0
        assert abs(wave[0]) < 1e-3
        assert abs(wave[-1]) < 1e-3


@pytest.mark.parametrize("kind", CLASSES)
def test_seed_and_number_decide(kind: str, sounds: dict[str, NDArray[np.float32]]) -> None:
    first = sounds[f"{kind}000.wav"]
    assert np.array_equal(first, synthesise(kind, 0, 1))
    for other in (synthesise(kind, 1, 1), synthesise(kind, 0, 2)):
        assert not np.array_equal(first, other)


def test_classes_are_told_apart(sounds: dict[str, NDArray[np.float32]]) -> None:
    features = {name: mean_log_spectrum(wave) for name, wave in sounds.items()}
    known = [np.mean([features[f"{kind}{i:03}.wav"] for i in range(4)], axis=0) for kind in CLASSES]
    unknown = [name for name in features if int(name[-7:-4]) >= 4]
    right = [
        CLASSES[np.argmin([np.linalg.norm(features[name] - centre) for centre in known])]
        == sound_class(name)
        for name in unknown
    ]
    assert np.mean(right) > 0.9
