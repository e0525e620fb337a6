"""Files of trained weights, and what to say of one that does not fit the network it names."""

from __future__ import annotations

__all__ = ["restored_from"]

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vwta.io.errors import BadWeights


@contextmanager
def restored_from(path: Path) -> Iterator[None]:
    """Turns errors about the weights of a file, or what it says of them, into :class:`BadWeights`.

    Arguments:
        path: the file whose network the body restores.

    Example:
        >>> with restored_from(Path("seed1.safetensors")):
        ...     {}["network"]
        Traceback (most recent call last):
        ...
        vwta.io.errors.BadWeights: seed1.safetensors has no network to restore: 'network'. ...
    """
    try:
        yield
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise BadWeights(
            f"{path} has no network to restore: {why}. "
            "Remedy: delete it and run again, and it is trained anew"
        ) from error
