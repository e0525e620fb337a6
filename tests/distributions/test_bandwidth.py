"""Golden section against scipy."""

import math
from collections.abc import Callable

import pytest
import torch
from scipy import optimize

from vwta.distributions.average import Average
from vwta.distributions.bandwidth import adjust, golden_section, tune
from vwta.distributions.continuous import ContinuousMixture
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.distributions.robust import Robust
from vwta.geometry.kernels import Gaussian
from vwta.geometry.spaces import Box

FUNCTIONS = {
    "parabola": lambda h: (h - 0.7) ** 2,
    "nll-like": lambda h: 0.04 / (2 * h * h) + 2 * math.log(h),
    "skewed": lambda h: math.exp(-3 * h) + 0.2 * h,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_scipy(name: str) -> None:
    function: Callable[[float], float] = FUNCTIONS[name]
    expected = optimize.minimize_scalar(
        function, bounds=(0.1, 2.0), method="bounded", options={"xatol": 1e-9}
    )
    found = golden_section(function, 0.1, 2.0, 1e-7)
    assert found.at == pytest.approx(expected.x, abs=1e-6)
    assert found.value == function(found.at)


@pytest.mark.parametrize(("function", "end"), [(lambda h: h, 0.1), (lambda h: -h, 2.0)])
def test_minimum_at_an_end(function: Callable[[float], float], end: float) -> None:
    assert golden_section(function, 0.1, 2.0, 1e-3).at == pytest.approx(end, abs=1e-3)


def test_one_evaluation_a_step() -> None:
    met: list[float] = []
    found = golden_section(lambda h: met.append(h) or (h - 0.3) ** 2, 0.1, 2.0, 0.1)
    steps = math.ceil(math.log(0.1 / 1.9) / math.log((math.sqrt(5) - 1) / 2))
    assert found.evaluations == len(met) == steps + 2
    assert abs(found.at - 0.3) < 0.1


def test_ends_when_floats_run_out() -> None:
    found = golden_section(lambda h: (h - 1) ** 2, 0.1, 2.0, 1e-300)
    assert found.evaluations < 200
    assert found.at == pytest.approx(1, abs=1e-6)


def test_nan_is_avoided() -> None:
    found = golden_section(lambda h: math.nan if h > 1 else (h - 0.5) ** 2, 0.1, 2.0, 1e-4)
    assert found.at == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("low", "high", "tolerance", "named"),
    [(2, 1, 0.1, r"\[2, 1\]"), (0.1, math.inf, 0.1, "inf"), (0.1, 2, 0, "tolerance 0")],
)
def test_bad_arguments_are_named(low: float, high: float, tolerance: float, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        golden_section(lambda h: h, low, high, tolerance)


@pytest.mark.parametrize("cut", [True, False])
def test_tuned_bandwidth_against_a_fine_grid(cut: bool) -> None:
    source = torch.Generator().manual_seed(0)
    points = 1.8 * torch.rand(500, 9, 2, generator=source, dtype=torch.float64) - 0.9
    masses = torch.rand(500, 9, generator=source, dtype=torch.float64).softmax(-1)
    kernel, square = Gaussian(1.0), Box(-1.0, 1.0)
    law = (
        VoronoiMixture(points, masses, kernel, square)
        if cut
        else KernelMixture(points, masses, kernel)
    )
    y = law.with_bandwidth(0.13).sample((), generator=source).clamp(-1, 1)
    found = tune(law, y, 0.01, 2.0, 0.005)
    grid = [0.01 * 200 ** (i / 200) for i in range(201)]
    values = [-law.with_bandwidth(h).log_prob(y).mean().item() for h in grid]
    best = min(values)
    assert math.log(found.at) == pytest.approx(math.log(grid[values.index(best)]), abs=0.03)
    assert found.value <= best + 1e-5
    assert found.evaluations <= 17
    assert found.at == pytest.approx(0.13, rel=0.1)


def test_cells_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from vwta.geometry import cells

    calls = []
    walk = cells.walk
    monkeypatch.setattr(cells, "walk", lambda *args: calls.append(len(args[1])) or walk(*args))
    points = torch.rand(5, 9, 2, dtype=torch.float64) - 0.5
    law = VoronoiMixture(points, torch.full((5, 9), 1 / 9), Gaussian(1.0), Box(-1.0, 1.0))
    tune(law, torch.zeros(5, 2, dtype=torch.float64), 0.01, 2.0, 0.01)
    assert sum(calls) == 5


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0)])
def test_bad_bandwidths_are_named(low: float, high: float) -> None:
    law = KernelMixture(torch.zeros(2, 1, 1), torch.ones(2, 1), Gaussian(1.0))
    with pytest.raises(ValueError, match=f"from {low} to {high}"):
        tune(law, torch.zeros(2, 1), low, high, 0.1)


