"""Networks with local kernels: heads, laws, loss, and training in stacks."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from vwta.distributions.continuous import ContinuousMixture
from vwta.distributions.mixtures import VoronoiMixture
from vwta.distributions.robust import Robust
from vwta.geometry.spaces import Box, Sphere
from vwta.nn.densities import Background, LocalDensity, local, local_law, local_nll
from vwta.nn.local import Form, LocalHead, LocalNetwork, ShapedAtoms
from vwta.nn.models import select
from vwta.nn.networks import Network, initialise
from vwta.training.loop import FixedData
from vwta.training.stacking import Plan, Rows, fit_stacked

LINE = Box(-math.inf, math.inf)
SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
FORMS: list[tuple[Form, int]] = [("scores", 1), ("scores", 2), ("continuous", 1), ("shared", 1)]


def network_of(form: Form, d: int, seed: int = 0) -> LocalNetwork:
    specification = {
        "inputs": 3,
        "outputs": d,
        "hypotheses": 5,
        "widths": [20],
        "form": form,
        "bounded": d == 2,
    }
    network = initialise(specification, seed, LocalNetwork)
    assert isinstance(network, LocalNetwork)
    return network


def space_of(d: int) -> Box:
    return LINE if d == 1 else SQUARE


def rows(networks: int, n: int, d: int, seed: int) -> Rows:
    source = torch.Generator().manual_seed(seed)
    x = torch.randn(networks, n, 3, generator=source)
    noise = 0.1 * torch.randn(networks, n, d, generator=source)
    return Rows(x, (x[..., :d].sin() * 0.6 + noise).clamp(-1, 1))


@pytest.mark.parametrize(("form", "d"), FORMS)
def test_law_of_a_network(form: Form, d: int) -> None:
    network = network_of(form, d)
    atoms = network(torch.randn(4, 3))
    assert atoms.points.shape == atoms.centres.shape == atoms.cells.shape == (4, 5, d)
    assert atoms.scales.shape == (4, 5)
    assert torch.equal(atoms.points, atoms.cells)
    law = LocalDensity(network, space_of(d))(torch.randn(4, 3))
    assert isinstance(law, ContinuousMixture if form != "scores" else VoronoiMixture)
    assert law.log_prob(torch.zeros(4, d)).isfinite().all()
    robust = LocalDensity(network, space_of(d), Background())(torch.randn(4, 3))
    assert isinstance(robust, Robust)
    assert select(atoms, torch.tensor([0, 2])).points.shape == (2, 5, d)


@pytest.mark.parametrize(("form", "d"), FORMS)
@pytest.mark.parametrize("background", [None, Background()])
def test_loss_is_the_likelihood_and_the_distance(
    form: Form, d: int, background: Background | None
) -> None:
    network = network_of(form, d)
    x, y = (part[0] for part in rows(1, 30, d, seed=1))
    law = LocalDensity(network, space_of(d), background)(x)
    distance = (network(x).points - y[:, None]).square().sum(-1).amin(-1)
    expected = (10 * distance - law.log_prob(y)).mean()
    assert torch.allclose(local(network(x), y, space_of(d), background=background), expected)
    assert torch.allclose(
        local_nll(network(x), y, space_of(d), background), -law.log_prob(y).mean()
    )


@pytest.mark.parametrize("background", [None, Background(0.3, 1.5)])
def test_likelihood_in_an_interval(background: Background | None) -> None:
    """Without building a law, and with the same gradients; nothing is likely outside."""
    interval = Box(-5.0, 2.5)
    network = network_of("continuous", 1).double()
    x, y = (part[0].double() for part in rows(1, 30, 1, seed=1))
    gradients = []
    for loss in (
        local_nll(network(x), y, interval, background),
        -local_law(network(x), network(x).cells, interval, background).log_prob(y).mean(),
    ):
        network.zero_grad()
        loss.backward()
        found = [p.grad.clone() for p in network.parameters() if p.grad is not None]
        gradients.append([loss.detach(), *found])
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(*gradients, strict=True))
    assert local_nll(network(x), y + 5, interval, background).item() == math.inf


@pytest.mark.parametrize(("form", "d"), FORMS)
def test_winners_alone_move_hypotheses(form: Form, d: int) -> None:
    """The likelihood has no gradient at hypotheses, and one at all that it should train."""
    network = network_of(form, d)
    x, y = (part[0] for part in rows(1, 200, d, seed=1))
    local(network(x), y, space_of(d), distance=0.0).backward()
    head = network.heads
    assert isinstance(head, LocalHead)
    z, *others = head.weight.grad.split(head.sizes)  # type: ignore[union-attr]
    assert not z.any()
    assert all(part.any() for part in others)
    assert head.weight.grad.isfinite().all()  # type: ignore[union-attr]
    network.zero_grad()
    local(network(x), y, space_of(d)).backward()
    assert head.weight.grad[: 5 * d].any()


@pytest.mark.parametrize(("form", "d"), FORMS)
def test_stacked_networks_are_those_trained_alone(form: Form, d: int) -> None:
    loss = partial(local, space=space_of(d), background=Background())
    plan = Plan(3, 32, 5e-3, "warm_cosine", weight_decay=0.1, clip=1.0, average=0.1)
    networks = [network_of(form, d, seed) for seed in range(3)]
    train, held_out = rows(3, 64, d, seed=2), rows(3, 40, d, seed=3)

    def train_some(which: slice) -> dict[str, Tensor]:
        data = FixedData(*(tuple(part[which] for part in x) for x in (train, held_out)))
        done = fit_stacked(networks[which], loss, {"loss": loss}, data, plan, range(3)[which])
        assert (done.curves["loss"][-1] < done.curves["loss"][0]).all()
        return done.last

    together = train_some(slice(None))
    for i in range(3):
        alone = train_some(slice(i, i + 1))
        for name, value in alone.items():
            assert torch.allclose(value[0], together[name][i], atol=2e-5)


def test_covariances() -> None:
    """Roots have the covariance of the formula, isotropic at the start, and any digits of it."""
    head = LocalHead(4, 2, 3, covariance=True)
    atoms = head(torch.zeros(1, 4))
    assert isinstance(atoms, ShapedAtoms)
    assert torch.equal(atoms.roots, torch.eye(2).expand(1, 3, 2, 2))
    numbers = torch.tensor([[0.0, 0.0], [3.0, -1.0], [-1e3, 0.5]])
    outputs = torch.cat([torch.zeros(1, sum(head.sizes) - 6), numbers.view(1, 6)], -1)
    roots = head.read(outputs).roots.double()[0]  # type: ignore[union-attr]
    p, q = numbers.double().unbind(-1)
    covariance = torch.stack([p, q, q, -p], -1).view(3, 2, 2)
    covariance = covariance + torch.diag_embed((1 + p**2 + q**2).sqrt()[:, None].expand(3, 2))
    assert torch.allclose(roots @ roots.mT, covariance, rtol=1e-5)
    assert torch.allclose(torch.linalg.det(roots), torch.ones(3).double())


def test_loss_of_kernels_with_covariances() -> None:
    """It is the law's, moves all but the hypotheses, and training lowers it."""
    sizes = {"inputs": 3, "outputs": 2, "hypotheses": 5, "widths": [20]}
    specification = {**sizes, "bounded": True, "covariance": True}
    networks = [initialise(specification, seed, LocalNetwork) for seed in range(2)]
    x, y = (part[0] for part in rows(1, 200, 2, seed=1))
    law = LocalDensity(networks[0], SQUARE)(x)
    assert isinstance(law, VoronoiMixture)
    assert law.roots is not None
    loss = local_nll(networks[0](x), y, SQUARE)
    assert torch.allclose(loss, -law.log_prob(y).mean())
    loss.backward()
    head = networks[0].heads
    assert isinstance(head, LocalHead)
    z, *others = head.weight.grad.split(head.sizes)  # type: ignore[union-attr]
    assert not z.any()
    assert all(part.any() for part in others)
    nll = partial(local_nll, space=SQUARE)
    data = FixedData(rows(2, 64, 2, seed=2), rows(2, 40, 2, seed=3))
    plan = Plan(8, 16, 5e-3, "warm_cosine")
    done = fit_stacked(networks, partial(local, space=SQUARE), {"nll": nll}, data, plan, range(2))
    assert (done.curves["nll"][-1] < done.curves["nll"][0]).all()


