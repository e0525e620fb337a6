"""The workflow deployed by snakedeploy, from a clone on this machine."""

import re
import subprocess
import sys
from pathlib import Path

from loading import snakemake

RULES = re.compile(r"^(\w+) +(\d+)$", re.MULTILINE)


def count(clone: Path, folder: Path, *arguments: str) -> dict[str, str]:
    """How many jobs of each rule a dry run lists."""
    place = ["--directory", str(folder), "--configfile", str(clone / "config/smoke.yaml")]
    done = snakemake(clone, "--dry-run", "--quiet", "rules", "--cores", "1", *arguments, *place)
    assert done.returncode == 0, done.stdout
    return dict(RULES.findall(done.stdout))


def test_a_deployed_workflow_has_all_jobs(cloud: None, clone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    program = Path(sys.executable).with_name("snakedeploy")
    command = [program, "deploy-workflow", clone, folder, "--branch", "main", "--name", "wta"]
    subprocess.run(command, check=True, capture_output=True)
    assert (folder / "config/config.yaml").is_file()
    assert (folder / "profiles/slurm/config.yaml").is_file()
    snakefile = folder / "workflow/Snakefile"
    text, own = snakefile.read_text(), '"workflow/Snakefile"'
    assert own in text, "snakedeploy names a clone's file as if it were beside the new one"
    snakefile.write_text(text.replace(own, f'"{clone}/workflow/Snakefile"'))
    found = count(clone, folder, "--snakefile", str(snakefile))
    assert found == count(clone, tmp_path / "other")
    assert int(found["total"]) > 100
