import math

import pytest
import torch

from vwta.geometry.spaces import Box, Sphere


def test_a_box_contains_its_border_only_inwards() -> None:
    box = Box([-1.0, 0.0], [1.0, math.inf])
    y = torch.tensor([[1.0, 0.0], [1.0, 1e9], [1.0001, 1.0], [0.0, -1e-6]])
    assert box.contains(y).tolist() == [True, True, False, False]


def test_support_agrees_with_contains() -> None:
    y = 3 * torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    box = Box(-1.0, 1.0)
    assert torch.equal(box.support.check(y), box.contains(y))
    y = torch.cat([y, y / y.norm(dim=-1, keepdim=True)])
    assert Sphere().support.check(y).tolist() == [False] * 100 + [True] * 100


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, 1.0), ([0.0, 0.0], [1.0, -1.0]), (math.nan, 1.0), ([[0.0]], [[1.0]])]
)
def test_bad_boxes_are_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="low"):
        Box(low, high)


def test_boxes_of_two_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="as many axes, found 2 and 3"):
        Box([0.0, 0.0], [1.0, 1.0, 1.0])


def test_whole_numbers_are_compared_with_sides_that_are_none() -> None:
    y = torch.tensor([[0], [1], [2], [3]])
    assert Box(0.5, 2.5).contains(y).tolist() == [False, True, True, False]
    assert Box(0.5, 2.5).project(y).flatten().tolist() == [0.5, 1.0, 2.0, 2.5]


def test_gradients_pass_a_projection() -> None:
    y = torch.tensor([-0.2, 0.1, 0.05], requires_grad=True)
    projected = Box(0.0, 0.1).project(y.double())
    assert projected.tolist() == pytest.approx([0.0, 0.1, 0.05], rel=1e-7)
    assert projected.max() <= 0.1
    assert torch.autograd.grad(projected.sum(), y)[0].tolist() == [1.0, 1.0, 1.0]


def test_targets_on_the_sphere_are_normalised_and_never_outside() -> None:
    y = torch.tensor([[0.0, 0.0, 1.00001], [0.6, 0.8, 0.0], [math.nan, 0.0, 0.0]]).double()
    assert torch.equal(Sphere().normalise(y[:2], "y", True), Sphere().project(y[:2]))
    assert not Sphere().outside(y).any()
    with pytest.raises(ValueError, match=r"y .* is not a unit vector"):
        Sphere().normalise(2 * y, "y", True)


def test_targets_in_a_box_stay_as_they_are_and_nan_is_not_outside() -> None:
    y = torch.tensor([[0.5], [1.5], [math.nan]])
    assert Box(-1.0, 1.0).normalise(y, "y", True) is y
    assert Box(-1.0, 1.0).outside(y).tolist() == [False, True, False]


def test_unit_vectors_are_snapped_to_a_grid_as_fine_as_their_rounding() -> None:
    z = Sphere().project(torch.tensor([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]]).double())
    snapped = Sphere().snap(z)
    assert torch.equal((snapped * 2.0**51).round(), snapped * 2.0**51)
    assert (snapped - z).abs().max() <= 2.0**-52
    assert Box(-4.0, 4.0).snap(z) is z


def test_errors_name_the_point_and_the_space() -> None:
    with pytest.raises(ValueError, match=r"points \[2.0, 0.0\] lies outside Box"):
        Box(-1.0, 1.0).check(torch.tensor([[0.0, 0.0], [2.0, 0.0]]), "points")
    with pytest.raises(ValueError, match=r"y \[2.0, 0.0, 0.0\] is not a unit vector"):
        Sphere().check(torch.tensor([[2.0, 0.0, 0.0]]), "y")
    with pytest.raises(ValueError, match="3 coordinates"):
        Box([0.0, 0.0], [1.0, 1.0]).dim(3)
    with pytest.raises(ValueError, match="unit vectors"):
        Sphere().dim(2)


def test_frames_on_the_sphere_are_orthonormal_and_turn_left() -> None:
    z = Sphere().project(torch.cat([torch.randn(50, 3), torch.eye(3), -torch.eye(3)]).double())
    first, second = Sphere().frame(z)
    basis = torch.stack([first, second, z], -2)
    torch.testing.assert_close(basis @ basis.mT, torch.eye(3).double().expand(56, 3, 3))
    torch.testing.assert_close(torch.linalg.det(basis), torch.ones(56).double())