def test_what_cannot_be_tuned_is_named() -> None:
    law = VoronoiMixture(torch.zeros(2, 1, 1), torch.ones(2, 1), Gaussian(1.0), Box(-1.0, 1.0))
    y = torch.tensor([[0.5], [1.5]])
    for each in (law, Average([law, law])):
        with pytest.raises(ValueError, match="1 of 2 points y lie outside the domain"):
            tune(each, y, 0.1, 1.0, 1e-3)
    with pytest.raises(ValueError, match="scale 'Linear': expected 'log' or 'linear'"):
        tune(law, y / 2, 0.1, 1.0, 1e-3, scale="Linear")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="y must be a tensor, found list"):
        tune(law, [[0.5]], 0.1, 1.0, 1e-3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no points"):
        tune(law, y[:0], 0.1, 1.0, 1e-3)


def local_laws(n: int = 60) -> tuple[VoronoiMixture, torch.Tensor]:
    """Laws in the plane with kernels of their own, too wide and too sure, and targets."""
    source = torch.Generator().manual_seed(0)
    square = Box([-1.0, -1.0], [1.0, 1.0])
    shape: dict[str, object] = {"generator": source, "dtype": torch.float64}
    points = 1.6 * torch.rand(n, 4, 2, **shape) - 0.8
    centres = points + 0.1 * torch.randn(n, 4, 2, **shape)
    h = 0.2 + 0.2 * torch.rand(n, 4, **shape)
    masses = torch.rand(n, 4, **shape).log().softmax(-1)
    law = VoronoiMixture(points, masses, Gaussian(h), square, centres=centres)
    y = law.with_width_factor(0.5).with_temperature(2.0).sample((), generator=source)
    return law, y


def test_factor_and_temperature_together_are_the_best_pair() -> None:
    """One search after the other, against a simplex over both."""
    law, y = local_laws()

    def nll(logs: list[float]) -> float:
        changed = law.with_width_factor(math.exp(logs[0])).with_temperature(math.exp(logs[1]))
        return -changed.log_prob(y).mean().item()

    expected = optimize.minimize(nll, [0.0, 0.0], method="Nelder-Mead", options={"maxiter": 60})
    found = adjust(law, y, tolerance=1e-3)
    assert found.factor == pytest.approx(math.exp(expected.x[0]), rel=2e-2)
    assert found.temperature == pytest.approx(math.exp(expected.x[1]), rel=2e-2)
    assert found.value == pytest.approx(-found.of(law).log_prob(y).mean().item(), abs=1e-12)
    assert found.value == pytest.approx(expected.fun, abs=1e-4)
    assert found.by_factor.tried[0] == (1.0, -law.log_prob(y).mean().item())
    assert found.by_temperature is not None
    assert found.by_temperature.tried[0] == (1.0, pytest.approx(found.by_factor.value, abs=1e-12))


def test_continuous_laws_have_a_factor_alone() -> None:
    """Of several networks and with a background too, which the factor leaves as it is."""
    source = torch.Generator().manual_seed(1)
    y = 0.3 * torch.randn(100, 1, generator=source, dtype=torch.float64)
    atoms = torch.tensor([[-1.0], [1.0]], dtype=torch.float64).expand(100, 2, 1)
    law = ContinuousMixture(atoms, torch.full((100, 2), 0.6).double(), torch.zeros_like(atoms))
    found = adjust(law, y, tolerance=1e-6)  # one Gaussian
    assert found.factor * 0.6 == pytest.approx(y.square().mean().sqrt().item(), rel=1e-4)
    assert (found.temperature, found.by_temperature) == (1.0, None)
    wide = Robust.over(law, 0.01, 1.5)
    both = adjust(Average([wide, wide]), y, tolerance=1e-6)
    assert both.factor == adjust(wide, y, tolerance=1e-6).factor
    assert both.by_temperature is None
    assert both.of(wide).log_prob(y).mean().item() == pytest.approx(-both.value, abs=1e-12)


def test_a_law_that_suits_is_left_as_it_is() -> None:
    """Golden sections meet 1 nowhere, and never come out worse than it."""
    z = torch.zeros(2, 1, 1, dtype=torch.float64)
    law = ContinuousMixture(z, torch.ones(2, 1, dtype=torch.float64))
    found = adjust(law, torch.tensor([[-1.0], [1.0]]).double(), tolerance=0.3)
    assert found.factor == 1.0
    assert found.value == min(value for _, value in found.by_factor.tried)


def test_adjustments_refuse_what_says_nothing() -> None:
    law = ContinuousMixture(torch.zeros(2, 1, 1), torch.ones(2, 1), space=Box(-1.0, 1.0))
    with pytest.raises(ValueError, match=r"factors from 1.5 to 4.0: expected 0 < low < 1 < high"):
        adjust(law, torch.zeros(2, 1), low=1.5)
    with pytest.raises(ValueError, match="1 of 2 points y lie outside"):
        adjust(law, torch.tensor([[0.0], [2.0]]))
