"""Many random laws in one test: what was wrong, by how much, and how to repeat one case alone."""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pytest

CASES = int(os.environ.get("CASES", "300"))  # laws in all spaces together
ALONE = os.environ.get("CASE", "")  # space/category/seed
SHARES = {"plane": 0.42, "line": 0.25, "sphere": 0.14, "solid": 0.12, "space": 0.07}
SHOWN = 5  # failures that a message lists
T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """A number of the library beside the one it should be."""

    what: str
    found: float
    expected: float
    tolerance: float

    @property
    def excess(self) -> float:
        """Error in units of the tolerance; at most 1 is right."""
        if self.found == self.expected:
            return 0.0
        error = abs(self.found - self.expected)
        return error / self.tolerance if math.isfinite(error) else math.inf

    def __str__(self) -> str:
        error = abs(self.found - self.expected)
        return (
            f"{self.what}: {self.found:.10g}, expected {self.expected:.10g}, "
            f"off by {error:.2g}, allowed {self.tolerance:.2g}"
        )


def _seeds(space: str, category: str, categories: int) -> Iterable[int]:
    """Seeds of a category's cases: its share of all, or the one that is asked for."""
    if ALONE:
        wanted, seed = ALONE.rsplit("/", 1)
        return [int(seed)] if wanted == f"{space}/{category}" else []
    return range(max(1, round(CASES * SHARES[space] / categories)))


def mistakes(
    space: str,
    category: str,
    categories: int,
    law: Callable[[str, int], T],
    check: Callable[[T], Iterator[Found]],
    outside: float = 0.0,
) -> str:
    """What a check finds wrong in a category's laws, with how to repeat it; empty if all is right.

    Arguments:
        law: makes a law from its category and seed.
        check: compares a law with its reference.
        outside: share of the numbers that may be off by more than their tolerance, but for chance.
    """
    numbers, wrong = 0, []
    for seed in _seeds(space, category, categories):
        try:
            found = list(check(law(category, seed)))
        except (ArithmeticError, AssertionError, RuntimeError, ValueError) as error:
            numbers += 1
            wrong.append((math.inf, seed, f"{type(error).__name__}: {error}"))
            continue
        numbers += len(found)
        wrong += [(x.excess, seed, str(x)) for x in found if x.excess > 1]
    if not numbers:
        pytest.skip("another case is asked for" if ALONE else "nothing to compare")
    few = outside * numbers
    if len(wrong) <= few + 2 * math.sqrt(few):  # by chance in one of fifty
        return ""
    wrong.sort(key=lambda x: -x[0])
    laws = len({seed for _, seed, _ in wrong})
    lines = [f"{len(wrong)} of {numbers} numbers are wrong, in {laws} laws. The worst:"]
    for _, seed, text in wrong[:SHOWN]:
        lines += [f"  {text}", f"    repeat: CASE='{space}/{category}/{seed}' pytest tests/fuzz"]
    return "\n".join(lines)
