"""Jobs that may lack data: they end with a note in place of an error."""

from __future__ import annotations

__all__ = ["tolerated"]

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vwta.io.errors import DataError, explain


@contextmanager
def tolerated(output: Any) -> Iterator[None]:
    """Turns an error of a job into a note, if the job has an output `note`.

    The note is JSON: why each other output could not be made, by its folder and its name without
    the suffix, as in `figures/cells`. It is empty if all is well; if not, all other outputs are
    empty files. Errors of the system, such as a full disk, are no lack of data and end the job.

    Arguments:
        output: the job's, as Snakemake gives it to a script.
    """
    note = output.get("note")
    if note is None:
        yield
        return
    missing = {}
    try:
        yield
    except (OSError, MemoryError, DataError):
        raise
    except Exception as error:  # whatever a function makes of rows that are not there
        traceback.print_exc()
        why = explain(error) or traceback.format_exception_only(error)[-1].strip()
        others = [Path(file) for file in output if file != note]
        missing = {f"{file.parent.name}/{file.stem}": why for file in others}
        for file in others:
            file.write_bytes(b"")
    Path(note).write_text(json.dumps(missing), encoding="utf-8")
