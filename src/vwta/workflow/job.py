"""The first and last steps of every script: its log, its lock, its threads, its last message."""

from __future__ import annotations

__all__ = ["job"]

import ctypes
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from vwta.io.errors import explained
from vwta.workflow.lock import attend
from vwta.workflow.networks import check_networks


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Sends all output of a script to its log, and keeps torch within the job's threads.

    Networks among its inputs must be those that their paths say. An error that a user can mend ends
    the log with one message, any other with a traceback.

    Arguments:
        snakemake: the object of this name that Snakemake gives to scripts.
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
            check_networks(snakemake.input, getattr(snakemake.input, "data", None))
            yield
    except SystemExit as end:
        end_log(f"{end.code}\n".encode(), terminal)
        sys.exit(1)
    logging.info("done")


def end_log(message: bytes, terminal: int) -> None:
    """Ends the log of a script with a message; if the disk is full, the terminal gets it."""
    try:
        written = os.write(sys.stderr.fileno(), message) == len(message)
    except OSError:
        written = False
    if not written:
        os.write(terminal, message)


def keep_memory() -> None:
    """Lets the process of a script keep the memory that it frees, for a training's next step.

    glibc would give large tensors back to the system and ask for them again, page by page, which
    takes a third of the time of a small network.
    """
    trim_threshold, mmap_threshold = -1, -3  # from malloc.h
    with suppress(AttributeError, OSError, TypeError):  # other C libraries have no such settings
        allocator = ctypes.CDLL(None)
        allocator.mallopt(trim_threshold, 2**30)
        allocator.mallopt(mmap_threshold, 2**25)
