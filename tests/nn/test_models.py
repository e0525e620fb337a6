"""Networks and the distributions they become."""

import copy

import pytest
import torch
from torch import Tensor

from vwta.distributions.mixtures import DiracMixture, KernelMixture, VoronoiMixture
from vwta.geometry.grids import bin_centres
from vwta.geometry.kernels import Gaussian, Kernel, Uniform
from vwta.geometry.spaces import Box, Space
from vwta.nn.heads import Hypotheses
from vwta.nn.losses import mixture
from vwta.nn.models import Estimator, MixtureDensity
from vwta.nn.networks import (
    HistogramNetwork,
    MixtureNetwork,
    WTANetwork,
)

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])


@pytest.fixture
def network() -> WTANetwork:
    torch.manual_seed(0)
    return WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[16, 16], bounded=True).double()


@pytest.fixture
def histogram() -> HistogramNetwork:
    torch.manual_seed(0)
    box = {"low": [-1.0, -1.0], "high": [1.0, 1.0]}
    return HistogramNetwork(inputs=1, widths=[16, 16], grid=[5, 4], **box).double()


@pytest.fixture
def components() -> MixtureNetwork:
    torch.manual_seed(0)
    return MixtureNetwork(inputs=1, outputs=2, components=9, widths=[16, 16], bounded=True).double()


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
    network = WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[16], bounded=False)
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


def middles(reach: float, n: int = 400) -> tuple[Tensor, float]:
    """Middles of an n x n grid on [-reach, reach]^2, and the area that each stands for."""
    line = torch.linspace(-reach, reach, n + 1, dtype=torch.float64)
    middle = (line[1:] + line[:-1]) / 2
    return torch.cartesian_prod(middle, middle), (2 * reach / n) ** 2


@pytest.mark.parametrize("kernel", [Gaussian(0.2), Uniform()])
@pytest.mark.parametrize("name", ["network", "histogram"])
def test_cut_density_integrates_to_one(
    name: str, kernel: Kernel, request: pytest.FixtureRequest
) -> None:
    points, area = middles(1)
    x = torch.full((1, 1), 0.4, dtype=torch.float64)
    law = Estimator(request.getfixturevalue(name), kernel, SQUARE)(x)
    assert law.log_prob(points).exp().sum().item() * area == pytest.approx(1, abs=2e-3)


def test_mixture_density_integrates_to_one(components: MixtureNetwork) -> None:
    points, area = middles(8)
    law = MixtureDensity(components)(torch.full((1, 1), 0.4, dtype=torch.float64))
    assert law.log_prob(points).exp().sum().item() * area == pytest.approx(1, abs=1e-6)


def test_mixture_density_is_what_training_maximises(components: MixtureNetwork) -> None:
    x, y = draw(64)
    likelihood = MixtureDensity(components)(x).log_prob(y).mean()
    assert likelihood.item() == pytest.approx(-mixture(components(x), y).item(), rel=1e-12)
    likelihood.backward()
    for name, parameter in components.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("axis", [0, 1])
def test_bins_follow_the_printed_formula(axis: int) -> None:
    centres = bin_centres([5, 4], [-1.0, -1.0], [1.0, 1.0])
    pairs = [(i, j) for i in range(1, 6) for j in range(1, 5)]
    expected = [-1 + (pair[axis] - 0.5) * 2 / [5, 4][axis] for pair in pairs]
    assert centres[:, axis].tolist() == pytest.approx(expected, rel=1e-15)


def test_histogram_by_hand(histogram: HistogramNetwork) -> None:
    """Each bin holds its normalised score, uniformly on an area of 4 / 20."""
    x, y = draw(200)
    scores = histogram(x).logits.sigmoid()
    row, column = ((y[:, 0] + 1) / 2 * 5).long(), ((y[:, 1] + 1) / 2 * 4).long()
    share = scores[torch.arange(200), 4 * row + column] / scores.sum(-1)
    law = Estimator(histogram, Uniform(), SQUARE)(x)
    assert torch.allclose(law.log_prob(y), (share * 20 / 4).log(), rtol=1e-9)


def test_bins_hold_their_mass_at_every_bandwidth(histogram: HistogramNetwork) -> None:
    points, area = middles(1)
    x = torch.full((1, 1), 0.4, dtype=torch.float64)
    row, column = ((points[:, 0] + 1) / 2 * 5).long(), ((points[:, 1] + 1) / 2 * 4).long()
    law = Estimator(histogram, Gaussian(1.0), SQUARE)(x)
    for h in (0.1, 1.0):
        density = law.with_bandwidth(h).log_prob(points).exp()
        masses = torch.bincount(4 * row + column, density * area)
        assert torch.allclose(masses, histogram(x).masses[0], rtol=1e-3)


def test_histogram_learns_scores_alone(histogram: HistogramNetwork) -> None:
    x, y = draw(64)
    before = histogram(x).points.clone()
    Estimator(histogram, Gaussian(0.3), SQUARE)(x).log_prob(y).sum().backward()
    for name, parameter in histogram.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    assert not any("centres" in name for name in histogram.state_dict())
    assert torch.equal(before, bin_centres([5, 4], [-1.0, -1.0], [1.0, 1.0]).expand(64, 20, 2))


def test_unweighted_atoms_have_equal_masses(network: WTANetwork) -> None:
    x, y = draw(8)
    law = Estimator(network, Gaussian(0.3), weighted=False)(x)
    squares = (network(x).points - y[:, None]).square().sum(-1)
    density = torch.exp(-squares / 2 / 0.3**2).mean(-1) / (2 * torch.pi * 0.3**2)
    assert torch.allclose(law.log_prob(y), density.log())


def test_cells_without_kernel_are_refused(network: WTANetwork) -> None:
    with pytest.raises(ValueError, match="no kernel"):
        Estimator(network, None, SQUARE)


def test_a_trunk_has_layers() -> None:
    with pytest.raises(ValueError, match="at least one width"):
        WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[], bounded=False)
