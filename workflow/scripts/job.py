"""What every script does first: import from this repository's `src`, log to the rule's log."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["job"]

# Jobs run the code whose digest their rule carries, whatever else may be installed.
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))
sys.path.append(str(ROOT / "workflow"))

from turns import attend  # noqa: E402

from vwta.failures import explained  # noqa: E402


@contextmanager
def job(snakemake) -> Iterator[None]:
    """Sends all that the script says to its log, and keeps torch within the job's threads.

    What a user can mend ends the log with one message, anything else with a traceback.
    """
    with open(snakemake.log[0], "w") as log:
        for stream in (sys.stdout, sys.stderr):  # for good: a traceback belongs there too
            os.dup2(log.fileno(), stream.fileno())
    attend()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", force=True)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(snakemake.threads)
    with explained(inputs=snakemake.input, outputs=snakemake.output):
        yield
    logging.info("done")
