"""Symmetries of first-order Ambisonics are exact, and signed channels follow them."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from vwta.geometry.angles import angle_between, from_angles, from_degrees
from vwta.paper.audio.ansyn import CLASSES, RATE, Event, frame_labels
from vwta.paper.audio.frames import AudioData, Fold, MappedRows
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.scenes import Settings, render
from vwta.paper.audio.signed import SignedChannels
from vwta.paper.audio.spectrograms import chunks, features
from vwta.paper.audio.symmetries import (
    SYMMETRIES,
    AugmentedData,
    TurnedRows,
    turn_directions,
    turn_features,
)
from vwta.seeds import generator

QUIET = Settings(duration=2.0, noise=300.0)  # noise in the channels would be another one
EVENTS = [
    Event("speech000.wav", 0.1, 1.1, 20, 30, 1.0),
    Event("knock000.wav", 0.4, 1.4, -50, -130, 2.0),
    Event("cough000.wav", 0.9, 1.9, 10, 100, 1.5),
]


@pytest.fixture(scope="module")
def sounds() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    return {event.recording: rng.uniform(-1, 1, RATE).astype(np.float32) for event in EVENTS}


def spectrum(events: list[Event], sounds: dict[str, NDArray[np.float32]]) -> Tensor:
    """Features of a scene that is re-synthesised, `(1, 8, 100, 1024)`."""
    return features(chunks(render(events, sounds, QUIET, generator(0)), 2.0))


def moved(event: Event, swap: bool, x: bool, y: bool, z: bool) -> Event:
    """An event whose angles are those of the transformed direction: first the swap, then signs."""
    azimuth, elevation = event.azimuth, event.elevation
    azimuth = 90 - azimuth if swap else azimuth
    azimuth = 180 - azimuth if x else azimuth
    azimuth = -azimuth if y else azimuth
    return event._replace(azimuth=azimuth, elevation=-elevation if z else elevation)


def ways() -> list[tuple[bool, ...]]:
    """The swap and the signs of each symmetry, in its order."""
    return [tuple(bool(number >> bit & 1) for bit in (3, 2, 1, 0)) for number in range(16)]


def test_they_are_a_group_of_sixteen() -> None:
    rows = {tuple(matrix.flatten().tolist()) for matrix in SYMMETRIES}
    products = SYMMETRIES[:, None] @ SYMMETRIES[None]
    assert len(rows) == len(SYMMETRIES) == 16
    assert {tuple(matrix.flatten().tolist()) for matrix in products.flatten(0, 1)} == rows
    assert torch.equal(SYMMETRIES[0], torch.eye(3))
    assert torch.equal(SYMMETRIES @ SYMMETRIES.mT, torch.eye(3).expand(16, 3, 3))


@pytest.mark.parametrize("number", range(16))
def test_turned_features_are_those_of_the_turned_scene(
    number: int, sounds: dict[str, NDArray[np.float32]]
) -> None:
    """The scene is re-synthesised from the transformed directions of its sources."""
    turned = [moved(event, *ways()[number]) for event in EVENTS]
    which = torch.tensor([number])
    found = turn_features(spectrum(EVENTS, sounds), which)
    expected = spectrum(turned, sounds)
    assert ((found[:, 4:] > -math.pi - 1e-6) & (found[:, 4:] < math.pi + 1e-6)).all()
    channels, others = (torch.polar(x[:, :4], x[:, 4:]) for x in (found, expected))
    torch.testing.assert_close(channels, others, rtol=0, atol=2e-6)  # samples are whole numbers
    before, after = (torch.from_numpy(frame_labels(x, 100).direction) for x in (EVENTS, turned))
    torch.testing.assert_close(turn_directions(before[None], which), after[None])


def test_they_keep_the_law_of_the_noise() -> None:
    noise = Perturbation({kind: 5.0 + 5 * index for index, kind in enumerate(CLASSES)})
    rng = generator(1)
    at, y = (from_angles(3 * torch.randn(50, 2, generator=rng).double()) for _ in range(2))
    kind = torch.randint(len(CLASSES), (50,), generator=rng)
    before = noise.log_density(y, at, kind)
    for number in range(16):
        which = torch.full((50,), number)
        after = noise.log_density(turn_directions(y, which), turn_directions(at, which), kind)
        torch.testing.assert_close(after, before)


def test_rows_keep_their_symmetry_in_any_order() -> None:
    rng = np.random.default_rng(0)
    stored = rng.uniform(-3, 3, (6, 8, 2, 4)).astype(np.float16)
    which, order = torch.tensor([0, 3, 5, 9, 15, 8]), torch.tensor([4, 0, 5, 2])
    rows = TurnedRows(MappedRows([stored]), which)[order].to("cpu")
    expected = turn_features(torch.from_numpy(stored).float(), which)[order]
    assert len(rows) == 4
    assert torch.equal(rows[1:4], expected[1:])


def test_signed_channels(sounds: dict[str, NDArray[np.float32]]) -> None:
    """They point to a single source, follow symmetries, and are 0 in silence."""
    signed, logarithmic = SignedChannels(1e-4, False), SignedChannels(1e-4, True)
    one = spectrum(EVENTS[:1], sounds)
    loud, *others = signed(one)[:, :, 20:40].unbind(1)
    heard = one[:, 0, 20:40] > one[:, 0].mean() / 2
    where = torch.from_numpy(from_degrees(30, 20)).float()
    found = torch.nn.functional.normalize(torch.stack(others, -1)[heard], dim=-1)
    assert angle_between(found, where).max() < 0.02  # samples are whole numbers
    assert torch.allclose(torch.stack(others).norm(dim=0), loud, rtol=1e-5)
    rows = spectrum(EVENTS, sounds).expand(16, -1, -1, -1)
    plain, turned = signed(rows), signed(turn_features(rows, torch.arange(16)))
    assert torch.allclose(turned[:, 0], plain[:, 0])
    expected = turn_directions(plain[:, 1:].movedim(1, -1), torch.arange(16))
    assert torch.allclose(turned[:, 1:].movedim(1, -1), expected, atol=1e-3)
    compressed = torch.cat([torch.log1p(rows[:1, :4] / 1e-4), rows[:1, 4:]], 1)
    assert torch.allclose(logarithmic(compressed), plain[:1], atol=1e-4)
    assert (signed(torch.zeros(1, 8, 2, 4)) == 0).all()


def test_training_sees_new_symmetries_in_each_epoch_and_validation_none() -> None:
    rng = np.random.default_rng(0)
    stored = rng.uniform(-3, 3, (40, 8, 100, 1)).astype(np.float16)
    kind = torch.zeros(40, 100, 3, dtype=torch.long)
    direction = from_angles(torch.randn(40, 100, 3, 2, generator=generator(0)))
    fold = Fold(MappedRows([stored]), kind, direction, ["scene"] * 40)
    noise = Perturbation(dict.fromkeys(CLASSES, 5.0))
    data, plain = (one(fold, fold, noise, 7, "noised") for one in (AugmentedData, AudioData))
    (rows, y), (again, same), (_, other) = (data.training(epoch) for epoch in (0, 0, 1))
    assert torch.equal(rows[0:40], again[0:40])
    assert torch.equal(y, same)
    assert not torch.equal(y, other)
    assert len(rows.which.unique()) > 8
    before, drawn = plain.training(0)
    assert torch.equal(rows[0:40], turn_features(before[0:40], rows.which))
    assert torch.equal(y, turn_directions(drawn, rows.which))
    assert torch.equal(data.validation(0)[1], plain.validation(0)[1])
    assert torch.equal(data.validation(0)[0][0:40], before[0:40])
