"""Requirements that a lock file lacks."""

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def unpinned(
    lines: Iterable[str], locked: Mapping[str, str], elsewhere: re.Pattern[str]
) -> list[str]:
    """Of requirements, and of what these need in turn with the extras asked for, those without a
    pin that fits, in words.

    Arguments:
        lines: the requirements.
        locked: version of each package that is pinned.
        elsewhere: names of packages that need no pin.
    """
    waiting = [("pyproject.toml", Requirement(line)) for line in lines]
    met: set[tuple[str, frozenset[str]]] = set()
    found = []
    while waiting:
        asker, requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        wanted = (name, frozenset(requirement.extras))
        if elsewhere.match(name) or wanted in met:
            continue
        met.add(wanted)
        if name not in locked:
            found.append(f"{asker} needs {requirement}, which has no pin: call `make lock`")
            continue
        if not requirement.specifier.contains(locked[name], prereleases=True):
            found.append(f"{asker} needs {requirement}, but {locked[name]} is locked")
        for line in requires(name) or []:
            further = Requirement(line)
            chosen = [{"extra": extra} for extra in ("", *requirement.extras)]
            if further.marker is None or any(map(further.marker.evaluate, chosen)):
                waiting.append((name, further))
    return found
