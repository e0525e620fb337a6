"""Profiles for clusters, what rules ask of them, and that docs/cluster.md says so."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from loading import ROOT, environment
from snakemake.cli import get_argument_parser
from warm import python

DOCS = (ROOT / "docs/cluster.md").read_text()
PROFILES = {path.parent.name: path for path in sorted((ROOT / "profiles").glob("*/config.yaml"))}
CLOUDS = ["kubernetes", "aws-batch", "googlebatch"]
CLUSTERS = ["slurm", "cluster-generic", *CLOUDS]
# Options that a plugin brings.
OWN = {name: (f"{name}-", "storage-s3-") for name in CLUSTERS}
GPU_RULES = (
    "train_synthetic",
    "train_synthetic_stack",
    "train_synthetic_local",
    "train_synthetic_local_stack",
    "train_uci",
    "train_audio",
    "train_audio_local",
    "predict_audio",
)


class Job(NamedTuple):
    """A job of a dry run: its group, if any, and what it asks for."""

    rule: str
    group: str | None
    submission: int
    memory: int
    minutes: int
    gpu: int


def load(name: str) -> dict:
    return yaml.safe_load(PROFILES[name].read_text())


def dry_run(tree: Path, *arguments: str) -> list[Job]:
    """The jobs of the full tier and of the published page, bundled as on a cluster."""
    bundles = [f"{group}={n}" for group, n in load("slurm")["group-components"].items()]
    command = [*python(), "-m", "snakemake", "--dry-run", "--forceall", "--cores", "1"]
    groups = [f"{rule}={group}" for rule, group in load("slurm")["groups"].items()]
    command += ["--groups", *groups, "--group-components", *bundles, *arguments]
    command += ["--", "all", "published_page"]
    done = subprocess.run(
        command, cwd=tree, env=environment(tree), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    jobs = []
    rule = re.compile(r"( *)(?:local)?rule (\w+):((?:\n\1 {4}.*)+)")
    for submission, block in enumerate(re.split(r"(?m)^(?=\[)", done.stdout + done.stderr)):
        bundle = re.match(r"\[.*?\] Group job (\w+)", block)
        group = bundle[1] if bundle else None
        for _, name, rest in rule.findall(block):
            resources = re.search(r"resources: .*mem_mb.*", rest)
            if resources and "output: " in rest:  # a target such as `all` makes nothing
                asked = dict(re.findall(r"(\w+)=(\d+)", resources[0]))
                numbers = (int(asked.get(key, 0)) for key in ("mem_mb", "runtime", "gpu"))
                jobs.append(Job(name, group, submission, *numbers))
    return jobs


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]) -> Path:
    """A copy of the repository, with no data."""
    return copy_repository(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="module")
def full(tree: Path) -> list[Job]:
    return dry_run(tree)


@pytest.fixture(scope="module")
def retried(tree: Path) -> list[Job]:
    """The same jobs when all have failed once, and are to use a GPU."""
    return dry_run(tree, "--attempt", "2", "--config", "device=cuda")


def is_local(rule: str) -> bool:
    return rule.startswith(("fetch_", "lock_", "collect", "gather_"))


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_name_options_of_snakemake(name: str) -> None:
    known = {word for action in get_argument_parser()._actions for word in action.option_strings}
    for key in load(name):
        assert f"--{key}" in known or key.startswith(OWN.get(name, ("--",))), key


@pytest.mark.parametrize("name", sorted(PROFILES.keys() - {"default"}))
def test_profiles_repeat_the_default_that_they_replace(name: str) -> None:
    default, own = load("default"), load(name)
    assert set(default.pop("resources")) <= set(own["resources"])
    default.pop("cores")
    assert default.pop("default-resources").items() <= own["default-resources"].items()
    assert {key: own.get(key) for key in default} == default


def test_all_clusters_bundle_alike_one_job_at_a_time() -> None:
    slurm, *others = map(load, CLUSTERS)
    for key in ("groups", "group-components", "cores", "retries", "latency-wait"):
        assert all(other[key] == slurm[key] for other in others), key
    assert slurm["cores"] == 1
    assert slurm["retries"] > 0
    assert slurm["latency-wait"] >= 60


def test_groups_of_the_profiles_are_of_rules() -> None:
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    named = set(re.findall(r"^(?:use rule \w+ as|rule) (\w+)", rules, re.MULTILINE))
    assert load("slurm")["groups"].keys() <= named
    assert load("slurm")["group-components"].keys() <= set(load("slurm")["groups"].values())


def test_scripts_of_the_scheduler_can_be_run() -> None:
    folder = PROFILES["cluster-generic"].parent
    for script in folder.glob("*.sh"):
        assert script.stat().st_mode & 0o111, f"{script} is not executable"
        subprocess.run(["sh", "-n", script], check=True)
        assert script.name in PROFILES["cluster-generic"].read_text()


def test_submit_passes_on_what_was_asked(tmp_path: Path) -> None:
    sbatch = tmp_path / "sbatch"
    sbatch.write_text('#!/bin/sh\nprintf "%s\\n" "$*" > asked\necho "17;cluster"\n')
    sbatch.chmod(0o755)
    submit = PROFILES["cluster-generic"].with_name("submit.sh")
    for gpus, partition in (("0", "cpu"), ("2", "gpu --gpus=2")):
        command = [submit, "a name", "1", "2000", "30", gpus, "a script"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "17\n"
        asked = (tmp_path / "asked").read_text()
        assert "--job-name a name --comment rule_a name --ntasks 1" in asked
        assert "--cpus-per-task 1 --mem 2000 --time 30" in asked
        assert f"--partition {partition} " in asked
        assert asked.endswith("a script\n")


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("JobId=3 JobState=PENDING Reason=None", "running"),
        ("JobId=3 JobState=COMPLETED Reason=None", "success"),
        ("JobId=3 JobState=CANCELLED Reason=None", "failed"),
        ("JobId=3 JobState=OUT_OF_MEMORY Reason=None", "failed"),
        ("JobId=3 JobState=PREEMPTED Reason=None", "failed"),
        ("slurm_load_jobs error: Invalid job id specified", "failed"),
        ("slurm_load_jobs error: Unable to contact slurm controller", "running"),
        ("", "running"),
    ],
)
def test_status_is_one_word(tmp_path: Path, said: str, word: str) -> None:
    for name, text in (("scontrol", said), ("sacct", "")):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{text}"\n')
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [PROFILES["cluster-generic"].with_name("status.sh"), "3"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, f"{word}\n")


def test_every_job_asks_for_memory_and_time_and_for_more_on_retry(
    full: list[Job], retried: list[Job]
) -> None:
    again = Counter((job.rule, job.memory, job.minutes) for job in retried)
    for job in full:
        assert job.memory > 0, job
        assert job.minutes > 0, job
        factor = 1 if job.rule.startswith(("fetch_", "lock_")) else 2
        assert again[job.rule, factor * job.memory, factor * job.minutes], job


def test_a_gpu_is_asked_for_if_it_is_to_be_used(full: list[Job], retried: list[Job]) -> None:
    assert not any(job.gpu for job in full)
    asking = {job.rule for job in retried if job.gpu == 1}
    assert asking == {job.rule for job in full if job.rule.startswith(GPU_RULES)}


@pytest.mark.parametrize("name", CLOUDS)
def test_docs_name_what_a_user_of_a_cloud_fills_in(name: str) -> None:
    text, docs = PROFILES[name].read_text(), (ROOT / "docs/cloud.md").read_text()
    assert "# Not run on a real service." in text
    for key in re.findall(r"^([\w-]+): .* # yours", text, re.MULTILINE):
        assert f"`{key}`" in docs, key
    assert "$" not in "".join(map(str, load(name).values())), (
        "Snakemake would read it as a variable"
    )


def test_aws_batch_is_asked_for_memory_that_its_plugin_takes(full: list[Job]) -> None:
    """Multiples of 1024 MB from 2048 to 8192 for one core; others would become 2048."""
    own = load("aws-batch")["set-resources"]
    for attempt in (1, 2, 3):
        amounts = {rule: eval(asked["mem_mb"], {"attempt": attempt}) for rule, asked in own.items()}
        assert {amount % 1024 for amount in amounts.values()} == {0}
        assert all(2048 <= amount <= 8192 for amount in amounts.values())
    away = {job.rule: job.memory for job in full if not is_local(job.rule)}
    first = {rule: eval(asked["mem_mb"], {"attempt": 1}) for rule, asked in own.items()}
    assert {rule for rule, memory in away.items() if memory > first.get(rule, 2048)} == set()


def test_documented_numbers_of_submissions(full: list[Job]) -> None:
    jobs = [job for job in full if "published" not in job.rule]
    away = [job for job in jobs if not is_local(job.rule)]
    kinds = Counter(job.group or job.rule for job in away)
    submitted = Counter(kind for kind, _ in {(j.group or j.rule, j.submission) for j in away})
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (\d+) \| (\d+) \|$", DOCS, re.MULTILINE)
    assert {kind: (int(n), int(of)) for kind, n, of in rows} == {
        kind: (submitted[kind], kinds[kind]) for kind in kinds
    }
    assert f"The full tier has {len(jobs)} jobs. {len(jobs) - len(away)} of them run where" in DOCS
    assert f"other {len(away)} are {submitted.total()} submissions" in DOCS


def test_documented_requests_are_those_of_the_rules(full: list[Job]) -> None:
    table = DOCS[DOCS.index("| rule | seconds") :].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    found = set()
    for row in rows:
        names, memory, minutes = re.findall(r"`([\w*]+)`", row[0]), row[-2], row[-1]
        for job in full:
            if any(fnmatch(job.rule, name) for name in names) and job.rule not in {
                name
                for other in rows
                if other is not row
                for name in re.findall(r"`(\w+)`", other[0])
            }:
                found.add(job.rule)
                assert within(job.memory, memory), (job, memory)
                assert within(job.minutes, minutes), (job, minutes)
    assert found == {job.rule for job in full}
    written = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    for rule in re.findall(r"^ *rule (\w+):(?:(?!\n *rule)[\s\S])*?script:", written, re.MULTILINE):
        assert any(fnmatch(rule, name) for name in re.findall(r"`([\w*]+)`", "".join(table))), rule


def within(number: int, written: str) -> bool:
    """Whether a number is the one written, or in the range written."""
    low, _, high = written.partition(" to ")
    return int(low) <= number <= int(high or low)
