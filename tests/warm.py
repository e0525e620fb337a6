"""Python that is warm: a server imports what takes long to import once, and forks for each command.

Most of the time of a small job goes into importing torch, its optimisers, pandas and matplotlib.
Modules of vwta are imported by each command anew, so that it may run in a copy of the repository.

Usage: python tests/warm.py SOCKET ARGUMENT ...   does what `python ARGUMENT ...` does
"""

import contextlib
import functools
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

SLOW = (
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.pyplot",
    "ot",
    "pandas",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.stats",
    "sklearn.datasets",
    "torch._dynamo",
    "jsonschema",
    "nbformat",
    "requests",
    "smart_open",
    "snakemake.cli",
    "yte",
)
SERVE = "--serve"
SOURCES = Path(__file__).parents[1] / "src"
DIGEST = "vwta/workflow/digest.py"
FRESH = "FIRST_JOBS_ARE_FRESH"  # a variable; if it is set, the first job of each rule is not warm
INTERPRETER = "WARM_INTERPRETER"  # a variable; the program that commands take for their Python
asking: dict[int, socket.socket] = {}  # who waits for the end of a process of the server
known: dict[str, Any] = {}  # what texts of modules do: to find that takes half of a dry run


@functools.cache
def python() -> tuple[str, ...]:
    """The command for a warm Python, whose server ends with this process."""
    import atexit
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="warm"))
    command = (sys.executable, "-I", __file__, str(folder / "socket"))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    server = subprocess.Popen(
        [*command, SERVE],
        stdin=subprocess.PIPE,  # until it is closed, with this process at the latest
        stdout=subprocess.PIPE,
        env={**os.environ, **threads},
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"

    @atexit.register
    def end() -> None:
        server.communicate()
        shutil.rmtree(folder)

    return (sys.executable, "-I", "-S", *command[2:])


def ask(place: str, arguments: list[str]) -> int:
    """Has the server run a command in place of this process, within its group of processes."""
    variables = (f"{name}={text}" for name, text in os.environ.items())
    parts = [os.getcwd(), str(len(arguments)), *arguments, *variables]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        socket.send_fds(connection, [b"%d" % os.getpgrp()], [0, 1, 2])
        connection.recv(1)  # from then on, who kills the group kills the command
        connection.sendall("\0".join([*parts, "end"]).encode("utf-8", "surrogateescape"))
        connection.shutdown(socket.SHUT_WR)
        status = connection.recv(8)
    return int(status or b"1")


def serve(place: str) -> None:
    """Runs the commands of all who ask, until standard input ends."""
    import gc
    import select
    import signal
    from importlib import import_module

    for name in SLOW:
        import_module(name)
    prepare_snakemake(place)
    prepare_digests()
    signal.signal(signal.SIGCHLD, reap)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen(64)
        print("ready", flush=True)
        while server in select.select([server, sys.stdin], [], [])[0]:
            connection, _ = server.accept()
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
            if not (child := os.fork()):
                server.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
                break
            asking[child] = connection
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        else:
            return
    for other in asking.values():
        other.close()
    run(connection)


def reap(*_: object) -> None:
    """Tells who asked with what status their commands have ended."""
    while asking:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        code = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(BrokenPipeError), asking.pop(child) as connection:
            connection.sendall(b"%d" % (code if code >= 0 else 128 - code))


def prepare_snakemake(place: str) -> None:
    """Lets Snakemake import its plugins, and run scripts by a warm Python."""
    from snakemake.cli import get_argument_parser
    from snakemake.script import PythonScript

    client = " ".join([sys.executable, "-I", "-S", __file__, place])
    rules: set[str] = set()  # of jobs that have begun

    def execute_script(self: PythonScript, fname: str, edit: bool = False) -> None:
        fresh = FRESH in os.environ and self.rulename not in rules
        rules.add(self.rulename)
        command = f"{sys.executable if fresh else client} {{fname:q}}"
        self._execute_cmd(command, fname=fname, is_python_script=True)

    get_argument_parser()
    PythonScript.execute_script = execute_script


def prepare_digests() -> None:
    """Reads all modules of this repository as digests do."""
    import runpy

    read = runpy.run_path(str(SOURCES / DIGEST))["_read"]
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        known[text] = read(text)


def share_digests(place: Path) -> None:
    """Lets a copy of the repository use what was read, if it makes digests by the same code."""
    if (place / DIGEST).is_file() and (place / DIGEST).read_text(encoding="utf-8") in known:
        from vwta.workflow import digest

        read = digest._read
        digest._read = lambda text: known.get(text) or read(text)


def run(connection: socket.socket) -> NoReturn:
    """Becomes the command of who asks, in the group of processes of that one."""
    group, streams, _, _ = socket.recv_fds(connection, 32, 3)
    with contextlib.suppress(PermissionError):  # who asks belongs to another session
        os.setpgid(0, int(group))
    connection.sendall(b"!")
    text = b""
    while part := connection.recv(2**16):
        text += part
    connection.close()
    *parts, end = text.decode("utf-8", "surrogateescape").split("\0")
    if end != "end":  # who asked was killed
        os._exit(1)
    place, count, *rest = parts
    arguments, variables = rest[: int(count)], rest[int(count) :]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(place)
    os.environ.clear()
    os.environ.update(entry.split("=", 1) for entry in variables)
    become(arguments)


def become(arguments: list[str]) -> NoReturn:
    """Does what Python does with arguments, and ends without taking its modules apart."""
    import atexit
    import threading
    import traceback

    try:
        execute(arguments)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        status = 1
        traceback.print_exc()
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status & 0xFF)


def execute(arguments: list[str]) -> None:
    """Runs a module or a file."""
    import random
    import runpy

    random.seed()
    sys.executable = os.environ.get(INTERPRETER, sys.executable)
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in own if path]
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        if sys.argv[0] == "snakemake":
            share_digests(Path("src"))
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[2:] == [SERVE]:
        serve(sys.argv[1])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
