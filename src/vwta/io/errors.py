"""What can go wrong with data: each message names the thing, what was found, and the remedy."""

from __future__ import annotations

__all__ = [
    "BadArchive",
    "BadRecording",
    "BadTable",
    "BadWeights",
    "DataError",
    "Mismatch",
    "NoSpace",
    "Unavailable",
]


class DataError(RuntimeError):
    """Data that cannot be used; the message can be shown to a user as it stands."""


class Unavailable(DataError):
    """A file is at none of the places where it may be."""


class NoSpace(DataError):
    """A file does not fit on the disk."""


class Mismatch(DataError):
    """Content that is not the expected one."""


class BadArchive(DataError):
    """An archive that is damaged, or that would do harm when unpacked."""


class BadTable(DataError):
    """A table that cannot be read as numbers."""


class BadRecording(DataError):
    """A recording that cannot be read as expected."""


class BadWeights(DataError):
    """Weights that do not fit the network they are said to be of."""
