"""The whole paper's graph of jobs is built with no network and no data, and is what config asks."""

import itertools
import os
import re
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from loading import ROOT

# Takes the place of Python's own module of this name: every process of the run is offline.
OFFLINE = """
import socket
from pathlib import Path

def refuse(*arguments, **options):
    Path(__file__).with_name("called").write_text(repr(arguments))
    raise OSError("there is no network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


def children() -> float:
    """CPU seconds of finished child processes: on a busy machine the clock says little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def scopes(study: dict[str, Any], stage: str | None = None) -> dict[str, dict[str, set[Any]]]:
    """The part of a study that each protocol runs in a stage."""
    found = {}
    for name, own in study["protocols"].items():
        found[name] = {
            key: (
                set(study[key]) | set(own.get("models", [])) if key == "models" else set(study[key])
            )
            & set(own.get(key, study[key]))
            & set(own.get(stage, {}).get(key, own.get(key, study[key])))
            for key in ("datasets", "models", "K", "seeds")
        }
    return found


def size(scope: dict[str, set[Any]], *keys: str) -> int:
    """How many combinations of some keys there are, 0 if there are none of another."""
    count = 1
    for key, values in scope.items():
        count *= len(values) if key in keys else min(len(values), 1)
    return count


def _pairs(study: dict[str, Any], name: str, scope: dict[str, set[Any]]) -> int:
    """How many networks a protocol has, some with the first seed alone."""
    few = set(study["protocols"][name].get("one_seed", []))
    alone = {**scope, "K": scope["K"] & few, "seeds": scope["seeds"] & {study["seeds"][0]}}
    every = {**scope, "K": scope["K"] - few}
    return sum(size(part, "datasets", "models", "K", "seeds") for part in (alone, every))


def synthetic(config: dict[str, Any], protocols: dict[str, dict[str, Any]]) -> Counter[str]:
    """Jobs of the synthetic study by rule."""
    study, figures, jobs = config["synthetic"], config["figures"], Counter[str]()
    trained = {name for name, switches in protocols.items() if "training" in switches}
    drawn = {name for name, switches in protocols.items() if "data" in switches}
    whole, measured = scopes(study), scopes(study, "emd")
    for name in drawn:
        jobs["generate_synthetic"] += size(whole[name], "datasets")
        jobs["evaluate_synthetic_theory"] += size(whole[name], "datasets")
    for name in trained:
        scope = whole[name]
        few = set(study["protocols"][name].get("one_seed", []))
        every = {**scope, "K": scope["K"] - few}
        if "local" in scope["models"] and scope["datasets"]:
            jobs["figure"] += size(every, "K")  # NLL against a factor
        together = scope["seeds"] == set(study["seeds"]) and len(study["seeds"]) > 1
        for model in scope["models"]:  # the seeds of a K are trained at once where all are run
            one = {**scope, "models": {model}}
            stacks = size({**every, "models": {model}}, "datasets", "K") if together else 0
            rule = "train_synthetic_local" if model == "local" else "train_synthetic"
            jobs[f"{rule}_stack"] += stacks
            jobs[rule] += _pairs(study, name, one) - stacks * len(study["seeds"])
    for stage, rule in (
        ("evaluation", "tune_synthetic"),
        ("evaluation", "evaluate_synthetic"),
        ("properties", "evaluate_properties"),
    ):
        jobs[rule] += sum(size(scope, "datasets") for scope in scopes(study, stage).values())
    for name, scope in measured.items():
        scope["datasets"] &= set(study["emd"]["h"])
        jobs["evaluate_emd"] += _pairs(study, name, scope)
        jobs["evaluate_emd_truth"] += size(scope, "datasets")
    limits, pictures = figures["dirac_limits"], figures["qualitative"]
    shown = set(itertools.product(pictures["protocols"], pictures["datasets"]))
    shown |= {(name, limits["dataset"]) for name in limits["protocols"]}
    proofs = ("proof_radius", "proof_partition")
    shown |= {(figures[name]["protocol"], figures[name]["dataset"]) for name in proofs}
    jobs["predict_synthetic"] = len(shown)
    jobs["figure"] += size(figures["nll_against_h"], "protocols", "K")
    jobs["figure"] += len(limits["protocols"]) + len(pictures["protocols"])
    jobs["figure"] += len(figures["training_curves"]["K"])
    jobs["figure"] += 3 * len(figures["quantitative"]["protocols"])  # deviations, and tuned
    jobs["figure"] += 6  # variants, three of theory and two of proofs
    jobs["collect"] = 4  # evaluation, distances, properties and reference risks
    jobs["collect_curves"] = 1
    return jobs + Counter(["export_explorer", "table_protocols", "table_unused"])


