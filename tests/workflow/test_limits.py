"""Configurations have limits: on every number, list and text, and on what aliases stand for."""

import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading import ROOT

from vwta.workflow import aliases, validation
from vwta.workflow.configuration import unreadable

SCHEMAS = ROOT / "workflow/schemas"
USERS = [SCHEMAS / "config.schema.yaml", *SCHEMAS.glob("protocol.*.schema.yaml")]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def parts(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema, with its place."""
    if isinstance(schema, dict):
        if "type" in schema and not isinstance(schema["type"], dict):
            yield path, schema
        for key, inner in schema.items():
            yield from parts(inner, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, inner in enumerate(schema):
            yield from parts(inner, f"{path}/{index}")


LIMITS: dict[str, list[set[str]]] = {
    "integer": [{"minimum"}, {"maximum"}],
    "number": [{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}],
    "array": [{"maxItems"}],
    "string": [{"maxLength"}],
}


@pytest.mark.parametrize("file", USERS, ids=lambda path: path.name)
def test_every_value_has_limits(file: Path) -> None:
    seen, unlimited = 0, []
    for place, schema in parts(read(file)):
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        for kind in kinds:
            for names in LIMITS.get(kind, []):
                seen += 1
                if not names & schema.keys():
                    unlimited.append(f"{place}: {kind} has none of {', '.join(names)}")
    assert seen
    assert unlimited == []


@pytest.mark.parametrize("file", sorted(SCHEMAS.iterdir()), ids=lambda path: path.name)
def test_no_name_may_end_with_a_line_break(file: Path) -> None:
    """A `$` matches before a line break at the end as well, unless the whole text must match."""
    for place, schema in parts(read(file)):
        if str(schema.get("pattern", "")).endswith("$"):
            strict = validation.Validator({"pattern": schema["pattern"]})
            loose = (f"{text}\n" for text in EXAMPLES)
            assert not any(map(strict.is_valid, loose)), place


EXAMPLES = ["smoke", "a", "smallest", "largest", "uci/a.csv", "0" * 64, "md5:" + "0" * 32]
EXAMPLES += ["https://zenodo.org/api/records/1"]


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("tier", "smoke\n", r"tier = 'smoke\n': must be a text that matches"),
        ("tier", "a" * 10**5, "must be a text of at most 100 characters that matches"),
        ("uci.K", 10**9, "uci.K = 1000000000: must be an integer >= 2 and <= 10000"),
        ("uci.K", 9.0, "uci.K = 9.0: must be an integer"),
        ("uci.seed", 2**70, "uci.seed = 1180591620717411303424: must be an integer"),
        ("uci.splits", 10**6, "must be an integer >= 1 and <= 10000"),
        ("synthetic.training.epochs", 10**12, "must be an integer >= 1 and <= 100000000"),
        ("synthetic.training.widths", [10**6], "must be an integer >= 1 and <= 10000"),
        ("synthetic.K", list(range(1, 2000)), "and at most 1000"),
        ("synthetic.evaluation.h", [1e300], "must be a number > 0 and <= 1000000"),
        ("audio.seconds", 10**6, "must be an integer >= 4 and <= 3600"),
        ("data.cache", "a" * 5000, "of at most 4000 characters"),
        ("data.cache", "data/{dataset}", "must be a text that matches"),
        ("data.cache", "a\nb", r"data.cache = 'a\nb': must be a text that matches"),
        ("data.cache", "a\0b", r"data.cache = 'a\x00b': must be a text that matches"),
        ("data.mirror", "a\0b", r"data.mirror = 'a\x00b': must be a text or null that matches"),
        ("results", "a\0b", r"results = 'a\x00b': must be a text that matches"),
    ],
)
def test_what_is_too_much_is_refused(path: str, value: Any, says: str) -> None:
    config = deepcopy(read(ROOT / "config/config.yaml"))
    *sections, key = path.split(".")
    place = config
    for section in sections:
        place = place[section]
    place[key] = value
    lines = validation.problems(config, SCHEMAS / "config.schema.yaml")
    assert any(line.startswith(path) and says in line for line in lines), lines
    assert all(len(line) < 1000 for line in lines)


def chain(first: str, then: str, length: int) -> str:
    """Lines each of which repeats the one before by its alias."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{i}: &a{i} {then.replace('*', f'*a{i - 1}')}" for i in range(1, length)]
    return "\n".join(lines) + "\n"


BOMBS = {
    "lists": chain("[x, x, x]", "[*, *, *]", 30),
    "sections": chain("{x: 1}", "{x: *, y: *, z: *}", 30),
    "merged sections": chain("{x: 1}", "{<<: [*, *]}", 30),
    "a section in itself": "uci: &a {K: *a}\n",
    "a list in itself": "uci: &a [*a]\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_aliases_do_not_explode(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_text(BOMBS[name])
    start = time.process_time()
    (line,) = unreadable(path)
    assert "its aliases stand for more than 100000 values. Remedy: write" in line
    if name != "merged sections":  # which PyYAML itself never finishes
        lines = validation.problems(yaml.safe_load(BOMBS[name]), SCHEMAS / "config.schema.yaml")
        assert lines == [
            "the configuration: has more than 100000 values; write no aliases (* and &)"
        ]
    assert time.process_time() - start < 5


def test_depth_and_size_are_limited(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("tier: " + "[" * 10**4 + "]" * 10**4)
    (line,) = unreadable(path)
    assert "no YAML" in line
    assert "Remedy" in line
    path.write_text("#" * (aliases.BYTES + 1))
    (line,) = unreadable(path)
    assert "1000001 bytes, more than 1000000. Remedy" in line


@pytest.mark.parametrize(
    ("text", "values"), [("", 0), ("1", 1), ("[1, 2]", 3), ("a: &a [1]\nb: *a", 7)]
)
def test_values_are_counted(text: str, values: int) -> None:
    assert aliases.of_text(text) == values


def test_aliases_as_such_are_welcome(tmp_path: Path) -> None:
    path = tmp_path / "good.yaml"
    path.write_text("a: &a [1, 2]\nb: *a\nc: {<<: &d {x: *a}, y: *a}\n")
    assert list(unreadable(path)) == []
    assert aliases.of_value(read(path)) == 14