def test_starts_and_widths() -> None:
    head = LocalHead(4, 1, 3, log_scale=-1.0)
    atoms = head(torch.zeros(1, 4))
    best = 1.2240  # three points quantise a standard Gaussian best at 0 and here
    assert torch.allclose(atoms.points[0, :, 0], torch.tensor([-best, 0.0, best]), atol=1e-4)
    assert torch.allclose(atoms.scales, torch.full((1, 3), math.exp(-1)))
    places = torch.tensor([[0.5, -0.5], [0.1, 0.2]])
    head = LocalHead(4, 2, 2, bounded=True, starts=places)
    assert torch.allclose(head(torch.zeros(1, 4)).points[0], places)
    narrow = LocalHead(4, 1, 3, log_scale=-99.0, scales=(0.01, 1.0))(torch.zeros(1, 4))
    assert torch.allclose(narrow.scales, torch.full((1, 3), 0.01))


def test_any_trunk() -> None:
    trunk = nn.Sequential(nn.Conv1d(3, 8, 5), nn.GELU(), nn.Flatten())
    model = LocalDensity(Network(trunk, LocalHead(32, 2, 9, bounded=True)), SQUARE)
    assert model(torch.rand(5, 3, 8)).sample((2,)).shape == (2, 5, 2)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="expected one of scores"):
        LocalHead(4, 1, 3, form="other")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on the line alone"):
        LocalHead(4, 2, 3, form="continuous")
    with pytest.raises(ValueError, match="leave out `covariance`"):
        LocalHead(4, 1, 3, covariance=True)
    with pytest.raises(ValueError, match="leave out `bounded`"):
        LocalHead(4, 1, 3, form="shared", bounded=True)
    with pytest.raises(TypeError, match="on the line alone"):
        LocalDensity(network_of("continuous", 1), Sphere())(torch.zeros(1, 3))
