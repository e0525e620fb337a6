"""Make `.venv` from requirements.lock and install the project into it, once.

Snakemake starts interpreters through a shell, so the path of the environment must be one that a
shell reads as it stands. If that of this folder is not, the environment is made in the user's
folder for caches, and `.venv` is a link to it.

A stamp inside `.venv` remembers, by content, what was installed; while it matches, a call only
checks. Needs nothing but Python's standard library.

Usage: python envs/bootstrap.py [NAME ...]   (with what requirements-NAME.lock adds: cluster, ...)
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

# Stands in the stamp while packages go in: whoever finds it knows that a set-up was cut short.
UNFINISHED = "unfinished\n"

# Runs inside .venv: are the locked versions, and this very copy of the project, installed there?
PROBE = """
import sys
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
key = lambda name: name.lower().replace("_", "-").replace(".", "-")
found = {key(d.name): d.version.split("+")[0] for d in distributions()}
wanted = dict(pin.split("==") for pin in sys.argv[2:])
wrong = [name for name in wanted if found.get(key(name)) != wanted[name]]
spec = find_spec("vwta")
folders = spec.submodule_search_locations if spec else []
if not any(Path(folder).is_relative_to(sys.argv[1]) for folder in folders):
    wrong.append("vwta")
sys.exit(", ".join(wrong) or 0)
"""

PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
HASHED = ("--no-deps", "--require-hashes")

# Paths that a shell reads as they stand, and that can be part of PATH.
SAFE = re.compile(r"[\w./+@%=,-]+")

# Messages of pip, and for each its meaning and the remedy. The first match counts.
REMEDIES = (
    (
        r"No space left|Errno 28|Disk quota",
        "the disk is full. Remedy: free about 3 GB (10 GB where torch brings CUDA) here and in "
        "the temporary folder, or set TMPDIR to a larger one",
    ),
    (
        r"DO NOT MATCH THE HASHES|--require-hashes mode",
        "a file is none of those that the lock knows. Remedy: check pip's index settings (`pip "
        "config list`); if you trust the file, such as another build of torch, add the "
        "hash that `pip hash FILE` gives below its package in the lock",
    ),
    (
        r"[Rr]equires? a different [Pp]ython|Requires-Python|from versions: [^n]",
        "a locked version is not offered for this Python and system. Remedy: use Python 3.11 "
        "(`make PYTHON=python3.11 ...`) or check pip's index settings (`pip config list`)",
    ),
    (
        r"resolution|[Cc]onnection|[Tt]imed? ?out|unreachable|Proxy|SSL|from versions: none",
        "packages could not be downloaded. Remedy: check the network and pip's index and proxy "
        "settings (`pip config list`), then call make again",
    ),
    (r"", "see what it said above. Remedy: delete the folder .venv and call make again"),
)


def pins(lock: Path) -> list[str]:
    """Return the `name==version` lines of a lock file."""
    text = lock.read_text().replace("\\\n", " ")
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return [words[0] for words in lines if words]


def environment(root: Path) -> Path:
    """Return where the environment is: `.venv`, or a folder whose path a shell can read."""
    if SAFE.fullmatch(str(root)):
        return root / ".venv"
    home = os.environ.get("HOME")
    cache = os.environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    if "\n" in str(root) or not SAFE.fullmatch(cache) or not os.path.isabs(cache):
        sys.exit(
            f"set-up: the path of this folder, {str(root)!r}, has characters that a shell does not "
            "read as they stand, and Snakemake starts interpreters through a shell. Nothing was "
            "installed. Remedy: move the folder, or set XDG_CACHE_HOME to a path of letters, "
            "digits and ./_+@%=,- where the environment can be made."
        )
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return Path(cache, "vwta", name)


def link(root: Path) -> None:
    """Make `.venv` lead to the environment, if that is elsewhere."""
    place, shown = environment(root), root / ".venv"
    if place == shown or (shown.is_symlink() and shown.readlink() == place):
        return
    if shown.is_dir() and not shown.is_symlink():
        shutil.rmtree(shown)  # an environment that came with the folder from elsewhere
    shown.unlink(missing_ok=True)
    place.mkdir(parents=True, exist_ok=True)
    shown.symlink_to(place)


def digest(root: Path) -> str:
    """Return what the stamp says once all is installed: the contents, and where the project is."""
    state = hashlib.sha256(os.fsencode(root))
    for name in ("requirements.lock", "pyproject.toml"):
        state.update((root / name).read_bytes())
    return state.hexdigest() + "\n"


def read_stamp(root: Path) -> str:
    """Return the stamp's text, "" if there is none."""
    with contextlib.suppress(OSError):
        return (environment(root) / "stamp").read_text()
    return ""


