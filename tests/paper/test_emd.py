"""The earth mover's distance against other solvers and closed forms."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from vwta.paper.emd import emd, emd_opencv


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_equal_masses_are_an_assignment(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 0.3
    cost = cdist(a, b)
    assert emd(a, b) == pytest.approx(cost[linear_sum_assignment(cost)].mean(), rel=1e-12)


def normal(rng: np.random.Generator, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return 0.2 * rng.normal(size=(300, d)), 0.3 * rng.normal(size=(300, d))


CLOUDS: dict[str, Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]] = {
    "near": normal,
    "far": lambda rng: (normal(rng)[0], normal(rng)[1] + 5),
    "tiny": lambda rng: (1e-9 * normal(rng)[0], 1e-9 * normal(rng)[1]),
    "an outlier": lambda rng: (np.vstack([normal(rng)[0][1:], [[99.0, 50.0]]]), normal(rng)[1]),
    "heavy tails": lambda rng: (normal(rng)[0], rng.standard_cauchy(size=(300, 2))),
    "ties": lambda rng: (rng.integers(8, size=(300, 2)) / 8, rng.integers(8, size=(300, 2)) / 8),
    "one place": lambda rng: (np.zeros((300, 2)), normal(rng)[1]),
    "two places": lambda rng: (np.zeros((300, 2)), np.ones((300, 2))),
    "a line": lambda rng: normal(rng, 1),
    "a line in the plane": lambda rng: (normal(rng)[0] * [1, 0], normal(rng)[1] * [1, 0]),
    "space": lambda rng: normal(rng, 5),
    "one point": lambda rng: (normal(rng)[0][:1], normal(rng)[1][:1]),
}


@pytest.mark.parametrize("name", CLOUDS)
def test_shortcut_is_exact(name: str, rng: np.random.Generator) -> None:
    """Against the plain assignment, and against the simplex that serves other masses."""
    a, b = CLOUDS[name](rng)
    cost = cdist(a, b)
    value = emd(a, b)
    assert value == pytest.approx(cost[linear_sum_assignment(cost)].mean(), rel=1e-9, abs=1e-300)
    assert value == pytest.approx(emd(a, b, np.ones(len(a))), rel=1e-9, abs=1e-300)


def test_weighted_atoms_against_linear_programming(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(12, 2)), rng.normal(size=(7, 2))
    p, q = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(7))
    rows = np.kron(np.eye(12), np.ones(7))
    columns = np.kron(np.ones(12), np.eye(7))
    best = linprog(
        cdist(a, b).ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q])
    )
    assert emd(a, b, p, q) == pytest.approx(best.fun, rel=1e-9)
    assert emd(a, b, 5 * p, q / 3) == pytest.approx(best.fun, rel=1e-9)


def test_an_atom_of_double_mass_is_two(rng: np.random.Generator) -> None:
    y, z = rng.normal(size=(20, 2)), rng.normal(size=(4, 2))
    doubled = np.vstack([z, z[:1]])
    assert emd(y, z, other_masses=[2, 1, 1, 1]) == pytest.approx(emd(y, doubled), rel=1e-12)


def test_on_a_line_it_is_sorting(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(50, 1)), rng.normal(size=(80, 1)) + 1
    assert emd(a, b) == pytest.approx(wasserstein_distance(a[:, 0], b[:, 0]), rel=1e-12)


def test_a_shift_costs_its_length(rng: np.random.Generator) -> None:
    a = rng.normal(size=(300, 2))
    assert emd(a, a + np.array([0.3, -0.4])) == pytest.approx(0.5, rel=1e-12)
    assert emd(a, a) == 0
    assert emd(a, a[::-1] + 1) == pytest.approx(emd(a[::-1] + 1, a))


def test_the_published_solver_stops_early(rng: np.random.Generator) -> None:
    """It finds the best transport of few points, and no transport is better than the best."""
    pytest.importorskip("cv2")
    for n, least, most in ((60, 1 - 1e-5, 1 + 1e-5), (500, 1.02, 1.5)):
        points, others = rng.uniform(-1, 1, (2, n, 2))
        assert least < emd_opencv(points, others) / emd(points, others) < most
    atoms, masses = rng.uniform(-1, 1, (9, 2)), rng.dirichlet(np.ones(9))
    points = rng.uniform(-1, 1, (60, 2))
    exact = emd(points, atoms, other_masses=masses)
    assert emd_opencv(points, atoms, masses) == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("masses", [[1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [np.nan] * 3])
def test_bad_masses_are_named(masses: list[float]) -> None:
    with pytest.raises(ValueError, match="masses"):
        emd(np.zeros((3, 2)), np.zeros((2, 2)), masses)


@pytest.mark.parametrize("bad", [np.zeros((0, 2)), [[np.nan, 0.0]], [[np.inf, 0.0], [0.0, 0.0]]])
def test_no_points_and_points_nowhere_are_named(bad: object) -> None:
    for name, sets in (("points", (bad, [[0.0, 0.0]])), ("others", ([[0.0, 0.0]], bad))):
        with pytest.raises(ValueError, match=f"{name}: expected finite points"):
            emd(*sets)
