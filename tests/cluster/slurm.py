"""A real Slurm on this machine, for a while: one node, and a GPU that is not there.

Usage: python tests/cluster/slurm.py COMMAND [ARGUMENT ...]   (as root: start it, run this, stop it)

Its state and its own munge live in a temporary folder. Slurm reads its settings from one place
only, /etc/slurm: the two files there are removed in the end, and nothing is started where they are.
"""

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = Path("/etc/slurm/slurm.conf")
DEVICES = Path("/etc/slurm/gres.conf")
MARK = "# Made by tests/cluster/slurm.py, which removes it.\n"
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "setpriv")
PACKAGES = "slurmctld slurmd slurm-client munge"
PATIENCE = 30  # seconds until it must be up


def obstacle(settings: Path = SETTINGS) -> str | None:
    """Why no Slurm can be started here, None if it can."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [name for name in COMMANDS if shutil.which(name, path=path) is None]
    if missing:
        return f"no {', '.join(missing)} here (Debian, Ubuntu: apt-get install {PACKAGES})"
    if os.geteuid() != 0:
        return "only root may start Slurm"
    if settings.exists() and (not settings.read_text().startswith(MARK) or answers()):
        return f"a Slurm is configured here already: {settings}"
    return None


def answers() -> bool:
    """Whether a controller is there."""
    return "is UP" in said("scontrol", "ping")


@contextmanager
def slurm() -> Iterator[Path]:
    """Starts Slurm and stops it; gives the file with a line for each job that has ended."""
    if reason := obstacle():
        raise RuntimeError(f"Slurm is not started: {reason}")
    folder = Path(tempfile.mkdtemp(prefix="slurm"))
    running: list[subprocess.Popen[bytes]] = []
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        SETTINGS.parent.mkdir(exist_ok=True)
        SETTINGS.write_text(MARK + settings(folder))
        DEVICES.write_text(f"{MARK}NodeName={node()} Name=gpu File=/dev/null\n")
        start(folder, running)
        yield folder / "ended"
    finally:
        end_jobs()
        for process in reversed(running):
            stop(process)
        signal.signal(signal.SIGTERM, before)
        for file in (SETTINGS, DEVICES):
            file.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def start(folder: Path, running: list[subprocess.Popen[bytes]]) -> None:
    """Starts the daemons as children, which end if this process does, and waits for the node."""
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o400)
    own = [f"--{name}-file={folder}/{name}" for name in ("key", "pid", "log", "seed")]
    munge = ["munged", "--foreground", "--force", f"--socket={folder}/socket", *own]
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    for command in (munge, ["slurmctld", "-D"], ["slurmd", "-D"]):
        with (folder / f"{command[0]}.said").open("wb") as words:
            child = ["setpriv", "--pdeathsig", "TERM", *command]
            running.append(subprocess.Popen(child, stdout=words, stderr=words, env=environment))
        time.sleep(0.5)
    end = time.monotonic() + PATIENCE
    while "idle" not in (state := said("sinfo", "--noheader", "--format", "%T")):
        if time.monotonic() > end:
            logs = [f"{file.name}: {file.read_text()[-500:]}" for file in folder.glob("*.said")]
            raise RuntimeError("\n".join([f"Slurm's node is not idle but {state!r}", *logs]))
        time.sleep(0.2)


def end_jobs() -> None:
    """Cancels what still runs, and waits until it is gone."""
    states = ["--states", "RUNNING,PENDING,COMPLETING"]
    subprocess.run(["scancel", "--user", "root"], capture_output=True)
    end = time.monotonic() + 2 * PATIENCE
    while said("squeue", "--noheader", *states) and time.monotonic() < end:
        time.sleep(0.5)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a child, softly if it lets us."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def said(*command: str) -> str:
    """The output of a command; nothing if it fails."""
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def node() -> str:
    return platform.node().split(".")[0]


def settings(folder: Path) -> str:
    """Without a database, cgroups and systemd; two cores and the memory of larger nodes."""
    for name in ("controller", "node"):
        (folder / name).mkdir()
    return f"""\
ClusterName=test
SlurmctldHost={node()}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/socket
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=3600
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/ended
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
GresTypes=gpu
NodeName={node()} NodeAddr=127.0.0.1 CPUs=2 RealMemory=32000 Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes={node()} Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes={node()} MaxTime=INFINITE State=UP
"""


if __name__ == "__main__":
    with slurm():
        code = subprocess.run(sys.argv[1:] or ["sinfo"]).returncode
    sys.exit(code)
