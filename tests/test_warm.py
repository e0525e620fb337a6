"""The warm Python of tests does what Python does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loading import environment
from warm import python

PROGRAMS = {
    "ends": "print('done')",
    "status": "raise SystemExit(3)",
    "message": "raise SystemExit('no such file')",
    "error": "1 / 0",
    "arguments": "import sys; print(sys.argv[1:], __name__)",
    "place": "import os; print(os.getcwd(), os.environ['PLACE'])",
    "source": "from vwta import seeds; print(seeds.__file__)",
    "at the end": "import atexit; atexit.register(print, 'end')",
    "threads": "import threading; threading.Timer(0.1, print, ['late']).start()",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_outcome(name: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[name])
    (tmp_path / "src/vwta").mkdir(parents=True)
    for module in ("__init__", "seeds"):
        (tmp_path / f"src/vwta/{module}.py").touch()

    def outcome(*command: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [*command, str(program), "two words", ""],
            cwd=tmp_path,
            env=environment(tmp_path, PLACE="here"),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, (done.stderr.splitlines() or [""])[-1]

    assert outcome(*python()) == outcome(sys.executable)


def test_killed_with_its_group(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    command = [*python(), str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        assert process.stdout is not None
        fork = int(process.stdout.readline())
        assert os.getpgid(fork) == process.pid != fork
        os.killpg(process.pid, signal.SIGKILL)
    end = time.monotonic() + 30
    while Path(f"/proc/{fork}").exists() and is_alive(fork):
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(process: int) -> bool:
    return " Z " not in Path(f"/proc/{process}/stat").read_text()
