"""Jobs as Slurm remembers them, and the GPU that trainings on its node take for one."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple


class Submission(NamedTuple):
    """A job as Slurm remembers it."""

    number: str
    asked: str  # what for
    state: str
    partition: str
    gpu: bool
    memory: int  # MB
    minutes: int


def submissions() -> list[Submission]:
    """All jobs that Slurm knows of."""
    shown = subprocess.run(
        ["scontrol", "--oneliner", "show", "job"], capture_output=True, text=True, check=True
    )
    found = []
    for line in shown.stdout.splitlines():
        if "=" not in line:  # there are none
            continue
        facts = dict(re.findall(r"(\w+)=(\S*)", line))
        hours, minutes, _ = facts["TimeLimit"].rpartition("-")[-1].split(":")
        days = int(facts["TimeLimit"].partition("-")[0]) if "-" in facts["TimeLimit"] else 0
        found.append(
            Submission(
                facts["JobId"],
                re.sub(r"_wildcards_.*", "", facts.get("Comment", "")),
                facts["JobState"],
                facts["Partition"],
                "gpu" in facts.get("TresPerJob", "") + facts.get("TresPerNode", ""),
                int(re.findall(r"mem=(\d+)M", facts["TRES"])[0]),
                (24 * days + int(hours)) * 60 + int(minutes),
            )
        )
    return found


def pretend_gpu(tree: Path) -> Path:
    """Makes `cuda` the CPU in a copy of the repository: a pretended GPU cannot compute."""
    pretence = 'def pick_device(name: str) -> torch.device:\n    return torch.device("cpu")'
    with (tree / "src/vwta/training/loop.py").open("a") as file:
        file.write(f"\n\n{pretence}\n")
    return tree
