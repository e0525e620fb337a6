"""Angles on the sphere: wraps, poles, and gradients."""

import math

import pytest
import torch

from vwta.geometry.angles import angle_between, from_angles, to_angles


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("turn", [0.0, 1e-6, 1e-3, 1.0, math.pi - 1e-3, math.pi])
def test_angle_and_its_gradient(turn: float, dtype: torch.dtype) -> None:
    """The gradient has length 1 along the arc, except where it has no direction."""
    b = torch.tensor([0.36, 0.48, 0.8], dtype=torch.float64)
    tangent = torch.tensor([0.8, -0.6, 0.0], dtype=torch.float64)
    a = (math.cos(turn) * b + math.sin(turn) * tangent).to(dtype)
    if turn in (0.0, math.pi):
        a = b.to(dtype) * (1 if turn == 0 else -1)
    a.requires_grad_()
    found = angle_between(a, b.to(dtype))
    assert found.item() == pytest.approx(turn, abs=3e-7 if dtype == torch.float32 else 1e-15)
    found.backward()
    if turn in (0.0, math.pi):
        assert (a.grad == 0).all()
    elif turn > 1e-4 or dtype == torch.float64:
        along = math.cos(turn) * tangent - math.sin(turn) * b
        assert torch.allclose(a.grad.double(), along, atol=1e-3)
    else:
        assert torch.isfinite(a.grad).all()
        assert a.grad.norm() < 1.1


def test_directions_wrap() -> None:
    """An elevation beyond the pole comes down on the other side."""
    angles = torch.tensor([[0.3, 2.0], [0.3 + 2 * math.pi, 2.0], [0.3 + math.pi, math.pi - 2.0]])
    first, *others = from_angles(angles.double())
    for other in others:
        assert torch.allclose(first, other, atol=1e-6)


def test_angles_are_those_of_the_vectors() -> None:
    angles = torch.tensor([[-1.5, 0.9], [0.0, -1.2], [3.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(to_angles(from_angles(angles)), angles)
