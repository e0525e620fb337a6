"""Networks of all splits of a data set, as a script of the UCI study reads them."""

from __future__ import annotations

__all__ = ["networks_of_splits"]

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from vwta.io.bundles import unbundled


@contextmanager
def networks_of_splits(snakemake: Any) -> Iterator[dict[str, list[Path]]]:
    """Files of the networks of each model, in the order of splits, unpacked for a while.

    Arguments:
        snakemake: the object of this name that Snakemake gives to scripts. Its inputs have the
            bundle of each model, its parameters say how many `splits` there are.
    """
    with ExitStack() as stack:
        networks = {}
        for model, count in snakemake.params.splits.items():
            folder = stack.enter_context(unbundled(Path(snakemake.input[model])))
            networks[model] = [folder / f"split{split}.safetensors" for split in range(count)]
        yield networks
