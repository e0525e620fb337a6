"""Files in a storage, and nodes that share no disk: in a folder, and in an S3 of this machine."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from loading import environment, snakemake

from vwta.io.storage import read_metadata, read_table, read_tensors

RUN = "results/smoke/synthetic/paper/single_gaussian"
DATA = f"{RUN}/data.safetensors"
NETWORK = f"{RUN}/hist/K9/seed1234.safetensors"
DISTANCES = f"{RUN}/hist/K9/emd_seed1234.parquet"
SMOKE = ["--configfile", "config/smoke.yaml"]
# A node: an empty folder, few variables, and no way to see the folder in which Snakemake runs.
SUBMIT = """\
#!/bin/sh
set -eu
node=$(mktemp -d {nodes}/XXXXXX)
mkdir "$node/home" "$node/place"
cp "$1" "$node/job"
alone="{alone}"
env -i PATH="$PATH" HOME="$node/home" OMP_NUM_THREADS=1 $alone \
sh -c 'cd "$0/place" && sh ../job; echo $? > ../code' "$node" > "$node/said" 2>&1 &
basename "$node"
"""
HIDE = """\
#!/bin/sh
mount -t tmpfs none {tree} && exec "$@"
"""
STATUS = """\
#!/bin/sh
case $(cat {nodes}/$1/code 2> /dev/null) in
"") echo running ;;
0) echo success ;;
*) echo failed ;;
esac
"""


def write_script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def same(one: Path, other: Path) -> bool:
    """Whether two files of results hold the same numbers, to the bit."""
    if one.suffix == ".parquet":
        return read_table(one).equals(read_table(other))
    (ours, _), (theirs, _) = read_tensors(one), read_tensors(other)
    equal = [torch.equal(ours[name], theirs[name]) for name in ours.keys() & theirs.keys()]
    return ours.keys() == theirs.keys() and all(equal)


@pytest.fixture(scope="module")
def local(
    plugins: None,
    asked: None,
    tmp_path_factory: pytest.TempPathFactory,
    copy_repository: Callable[[Path], Path],
) -> Path:
    """A folder in which the files were made without a storage."""
    folder = copy_repository(tmp_path_factory.mktemp("local") / "tree")
    done = snakemake(folder, *SMOKE, "--cores", "1", "--", DISTANCES)
    assert done.returncode == 0, done.stdout
    return folder


def test_nodes_without_a_shared_disk_give_the_same_bits(
    clone: Path, local: Path, tmp_path: Path
) -> None:
    if shutil.which("rsync") is None:
        pytest.skip("not tested: no rsync, with which the storage plugin copies files")
    nodes, store = tmp_path / "nodes", tmp_path / "store"
    nodes.mkdir()
    store.mkdir()
    hide = write_script(tmp_path / "hide.sh", HIDE.format(tree=clone))
    alone = ["unshare", "--mount", hide]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        alone = []  # only root may hide a folder
    submit = write_script(tmp_path / "submit.sh", SUBMIT.format(nodes=nodes, alone=" ".join(alone)))
    status = write_script(tmp_path / "status.sh", STATUS.format(nodes=nodes))
    options = {
        "--workflow-profile": "profiles/cluster-generic",
        "--cluster-generic-submit-cmd": submit,
        "--cluster-generic-status-cmd": status,
        "--default-storage-provider": "fs",
        "--default-storage-prefix": str(store),
        "--precommand": "export PYTHONPATH=src",
        "--retries": "0",
        "--seconds-between-status-checks": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *SMOKE]
        + [word for option in options.items() for word in option]
        + ["--shared-fs-usage", "none", "--job-deploy-sources", "--", DISTANCES],
        cwd=clone,
        env=environment(clone),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    said = "".join(path.read_text() for path in nodes.glob("*/said"))
    assert done.returncode == 0, done.stdout + said
    assert len(list(nodes.iterdir())) == 3
    assert len(list(nodes.glob("*/place/src/vwta/__init__.py"))) == 3, "sources were sent"
    assert not (clone / "results").exists()
    for path in (DATA, NETWORK, DISTANCES):
        assert same(store / path, local / path), path
    assert not list(store.glob("snakemake-workflow-sources.*")), "they are not left behind"


def test_an_s3_serves_as_a_storage(
    clone: Path, asked: None, local: Path, store: tuple[Any, dict[str, str]], tmp_path: Path
) -> None:
    client, variables = store
    files = client.create_bucket(Bucket="vwta")
    arguments = ["--default-storage-provider", "s3", "--default-storage-prefix", "s3://vwta/run"]
    table = "results/smoke/synthetic/metrics/theory.parquet"
    command = [*SMOKE, *arguments, "--cores", "1", "--directory", str(tmp_path)]
    done = snakemake(clone, *command, "--", NETWORK, table, **variables)
    assert done.returncode == 0, done.stdout
    assert not (tmp_path / "results" / "smoke" / "synthetic").exists()
    for path in (NETWORK, table):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        files.download_file(f"run/{path}", str(tmp_path / path))
    assert same(tmp_path / NETWORK, local / NETWORK)
    assert [*read_metadata(tmp_path / table)["parts"]] == [f"{RUN}/theory.parquet"]
    again = snakemake(clone, *command, "--dry-run", "--", NETWORK, **variables)
    assert "Nothing to be done" in again.stdout, again.stdout


def test_seeds_that_a_storage_has_are_seen(
    plugins: None, asked: None, clone: Path, tmp_path: Path
) -> None:
    """Those of a problem are trained at once if it has none or all, and alone otherwise."""
    overlay = tmp_path / "seeds.yaml"
    overlay.write_text("synthetic: { seeds: [1234, 1235] }\n")
    store = ["--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path)]
    other = NETWORK.replace("1234", "1235")

    def rules() -> set[str]:
        done = snakemake(clone, *SMOKE, str(overlay), *store, "--dry-run", "--", NETWORK, other)
        assert done.returncode == 0, done.stdout
        return set(re.findall(r"^(?:local)?rule (train\w+):", done.stdout, re.MULTILINE))

    assert rules() == {"train_synthetic_stack"}
    (tmp_path / other).parent.mkdir(parents=True)
    (tmp_path / other).touch()
    assert rules() == {"train_synthetic"}