def run(python: Path | str, *arguments: str) -> str | None:
    """Run a Python, shielded from the user's own packages; return what it said if it failed."""
    try:
        done = subprocess.run(
            [python, "-I", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "PIP_USER": "0"},
            close_fds=False,  # see `wait_for_lock`
        )
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr + done.stdout


def is_ready(root: Path) -> bool:
    """Whether `.venv` works and holds what the lock and pyproject.toml ask for."""
    if read_stamp(root) != digest(root):
        return False
    wanted = pins(root / "requirements.lock")
    return run(environment(root) / "bin/python", "-c", PROBE, str(root), *wanted) is None


def install(root: Path) -> None:
    """Bring `.venv` up to the lock; start from scratch if it is broken or half made."""
    link(root)
    place = environment(root)
    python = place / "bin/python"
    broken = run(python, "-m", "pip", "--version") is not None
    if broken or read_stamp(root) == UNFINISHED:
        stop_on(run(sys.executable, "-m", "venv", "--clear", str(place)), "venv")
    stamp = place / "stamp"
    stamp.write_text(UNFINISHED)
    lock = root / "requirements.lock"
    with tempfile.TemporaryDirectory() as folder:
        install_torch(python, lock, Path(folder))
    stop_on(run(python, *PIP, *HASHED, "-r", str(lock)), "pip")
    # Torch's CUDA packages, and what other systems need besides: exact versions, no hashes.
    stop_on(run(python, *PIP, *pins(lock)), "pip")
    stop_on(run(python, *PIP, "--no-deps", "--no-build-isolation", "-e", str(root)), "pip")
    stamp.write_text(digest(root))


def install_torch(python: Path, lock: Path, folder: Path) -> None:
    """Install the build of torch that pip's settings name, if its hash is in the lock.

    By hash alone pip would take a file from an index, which states hashes, before one of the
    user's own folder: the build with CUDA, of several gigabytes, in place of one for CPUs.
    """
    wheels, part = folder / "wheels", folder / "torch.lock"
    for entry in re.findall(r"^torch==(?:.*\\\n)*.*", lock.read_text(), re.MULTILINE):
        part.write_text(entry)
        torch = ("--no-deps", "--dest", str(wheels), entry.split()[0])
        stop_on(run(python, "-m", "pip", "download", *PIP[3:], *torch), "pip")
        local = ("--no-index", "--find-links", str(wheels))
        stop_on(run(python, *PIP, *HASHED, *local, "-r", str(part)), "pip")


def add(root: Path, name: str) -> None:
    """Add what the lock of a name holds to `.venv`, unless it is there; the stamp stays true."""
    lock, python = root / f"requirements-{name}.lock", environment(root) / "bin/python"
    if run(python, "-c", PROBE, str(root), *pins(lock)) is not None:
        print(f"set-up: adding {lock.name} to .venv", flush=True)
        stop_on(run(python, *PIP, *HASHED, "-r", str(lock)), "pip")


def stop_on(said: str | None, tool: str) -> None:
    """End with the last lines of a tool that failed, and the remedy."""
    if said is None:
        return
    # Addresses of package indexes may carry passwords: never repeat them.
    said = re.sub(r"\w+://\S+|host='[^']*'", "<address>", said).strip()
    remedy = next(remedy for pattern, remedy in REMEDIES if re.search(pattern, said))
    sys.exit("\n".join([*said.splitlines()[-5:], f"set-up: {tool} failed: {remedy}."]))


def wait_for_lock(lock: TextIO) -> None:
    """Wait until no other set-up works in this folder, nor a pip that outlived one."""
    os.set_inheritable(lock.fileno(), True)  # pip holds the lock too
    with contextlib.suppress(OSError):  # some network disks know no locks
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("set-up: waiting for another set-up of this folder to end", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)


def main(root: Path, *more: str) -> None:
    """Set the environment up unless it is ready, and add the locks of some names."""
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            sys.exit(
                f"set-up: {sys.executable} lacks its module `{module}`. Remedy: install it "
                "(Debian, Ubuntu: `apt install python3-venv`) or use another Python "
                "(`make PYTHON=/path/to/python3 ...`)."
            )
    environment(root)  # refuses a path in which nothing would work
    with open(root / "requirements.lock") as lock:
        wait_for_lock(lock)
        if not is_ready(root):
            print(
                "set-up: installing requirements.lock into .venv; the first time takes minutes",
                flush=True,
            )
            start = time.monotonic()
            install(root)
            print(f"set-up: done in {time.monotonic() - start:.0f} s")
        for name in more:
            add(root, name)


if __name__ == "__main__":
    try:
        main(Path(__file__).resolve().parents[1], *sys.argv[1:])
    except OSError as error:
        stop_on(str(error), "writing .venv")
    except KeyboardInterrupt:
        sys.exit("set-up: interrupted; the next call starts it again")
