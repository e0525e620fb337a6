"""What every script does first: import from this repository's `src`, log to the rule's log."""

import ctypes
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["job"]

# Jobs run the code whose digest their rule carries, whatever else may be installed.
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))
sys.path.append(str(ROOT / "workflow"))

from turns import attend  # noqa: E402

from vwta.io.errors import explained  # noqa: E402


@contextmanager
def job(snakemake) -> Iterator[None]:
    """Sends all that the script says to its log, and keeps torch within the job's threads.

    What a user can mend ends the log with one message, anything else with a traceback.
    """
    terminal = os.dup(sys.stderr.fileno())
    with open(snakemake.log[0], "w") as log:
        for stream in (sys.stdout, sys.stderr):  # for good: a traceback belongs there too
            os.dup2(log.fileno(), stream.fileno())
    attend()
    keep_memory()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", force=True)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(snakemake.threads)
    try:
        with explained(inputs=snakemake.input, outputs=snakemake.output):
            yield
    except SystemExit as end:
        tell(f"{end.code}\n".encode(), terminal)
        sys.exit(1)
    logging.info("done")


def tell(message: bytes, terminal: int) -> None:
    """Ends the log with a message; if it has no room left, it goes to the terminal."""
    try:
        told = os.write(sys.stderr.fileno(), message) == len(message)
    except OSError:
        told = False
    if not told:
        os.write(terminal, message)


def keep_memory() -> None:
    """Lets the process keep what it frees, for the next step of a training to use again.

    glibc would give large tensors back to the system and ask for them anew, page by page, which
    takes a third of the time of a small network.
    """
    trim_threshold, mmap_threshold = -1, -3  # from malloc.h
    with suppress(AttributeError, OSError, TypeError):  # other C libraries have no such settings
        allocator = ctypes.CDLL(None)
        allocator.mallopt(trim_threshold, 2**30)
        allocator.mallopt(mmap_threshold, 2**25)
