"""Promises of docs/security.md: no pickle, no shell, no way out of the working folder."""

import ast
import re
from copy import deepcopy
from functools import cache
from types import ModuleType
from typing import Any

import pytest
import yaml
from loading import ROOT

from vwta.workflow import validation as checks

FOLDERS = ("src", "workflow", "envs", "benchmarks")
SOURCES = sorted(path for name in FOLDERS for path in (ROOT / name).rglob("*.py"))
SCHEMAS = ROOT / "workflow/schemas"
RULES = sorted(
    [ROOT / "Snakefile", ROOT / "workflow/Snakefile", *(ROOT / "workflow").rglob("*.smk")]
)

# Modules that run what they read, and functions that do, or that start a shell.
MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "jsonpickle"}
CALLS = {"eval", "exec", "os.system", "os.popen", "subprocess.getoutput"}
CALLS |= {"subprocess.getstatusoutput", "torch.load", "torch.hub.load", "torch.jit.load"}
CALLS |= {"yaml.load", "yaml.unsafe_load", "yaml.full_load", "pd.read_pickle", "pandas.read_pickle"}
# Arguments that must be just this where they are given at all.
ARGUMENTS = {"shell": False, "verify": True, "allow_pickle": False, "weights_only": True}


def dangers(code: str) -> list[str]:
    """Things that a program must not have, each with its line."""
    found = []
    for node in ast.walk(ast.parse(code)):
        names: set[str] = set()
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and not node.level:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            names = {str(node.module).partition(".")[0]} & MODULES | whole & CALLS
        elif isinstance(node, ast.Call):
            names = {ast.unparse(node.func)} & CALLS
            names |= {
                f"{word.arg}={ast.unparse(word.value)}"
                for word in node.keywords
                if word.arg in ARGUMENTS
                and not (
                    isinstance(word.value, ast.Constant) and word.value.value is ARGUMENTS[word.arg]
                )
            }
        found += [f"line {getattr(node, 'lineno', '?')}: {name}" for name in sorted(names)]
    return found


def test_programs_run_nothing_that_they_read() -> None:
    found = {path.relative_to(ROOT): dangers(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert len(found) > 100
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("code", "danger"),
    [
        ("import pickle", "line 1: pickle"),
        ("from joblib import load", "line 1: joblib"),
        ("from torch import load", "line 1: torch.load"),
        ("torch.load(path)", "line 1: torch.load"),
        ("np.load(path, allow_pickle=flag)", "line 1: allow_pickle=flag"),
        ("pd.read_pickle(path)", "line 1: pd.read_pickle"),
        ("yaml.load(file, Loader=yaml.Loader)", "line 1: yaml.load"),
        ("subprocess.run(text, shell=True)", "line 1: shell=True"),
        ("requests.get(url, verify=False)", "line 1: verify=False"),
        ("x = 1\nexec(text)", "line 2: exec"),
        ("network.eval()", None),
        ("np.load(path, allow_pickle=False)", None),
    ],
)
def test_the_search_for_dangers_finds_them(code: str, danger: str | None) -> None:
    assert dangers(code) == ([danger] if danger else [])


def test_rules_start_no_shell() -> None:
    """Rules call scripts, which get values as values: no command is put together from any."""
    shell = re.compile(r"^\s*(shell|run)\s*:|\bshell\(|os\.(system|popen)|eval\(|exec\(", re.M)
    assert shell.search("rule a:\n    shell: 'rm {input}'")
    assert [path.name for path in RULES if shell.search(path.read_text(encoding="utf-8"))] == []


def test_downloads_have_one_door() -> None:
    """Only one module speaks to the network; tests/paper/downloads/test_fetch.py says how."""
    users = [path.name for path in SOURCES if re.search(r"\brequests\b|urlopen", path.read_text())]
    assert users == ["connection.py"]


@pytest.fixture
def validation(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(checks, "load", cache(checks.load))  # schemas are asked again and again
    return checks


@cache
def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


ESCAPES = ["..", ".", "../x", "/etc/x", "a/../../x", "~/x", "a\\x", "a\0x", "$(touch x)", "{x}", ""]


@pytest.mark.parametrize("name", ESCAPES)
def test_names_in_the_configuration_are_no_paths(validation: ModuleType, name: str) -> None:
    """Names of folders and files are names; a path is one only where the user is asked for it."""
    config = deepcopy(load("config/config.yaml"))
    config["tier"] = name
    config["synthetic"]["properties"]["sets"][0]["name"] = name
    for study, key in (("synthetic", "datasets"), ("synthetic", "models"), ("uci", "protocols")):
        config[study][key] = [name]
    files = deepcopy(load("config/data.yaml"))
    files["uci"]["boston"]["file"]["path"] = name
    lines = validation.problems(config, SCHEMAS / "config.schema.yaml")
    lines += validation.problems(files, SCHEMAS / "data.schema.yaml")
    places = {line.partition(" = ")[0] for line in lines}
    assert places >= {
        "tier",
        "synthetic.properties.sets[0].name",
        "synthetic.datasets[0]",
        "synthetic.models[0]",
        "uci.protocols[0]",
        "uci.boston.file.path",
    }


@pytest.mark.parametrize("name", [*ESCAPES, "x/..", "x/.csv/..", "a b", "-x", "x\n.csv"])
def test_names_of_own_tables_are_no_paths(validation: ModuleType, name: str) -> None:
    """A table lies where the user says; its results are named after it, so its name is a name."""
    config = deepcopy(load("config/config.yaml"))
    config["uci"]["datasets"] = [{"csv": name, "target": "y"}]
    sets = list(load("config/data.yaml")["uci"])
    wrong = validation.problems(
        config, SCHEMAS / "config.schema.yaml"
    ) or validation.contradictions(config, sets)
    stem = validation.set_name({"csv": name})
    assert wrong or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", stem)


def test_the_document_is_linked() -> None:
    assert (ROOT / "docs/security.md").is_file()
    assert "docs/security.md" in (ROOT / "README.md").read_text(encoding="utf-8")
