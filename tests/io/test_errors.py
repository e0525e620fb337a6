"""Users get one message for what they can fix; bugs and debugging show a traceback."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from vwta.io.errors import BadTable, Interrupted, debugging, explain, explained
from vwta.io.storage import write_table, write_tensors
from vwta.training.loop import pick_device

OUTPUTS = ["results/a/x.parquet", "results/a/y.parquet"]
DIED = "I/O error: No space left on device (os error 28)"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BadTable("mine.csv: no. Remedy: yes"), "mine.csv: no. Remedy: yes"),
        (ValueError("x.csv: twice. Remedy: once"), "x.csv: twice. Remedy: once"),
        (Interrupted("SIGTERM: saved; run again"), "SIGTERM: saved; run again"),
        (KeyboardInterrupt(), "interrupted; run again to continue"),
        (
            FloatingPointError("lower the learning rate (now 1)"),
            "lower the learning rate (now 1). ",
        ),
        (OSError(errno.ENOSPC, "x", "a/b"), "a/b: No space left on device. Remedy: free some"),
        (OSError(errno.ENOSPC, "x"), "results/a: No space left on device. Remedy: free some"),
        (OSError(errno.EDQUOT, "x", "a/b"), "a/b: Disk quota exceeded. Remedy: free some space"),
        (Exception(DIED), "results/a: No space left on device. Remedy: free some space"),
        (OSError("[errno 28] full"), "results/a: No space left on device. Remedy: free some"),
        (PermissionError(errno.EACCES, "x", "a/b"), "a/b: Permission denied. Remedy: check the"),
        (OSError(errno.EROFS, "x", "a/b"), "a/b: Read-only file system. Remedy: check the perm"),
        (MemoryError(), "there is not enough memory. Remedy: run fewer jobs at once"),
        (torch.OutOfMemoryError("CUDA"), "there is not enough memory (CUDA). Remedy: run fewer"),
    ],
)
def test_users_get_a_remedy(error: BaseException, message: str) -> None:
    said = explain(error, outputs=OUTPUTS)
    assert said is not None
    assert said.startswith(message)


@pytest.mark.parametrize(
    "error", [KeyError("K"), ValueError("shape"), AssertionError(), FileNotFoundError(2, "x", "y")]
)
def test_bugs_are_not_explained_away(error: Exception, tmp_path: Path) -> None:
    write_tensors(tmp_path / "good.safetensors", {"a": torch.ones(2)}, {})
    inputs = [tmp_path / "good.safetensors", tmp_path / "none.safetensors", tmp_path]
    assert explain(error, map(str, inputs)) is None
    with pytest.raises(type(error)), explained():
        raise error


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_device_that_is_not_there() -> None:
    with pytest.raises(SystemExit, match=r"device 'cuda': torch sees no GPU.*Remedy"), explained():
        pick_device("cuda")


def test_damaged_inputs_are_found(tmp_path: Path) -> None:
    import pandas as pd

    write_tensors(tmp_path / "a.safetensors", {"a": torch.ones(9)}, {})
    write_table(tmp_path / "b.parquet", pd.DataFrame({"a": [1.0]}), {})
    np.save(tmp_path / "c.npy", np.ones(9))
    paths = sorted(tmp_path.iterdir())
    for path in paths:
        whole = path.read_bytes()
        path.write_bytes(whole[:-5])
        said = explain(RuntimeError("whatever a library says"), map(str, paths))
        assert said is not None
        assert said.startswith(f"{path} is damaged: ")
        assert "Remedy: delete it" in said
        path.write_bytes(whole)


@pytest.mark.parametrize(("value", "debug"), [("", False), ("0", False), ("1", True)])
def test_environment_asks_for_tracebacks(
    value: str, debug: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VWTA_DEBUG", value)
    assert debugging() is debug
    with pytest.raises(BadTable if debug else SystemExit), explained("plan"):
        raise BadTable("no. Remedy: yes")
    with pytest.raises(SystemExit, match=r"plan: no\. Remedy"), explained("plan", debug=False):
        raise BadTable("no. Remedy: yes")


SCRIPT = """
import logging
from types import SimpleNamespace
from vwta.io.errors import BadTable
from vwta.workflow.job import job
with job(SimpleNamespace(log=["log.txt"], input=[], output=["out/x"], threads=1)):
    logging.info("working")
    %s
"""


@pytest.mark.parametrize(
    ("line", "debug", "last", "traced"),
    [
        ("pass", "", "done", False),
        ("raise BadTable('x.csv: no. Remedy: yes')", "", "x.csv: no. Remedy: yes", False),
        ("raise BadTable('x.csv: no. Remedy: yes')", "1", "x.csv: no. Remedy: yes", True),
        ("1 / 0", "", "ZeroDivisionError: division by zero", True),
    ],
)
def test_log_of_a_job(line: str, debug: str, last: str, traced: bool, tmp_path: Path) -> None:
    env = {**os.environ, "VWTA_DEBUG": debug}
    command = [sys.executable, "-c", SCRIPT % line]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert (done.returncode == 0) is (line == "pass")
    log = (tmp_path / "log.txt").read_text().splitlines()
    assert log[0].endswith("working")
    assert log[-1].endswith(last)
    assert ("Traceback (most recent call last):" in log) is traced
    if not traced:
        assert len(log) == 2
