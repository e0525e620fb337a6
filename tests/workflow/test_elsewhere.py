"""The workflow elsewhere: in another folder, from a checkout that is only read, as a module.

The module may be at an address: git finds a repository on this machine in place of the host's.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading import ROOT, environment, hosted, snakemake
from packaging.requirements import Requirement
from snakemake.utils import update_config
from warm import python

from vwta.io.storage import read_tensors
from vwta.workflow.places import cache_of

JOB = re.compile(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)+)", re.MULTILINE)
NETWORK = "results/smoke/synthetic/paper/single_gaussian/hist/K9/seed1234.safetensors"
MODULE = """
module wta:
    snakefile: {snakefile!r}
    prefix: "nested"
    config: config["wta"]

use rule * from wta as wta_*
"""

ADDRESS = """
module wta:
    snakefile: github("someone/wta", path={path!r}, tag="v1")
    config: config["wta"]

use rule * from wta as wta_*
"""

SHOWN = """
for rule in workflow.rules:
    where = rule.name in workflow._localrules
    print("RULE", rule.name, rule.conda_env, rule.container_img, where)
"""


def said(job: str, about: str) -> list[str]:
    """The files that a dry run lists for a job as its input, output, log or benchmark."""
    lines = re.findall(rf"^    {about}: (.*)$", job, re.MULTILINE)
    return [
        path.removesuffix(" (retrieve from storage)") for line in lines for path in line.split(", ")
    ]


def jobs(answer: str) -> set[tuple[str, tuple[str, ...]]]:
    """Rules and outputs of all jobs of a dry run."""
    return {(rule, tuple(said(text, "output"))) for rule, text in JOB.findall(answer)}


@pytest.fixture(scope="module")
def tree(
    tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]
) -> Iterator[Path]:
    """A checkout that nobody may write to."""
    tree = copy_repository(tmp_path_factory.mktemp("home") / "tree")
    folders = [tree, *(path for path in tree.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield tree
    for folder in folders:
        folder.chmod(0o755)


@pytest.fixture(scope="module")
def ask(tree: Path) -> Callable[..., str]:
    """What a dry run in another folder says."""

    def ask(folder: Path, *arguments: str) -> str:
        place = ["--directory", str(folder)]
        done = snakemake(tree, "--dry-run", "--cores", "1", *place, *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout

    return ask


@pytest.fixture(scope="module")
def smoke(tree: Path) -> str:
    return str(tree / "config/smoke.yaml")


@pytest.fixture(scope="module")
def alone(
    ask: Callable[..., str], smoke: str, tmp_path_factory: pytest.TempPathFactory
) -> set[tuple[str, tuple[str, ...]]]:
    """Jobs of the workflow itself at the smoke tier."""
    return jobs(ask(tmp_path_factory.mktemp("alone"), "--configfile", smoke))


@pytest.fixture(scope="module")
def host(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The checkout as a repository at an address."""
    return hosted(tree, tmp_path_factory.mktemp("host"))