def uci(config: dict[str, Any]) -> Counter[str]:
    """Jobs of the UCI study by rule."""
    study, jobs = config["uci"], Counter[str]()
    sets, protocols = study["datasets"], study["protocols"]
    folder = ROOT / "config/protocols/uci"
    switches = {
        name: yaml.safe_load((folder / f"{name}.yaml").read_text())
        for name in [*protocols, *study["ablations"]]
    }
    clean = study["clean"]  # of protocol `ours` alone
    jobs["fetch_file"] = jobs["prepare_uci"] = len(sets) + len(clean)
    jobs["train_uci"] = len(clean) * len(study["models"]) + len(sets) * sum(
        len(one.get("models", study["models"]))
        for one in switches.values()
        if "networks_of" not in one
    )
    jobs["train_uci"] -= sum(of.get("year") == 0 for of in study["splits_of"].values())
    jobs["tune_uci"] = jobs["evaluate_uci"] = len(sets) * len(switches) + len(clean)
    jobs["collect"] = 2  # metrics and searches
    jobs["figure_uci"] = len(protocols)
    # Searches of the two ensembles with a bandwidth.
    jobs["figure"] = 2 * sum(switches[name]["evaluation"]["ensembles"] for name in protocols)
    jobs["figure"] += 2 * sum("factor" in switches[name]["evaluation"] for name in protocols)
    return jobs + Counter(["measure_sizes_uci", "table_uci"])


def audio(config: dict[str, Any]) -> Counter[str]:
    """Jobs of the audio study by rule, with ANSYN itself."""
    study = {**config["audio"], "datasets": ["ansyn"]}
    splits = {split for fold in study["folds"].values() for split in fold["splits"]}
    archives = len(study["overlaps"]) * len(splits)
    used = {name: size(scope, "models", "K", "seeds") for name, scope in scopes(study).items()}
    folder = ROOT / "config/protocols/audio"
    own = [name for name in used if "training" in load(folder / f"{name}.yaml")]
    trained = sum(used[name] for name in own)
    jobs = Counter(lock_ansyn=1, fetch_ansyn=archives, unpack_ansyn=archives)
    jobs += Counter(features_audio=archives, train_audio=trained)
    jobs += Counter(predict_audio=sum(used.values()))
    for rule in ("tune_audio", "evaluate_audio", "show_audio"):
        jobs[rule] = len(study["protocols"])
    jobs["figure_audio"] = len(study["protocols"])
    jobs["figure"] = 2 * len(study["protocols"]) + len(own)  # scenes, on a map and on the sphere
    return jobs + Counter(["collect", "collect_curves", "table_audio"])


def test_the_whole_graph_without_network_and_data(
    tmp_path: Path, copy_repository: Callable[[Path], Path]
) -> None:
    tree = copy_repository(tmp_path / "tree")
    blocked = tmp_path / "offline"
    blocked.mkdir()
    (blocked / "sitecustomize.py").write_text(OFFLINE)
    env = {name: value for name, value in os.environ.items() if name != "VWTA_MIRROR"}
    env |= {"PYTHONPATH": f"{blocked}:{tree / 'src'}", "https_proxy": "http://127.0.0.1:9"}
    probe = [sys.executable, "-c", "import socket; socket.create_connection(('127.0.0.1', 9))"]
    tried = subprocess.run(probe, env=env, capture_output=True, text=True, check=False)
    assert "there is no network" in tried.stderr
    (blocked / "called").unlink()
    before = children()
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "reason"],
        cwd=tree,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert children() - before < 20, "seconds of a core; 9 were measured"
    assert not (blocked / "called").exists(), "nothing even tries to reach the network"
    assert not (tree / "data").exists()
    assert not (tree / "results").exists()
    found = {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", done.stdout, re.MULTILINE)}
    config = load(tree / "config/config.yaml")
    folder = tree / "config/protocols/synthetic"
    protocols = {name: load(folder / f"{name}.yaml") for name in config["synthetic"]["protocols"]}
    wanted = synthetic(config, protocols) + uci(config) + audio(config)
    wanted += Counter(["judge", "report_page", "all"])
    total = found.pop("total")
    assert found == dict(wanted)
    assert total == wanted.total()
