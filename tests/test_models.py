"""Networks and the distributions they become."""

import copy

import pytest
import torch
from torch import Tensor

from vwta.distributions import DiracMixture, KernelMixture, VoronoiMixture
from vwta.kernels import Gaussian, Kernel
from vwta.models import Estimator
from vwta.networks import Hypotheses, WTANetwork, build
from vwta.spaces import Box, Space

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])


@pytest.fixture
def network() -> WTANetwork:
    torch.manual_seed(0)
    return WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[16, 16], bounded=True).double()


def draw(n: int) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(1)
    x = torch.rand(n, 1, generator=source, dtype=torch.float64)
    return x, 2 * torch.rand(n, 2, generator=source, dtype=torch.float64) - 1


def test_network_is_a_trunk_and_heads(network: WTANetwork) -> None:
    """The one head matrix gives what a separate linear head for each hypothesis would."""
    x, _ = draw(4)
    points, logits = network(x)
    assert points.shape == (4, 9, 2)
    assert logits.shape == (4, 9)
    hidden = x
    for layer in (network.trunk[0], network.trunk[2]):
        hidden = torch.relu(hidden @ layer.weight.T + layer.bias)
    for k in range(9):
        rows = [2 * k, 2 * k + 1, 18 + k]
        out = hidden @ network.heads.weight[rows].T + network.heads.bias[rows]
        assert torch.allclose(points[:, k], out[:, :2].tanh())
        assert torch.allclose(logits[:, k], out[:, 2])


def test_unbounded_points_leave_the_square() -> None:
    torch.manual_seed(0)
    network = build("wta", inputs=1, outputs=2, hypotheses=9, widths=[16], bounded=False)
    assert network(torch.tensor([[1e3]])).points.abs().max() > 1


@pytest.mark.parametrize(
    "logits", [[0.3, -1.0, 2.0], [-800.0, -801.0, -900.0], [900.0, 0.0, -900.0]]
)
def test_masses_are_normalised_scores(logits: list[float]) -> None:
    s = torch.tensor(logits, dtype=torch.float64)
    masses = Hypotheses(torch.zeros(3, 2), s).masses
    assert torch.isfinite(masses).all()
    assert masses.sum().item() == pytest.approx(1)
    if s.abs().max() < 10:
        assert torch.allclose(masses, s.sigmoid() / s.sigmoid().sum())


@pytest.mark.parametrize(
    ("kernel", "space", "kind"),
    [
        (None, None, DiracMixture),
        (Gaussian(0.2), None, KernelMixture),
        (Gaussian(0.2), SQUARE, VoronoiMixture),
    ],
)
def test_kind_of_distribution(
    network: WTANetwork, kernel: Kernel | None, space: Space | None, kind: type
) -> None:
    law = Estimator(network, kernel, space)(draw(4)[0])
    assert type(law) is kind
    assert law.batch_shape == (4,)
    assert law.event_shape == (2,)


@pytest.mark.parametrize("space", [None, SQUARE])
def test_gradients_reach_every_parameter(network: WTANetwork, space: Space | None) -> None:
    x, y = draw(64)
    Estimator(network, Gaussian(0.3), space)(x).log_prob(y).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("space", [None, SQUARE])
def test_bandwidth_is_outside_the_model(network: WTANetwork, space: Space | None) -> None:
    x, y = draw(8)
    model = Estimator(network, Gaussian(0.3), space)
    other = Estimator(network, Gaussian(0.1), space)
    assert torch.allclose(model(x).with_bandwidth(0.1).log_prob(y), other(x).log_prob(y))
    assert model.state_dict().keys() == {f"network.{name}" for name in network.state_dict()}


def test_saved_and_loaded_is_equal(network: WTANetwork) -> None:
    x, y = draw(8)
    model = Estimator(network, Gaussian(0.3), SQUARE)
    torch.manual_seed(1)
    again = Estimator(
        WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[16, 16], bounded=True).double(),
        Gaussian(0.3),
        SQUARE,
    )
    assert not torch.equal(model(x).log_prob(y), again(x).log_prob(y))
    again.load_state_dict(copy.deepcopy(model.state_dict()))
    assert torch.equal(model(x).log_prob(y), again(x).log_prob(y))


def test_density_integrates_to_one(network: WTANetwork) -> None:
    line = torch.linspace(-1, 1, 401, dtype=torch.float64)
    middle = (line[1:] + line[:-1]) / 2
    points = torch.cartesian_prod(middle, middle)
    law = Estimator(network, Gaussian(0.2), SQUARE)(torch.full((1, 1), 0.4, dtype=torch.float64))
    total = law.log_prob(points).exp().sum().item() * (2 / 400) ** 2
    assert total == pytest.approx(1, abs=2e-3)


def test_cells_without_kernel_are_refused(network: WTANetwork) -> None:
    with pytest.raises(ValueError, match="no kernel"):
        Estimator(network, None, SQUARE)


def test_unknown_network_is_named() -> None:
    with pytest.raises(ValueError, match=r"'wtaa'.*wta"):
        build("wtaa")