def write(path: Path, content: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


def test_both_snakefiles_are_one_workflow(
    tree: Path, alone: object, ask: Callable[..., str], smoke: str, tmp_path: Path
) -> None:
    found = jobs(ask(tmp_path, "-s", str(tree / "workflow/Snakefile"), "--configfile", smoke))
    assert len(found) > 100
    assert found == alone


def test_own_files_are_found_from_another_folder(
    ask: Callable[..., str], smoke: str, tmp_path: Path
) -> None:
    answer = ask(tmp_path, "--configfile", smoke, "--", "all", "published_page")
    parts = [text for _, text in JOB.findall(answer)]
    made = {path for text in parts for path in said(text, "output")}
    needed = {path for text in parts for path in said(text, "input")} - made
    assert any(path.endswith("config/reported/uci.csv") for path in needed)
    assert [path for path in needed if not (tmp_path / path).exists()] == []
    assert not [path for path in made if Path(path).is_absolute() or path.startswith("..")]


def test_the_folder_has_its_own_configuration(
    tree: Path, ask: Callable[..., str], smoke: str, tmp_path: Path
) -> None:
    config = yaml.safe_load((tree / "config/config.yaml").read_text())
    update_config(config, yaml.safe_load(Path(smoke).read_text()))
    del config["synthetic"]["protocols"]["literal"]  # which the workflow's own does not bring back
    config["figures"] = {
        name: {**own, "protocols": ["paper"]} if "protocols" in own else own
        for name, own in config["figures"].items()
    }
    config["synthetic"]["explorer"]["protocols"] = ["paper"]
    config["audio"]["protocols"] = {"paper": {}}
    write(tmp_path / "config/config.yaml", {**config, "tier": "mine"})
    answer = ask(tmp_path, "synthetic", "audio_figures")
    outputs = {path for _, files in jobs(answer) for path in files}
    assert "results/mine/figures/audio_nll_against_h.png" in outputs
    assert "results/mine/synthetic/paper/single_gaussian/metrics.parquet" in outputs
    assert not [path for path in outputs if "/literal/" in path]


def test_results_may_have_another_place(
    ask: Callable[..., str], smoke: str, tmp_path: Path
) -> None:
    place = tmp_path / "my place"
    overlay = write(tmp_path / "place.yaml", {"results": str(place)})
    targets = ["all", "published_page"]
    answer = ask(tmp_path / "work", "--configfile", smoke, overlay, "--", *targets)
    for about in ("output", "log", "benchmark"):
        files = [path for _, text in JOB.findall(answer) for path in said(text, about)]
        assert len(files) > 50
        others = [path for path in files if not path.startswith(f"{place}/")]
        assert all(path.startswith("data/uci/") for path in others), others


def test_a_module_has_all_jobs_under_its_names(
    tree: Path,
    alone: set[tuple[str, tuple[str, ...]]],
    ask: Callable[..., str],
    smoke: str,
    tmp_path: Path,
) -> None:
    for name in ("Snakefile", "workflow/Snakefile"):
        text = MODULE.format(snakefile=str(tree / name))
        outer = write(tmp_path / name.replace("/", "_"), text)
        config = write(tmp_path / "c.yaml", {"wta": yaml.safe_load(Path(smoke).read_text())})
        answer = ask(tmp_path, "-s", outer, "--configfile", config)
        assert "localrules directive" not in answer
        assert jobs(answer) == {
            (f"wta_{rule}", tuple(f"nested/{path}" for path in files)) for rule, files in alone
        }
        benchmarks = [path for _, part in JOB.findall(answer) for path in said(part, "benchmark")]
        assert len(benchmarks) == len(alone) - 1
        assert all(path.startswith("nested/results/smoke/benchmarks/") for path in benchmarks)


def test_a_module_runs_and_a_change_of_device_repeats_nothing(tree: Path, tmp_path: Path) -> None:
    """In its own folder, while the checkout is only read."""
    before = contents(tree)
    write(tmp_path / "Snakefile", MODULE.format(snakefile=str(tree / "Snakefile")))
    settings = yaml.safe_load((tree / "config/smoke.yaml").read_text())
    config = write(tmp_path / "config.yaml", {"wta": settings})
    command = [*python(), "-m", "snakemake", "--cores", "1", "--configfile", config]
    triggers = ["--rerun-triggers", "mtime", "params", "input"]
    arguments = [*command, *triggers, "--", f"nested/{NETWORK}"]
    done = subprocess.run(
        arguments, cwd=tmp_path, env=environment(tree), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    _, record = read_tensors(tmp_path / "nested" / NETWORK)
    assert record["provenance"]["device"] == "cpu"
    assert contents(tree) == before
    write(tmp_path / "config.yaml", {"wta": {**settings, "device": "cuda"}})
    done = subprocess.run(
        [*arguments[:-2], "--dry-run", *arguments[-2:]],
        cwd=tmp_path,
        env=environment(tree),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Nothing to be done" in done.stdout + done.stderr


@pytest.mark.parametrize("path", ["Snakefile", "workflow/Snakefile"])
def test_a_module_at_an_address_is_the_same(
    tree: Path,
    alone: set[tuple[str, tuple[str, ...]]],
    host: dict[str, str],
    smoke: str,
    tmp_path: Path,
    path: str,
) -> None:
    """It needs no clone, but finds the configuration, the paper's numbers and the scripts."""
    outer = write(tmp_path / "Snakefile", ADDRESS.format(path=path))
    config = write(tmp_path / "c.yaml", {"wta": yaml.safe_load(Path(smoke).read_text())})
    place = ["--directory", str(tmp_path), "--cores", "1", "-s", outer, "--configfile", config]
    answer = snakemake(tree, *place, "--dry-run", **host)
    assert answer.returncode == 0, answer.stdout
    assert jobs(answer.stdout) == {(f"wta_{rule}", files) for rule, files in alone}
    (checkout,) = Path(host["XDG_CACHE_HOME"]).rglob("vwta/*/config")
    needed = {one for _, text in JOB.findall(answer.stdout) for one in said(text, "input")}
    own = {(tmp_path / one).resolve() for one in needed if one.startswith("..")}
    assert checkout / "reported/uci.csv" in own
    assert [one for one in own if not one.is_relative_to(checkout.parent)] == []
    if path == "workflow/Snakefile":  # which snakedeploy names
        made = snakemake(tree, *place, "--", NETWORK, **host)
        assert made.returncode == 0, made.stdout
        assert (tmp_path / NETWORK).is_file()
        refused = snakemake(tree, *place, "--", "wta_publish", **host)
        assert refused.returncode != 0
        assert "MissingRuleException" in refused.stdout


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("gl:someone/wta@v1", "total"),
        ("git+file://{clone}/workflow/Snakefile@v1", "total"),
        ("{website}/workflow/Snakefile", "which is no repository, and needs its other files"),
    ],
)
def test_the_workflow_itself_may_be_at_an_address(
    tree: Path,
    host: dict[str, str],
    smoke: str,
    tmp_path: Path,
    website: Any,
    address: str,
    said: str,
) -> None:
    clone = tmp_path / "clone"
    repository = Path(host["XDG_CACHE_HOME"]).with_name("someone") / "wta"
    subprocess.run(["git", "clone", "-q", repository, clone], check=True)
    text = (tree / "workflow/Snakefile").read_bytes()
    website.answers["/workflow/Snakefile"] = [(200, text)]
    name = address.format(clone=clone, website=website.address)
    place = ["--directory", str(tmp_path), "--configfile", smoke, "--cores", "1"]
    answer = snakemake(tree, "-s", name, *place, "-n", "-q", "rules", "--", NETWORK, **host)
    assert said in answer.stdout, answer.stdout
    assert (answer.returncode == 0) == (said == "total")


def test_a_package_that_is_not_installed_is_named(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "vwta").mkdir()
    (tmp_path / "vwta/__init__.py").write_text("")  # of some other revision
    command = [*python(), "-m", "snakemake", "-n", "-s", str(tree / "Snakefile")]
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 1
    assert "package of this workflow cannot be imported" in done.stderr
    assert "Nothing was run. Remedy: make setup" in done.stderr
    assert "Traceback" not in done.stderr


def contents(tree: Path) -> dict[str, int]:
    """Times of all files of a checkout, but for Python's own cache."""
    files = (path for path in tree.rglob("*") if "__pycache__" not in path.parts)
    return {str(path): path.lstat().st_mtime_ns for path in files if path.is_file()}


@pytest.mark.parametrize(("device", "wanted"), [("auto", "cpu"), ("cuda", "gpu")])
def test_environments_follow_the_device(
    tree: Path, ask: Callable[..., str], tmp_path: Path, device: str, wanted: str
) -> None:
    """And a module keeps them, the image and what runs where Snakemake does."""
    outer = MODULE.format(snakefile=str(tree / "workflow/Snakefile")) + SHOWN
    settings = {"device": device, "container": "docker://example.org/vwta"}
    config = write(tmp_path / "c.yaml", {"wta": settings})
    answer = ask(tmp_path, "-s", write(tmp_path / "outer", outer), "--configfile", config, "-l")
    rules = {name: rest for name, *rest in re.findall(r"RULE (\S+) (\S+) (\S+) (\S+)", answer)}
    image = settings["container"]
    assert rules["wta_train_uci"] == [f"../../envs/{wanted}.yaml", image, "False"]
    assert rules["wta_evaluate_uci"] == ["../../envs/cpu.yaml", image, "False"]
    assert rules["wta_fetch_file"] == ["../../envs/cpu.yaml", image, "True"]


def test_version_of_snakemake_is_that_of_the_package() -> None:
    (asked,) = re.findall(r'min_version\("([\d.]+)"\)', (ROOT / "workflow/Snakefile").read_text())
    text = (ROOT / "pyproject.toml").read_text()
    (declared,) = re.findall(r'"(snakemake>=[^"]+)"', text)
    assert str(Requirement(declared).specifier) == f">={asked}"


def test_the_catalog_finds_what_it_expects() -> None:
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert {"mandatory-flags", "software-stack-deployment", "report"} == usage.keys()
    assert (ROOT / "config/README.md").read_text().startswith("# Configuration")
    assert (ROOT / "workflow/Snakefile").is_file()
    assert "report:" in (ROOT / "workflow/Snakefile").read_text()


def test_the_image_has_what_make_installs() -> None:
    text = (ROOT / "Containerfile").read_text()
    assert "FROM docker.io/library/python:3.11-" in text
    assert "python=3.11" in (ROOT / "envs/cpu.yaml").read_text()
    for program in re.findall(r"python (\S+\.py)", text):
        assert (ROOT / program).is_file()


def test_an_output_that_is_elsewhere_has_no_cache() -> None:
    with pytest.raises(ValueError, match="is not at uci/b below a folder"):
        cache_of("data/uci/a", "uci/b")
