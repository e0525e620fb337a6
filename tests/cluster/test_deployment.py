"""The workflow deployed by snakedeploy, from an address and from a clone on this machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

from loading import hosted, snakemake

PROGRAM = Path(sys.executable).with_name("snakedeploy")
RULES = re.compile(r"^(\w+) +(\d+)$", re.MULTILINE)


def count(clone: Path, folder: Path, *arguments: str, **variables: str) -> dict[str, str]:
    """How many jobs of each rule a dry run lists."""
    place = ["--directory", str(folder), "--configfile", str(clone / "config/smoke.yaml")]
    options = ["--dry-run", "--quiet", "rules", "--cores", "1", *arguments, *place]
    done = snakemake(clone, *options, **variables)
    assert done.returncode == 0, done.stdout
    return dict(RULES.findall(done.stdout))


def test_a_workflow_from_an_address_has_all_jobs(cloud: None, clone: Path, tmp_path: Path) -> None:
    """As it was deployed: nothing is edited, and there is no clone."""
    variables = hosted(clone, tmp_path / "host")
    folder, address = tmp_path / "mine", "https://github.com/someone/wta"
    command = [PROGRAM, "deploy-workflow", address, folder, "--tag", "v1", "--name", "wta"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **variables})
    found = count(clone, folder, "--snakefile", str(folder / "workflow/Snakefile"), **variables)
    assert found == count(clone, tmp_path / "other")


def test_a_deployed_workflow_has_all_jobs(cloud: None, clone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    command = [PROGRAM, "deploy-workflow", clone, folder, "--branch", "main", "--name", "wta"]
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
