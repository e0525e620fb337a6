"""Networks on spectrograms: sizes, directions, gradients."""

import pytest
import torch
from torch import Tensor, nn

from vwta.geometry.angles import from_degrees
from vwta.geometry.grids import bin_directions
from vwta.nn.seldnet import (
    DirectionHistogram,
    DirectionMixture,
    DirectionNetwork,
    SELDnet,
    Sizes,
)

SMALL = Sizes(channels=8, frames=5, bands=16, filters=3, pools=[4, 2], width=4, layers=2)
PUBLISHED = Sizes(
    channels=8, frames=100, bands=1024, filters=64, pools=[8, 8, 2], width=128, layers=4
)


def make(kind: str) -> nn.Module:
    torch.manual_seed(0)
    if kind == "wta":
        return DirectionNetwork(hypotheses=6, **SMALL)
    if kind == "hist":
        return DirectionHistogram(bin_directions(3, 2), **SMALL)
    return DirectionMixture(components=6, **SMALL)


def spectrograms(batch: int = 2) -> Tensor:
    return torch.randn(batch, 8, 5, 16, generator=torch.Generator().manual_seed(1))


def test_published_trunk_has_its_number_of_parameters() -> None:
    trunk = SELDnet(**PUBLISHED)
    counts = {
        name: sum(parameter.numel() for parameter in child.parameters())
        for name, child in trunk.named_children()
    }
    convolutions = (8 * 9 + 1) * 64 + 2 * (64 * 9 + 1) * 64 + 3 * 2 * 64
    gates = [2 * 3 * 128 * (inputs + 128 + 2) for inputs in (512, 256, 256, 256)]
    assert counts == {
        "convolutions": convolutions,
        "norm": 2 * 100 * 512,
        "memory": sum(gates),
    }
    assert sum(counts.values()) == 1_563_712


def test_trunk_by_hand() -> None:
    """The steps in the order of the protocol: convolution, batch norm, ReLU, maximum."""
    torch.manual_seed(0)
    trunk, x = SELDnet(**SMALL), spectrograms(3)
    maps = x
    for pool, (convolution, norm, *_) in zip((4, 2), trunk.convolutions, strict=True):
        edges = nn.functional.pad(maps, (1, 1, 1, 1), mode="replicate")
        maps = nn.functional.conv2d(edges, convolution.weight, convolution.bias)
        mean, variance = maps.mean((0, 2, 3)), maps.var((0, 2, 3), correction=0)
        scale = (norm.weight / (variance + norm.eps).sqrt())[:, None, None]
        maps = ((maps - mean[:, None, None]) * scale + norm.bias[:, None, None]).relu()
        maps = maps.unfold(-1, pool, pool).amax(-1)
    rows = torch.stack([maps[:, :, frame].reshape(3, -1) for frame in range(5)], 1)
    flat = rows.reshape(3, -1)
    flat = (flat - flat.mean(1, keepdim=True)) / (
        flat.var(1, keepdim=True, correction=0) + 1e-5
    ).sqrt()
    expected = trunk.memory(flat.reshape(rows.shape))[0]
    assert torch.allclose(trunk(x), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["wta", "hist", "mixture"])
def test_points_are_unit_vectors(kind: str) -> None:
    atoms = make(kind)(spectrograms())
    assert atoms.points.shape == (2, 5, 6, 3)
    assert all(part.shape == (2, 5, 6) for part in atoms[1:])
    assert torch.allclose(atoms.points.norm(dim=-1), torch.ones(2, 5, 6), atol=1e-6)
    assert torch.allclose(atoms.masses.sum(-1), torch.ones(2, 5))


@pytest.mark.parametrize("kind", ["wta", "hist", "mixture"])
def test_gradients_reach_every_parameter(kind: str) -> None:
    network = make(kind)
    target = torch.tensor([0.6, 0.0, 0.8])
    atoms = network(spectrograms())
    loss = (atoms.points @ target).square().sum()
    sum((part.square().sum() for part in atoms[1:]), loss).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_one_matrix_is_a_head_for_each_hypothesis() -> None:
    network, x = make("wta"), spectrograms()
    points, logits = network(x)
    features = network.trunk(x)
    for k in range(6):
        rows = [2 * k, 2 * k + 1, 12 + k]
        a, e, s = (features @ network.heads.weight[rows].T + network.heads.bias[rows]).unbind(-1)
        expected = torch.from_numpy(
            from_degrees(*(angle.rad2deg().detach().numpy() for angle in (a, e)))
        )
        assert torch.allclose(points[..., k, :], expected.float(), atol=1e-5)
        assert torch.allclose(logits[..., k], s, atol=1e-6)


@pytest.mark.parametrize("kind", ["wta", "hist", "mixture"])
def test_order_in_memory_changes_nothing(kind: str) -> None:
    network, x = make(kind), spectrograms()
    expected = network(x)
    network = network.to(memory_format=torch.channels_last)
    found = network(x.contiguous(memory_format=torch.channels_last))
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("kind", ["wta", "hist", "mixture"])
def test_saved_and_loaded_is_equal(kind: str) -> None:
    network, x = make(kind), spectrograms()
    network(x)  # moves the running means
    again = make(kind)
    again.load_state_dict(network.state_dict())
    for one, other in zip(network.eval()(x), again.eval()(x), strict=True):
        assert torch.equal(one, other)
    assert not any("centres" in name for name in network.state_dict())


def test_other_shapes_are_refused() -> None:
    network = make("wta")
    with pytest.raises(ValueError, match=r"\(8, 4, 16\).*\(8, 5, 16\)"):
        network(spectrograms()[:, :, :4])
    with pytest.raises(ValueError, match=r"\[4, 8\].*16 bands"):
        SELDnet(**{**SMALL, "pools": [4, 8]})
