"""Checks of the configuration: each violation becomes one line that says what may stand there.

For instance `synthetic.K[0] = 0: must be an integer >= 1`.
"""

from __future__ import annotations

__all__ = [
    "contradictions",
    "data_contradictions",
    "has_all_keys",
    "load",
    "ownership_problems",
    "problems",
    "protocol_contradictions",
    "set_name",
]

import itertools
import math
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from jsonschema.exceptions import ValidationError

from vwta.io.errors import foreign
from vwta.paper.methods import NETWORKS
from vwta.workflow.aliases import VALUES, of_value
from vwta.workflow.strictness import Validator

# That of libyaml, where it is there, reads the same ten times as fast.
SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
BOUNDS = {
    "minimum": ">=",
    "exclusiveMinimum": ">",
    "maximum": "<=",
    "exclusiveMaximum": "<",
    "multipleOf": "a multiple of",
}
SHARING = {
    "winner": [],
    "relaxed": ["epsilon"],
    "top": ["n"],
    "annealed": ["initial", "decay", "lowest"],
}
SHAPES = {
    "box": ["low", "high"],
    "half_plane": ["angle", "offset"],
    "disc": ["centre", "radius"],
}
KINDS = {
    "object": "a section with keys",
    "array": "a list",
    "integer": "an integer",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "null": "null",
}


def problems(config: object, schema: Path) -> list[str]:
    """Violations by a configuration of the schema in a file, one line each."""
    if of_value(config) > VALUES:
        return [f"the configuration: has more than {VALUES} values; write no aliases (* and &)"]
    rules = load(schema)
    errors = Validator(rules).iter_errors(config)
    lines = [line for error in sorted(errors, key=_order) for line in _lines(error, rules)]
    told = {line.partition(":")[0] for line in lines}
    return lines + [line for line in _not_finite(config, ()) if line.partition(":")[0] not in told]


def has_all_keys(config: object, schema: Path) -> bool:
    """Whether a configuration has every key that the schema in a file requires."""
    errors = Validator(load(schema)).iter_errors(config)
    return not any(error.validator == "required" for error in errors)


def contradictions(config: dict[str, Any], sets: list[str]) -> list[str]:
    """Contradictions between the keys of a configuration that follows its schema.

    Arguments:
        config: the configuration.
        sets: names of the UCI study's data sets.
    """
    study = config["synthetic"]
    lines = [*_strangers(config), *_uci(config["uci"], sets), *_audio(config["audio"])]
    compared = [] if lines else [*_not_run(config), *_unmeasured(config)]
    lines += [*compared]
    for name in ("synthetic", "audio"):
        lines += [*_grids(name, config[name]), *_tuning(name, config[name])]
    points, most = study["optimum"]["rows"], max(study["K"])
    if points < most:
        lines.append(f"synthetic.optimum.rows = {points}: must be >= the largest K = {most}")
    lines += _properties(study)
    inputs, rows = study["emd"]["inputs"], study["data"]["rows"]["test"]
    if inputs > rows:
        lines.append(
            f"synthetic.emd.inputs = {inputs}: must be <= synthetic.data.rows.test = {rows}"
        )
    moons = study["constants"]["rotating_moons"]
    for name, box in {"domain": study["domain"], "constants.rotating_moons": moons}.items():
        lines += [
            f"synthetic.{name}.high[{axis}] = {high}: must be > low[{axis}] = {low}"
            for axis, (low, high) in enumerate(zip(box["low"], box["high"], strict=True))
            if not high > low
        ]
    return lines


def protocol_contradictions(protocol: dict[str, Any]) -> list[str]:
    """Contradictions in the configuration of a protocol that follows its schema."""
    if "networks_of" in protocol:
        keys = [key for key in ("data_of", "data", "training") if key in protocol]
        return [
            f"{key}: must be absent, as the networks of {protocol['networks_of']} have it"
            for key in keys
        ]
    if ("data_of" in protocol) == ("data" in protocol):
        return ["data: must be there unless data_of or networks_of names a protocol, and only then"]
    if "training" not in protocol:
        return ["training: missing, and networks_of names no protocol"]
    sharing = protocol["training"]["sharing"]
    kind, given = sharing["kind"], sharing.keys() - {"kind"}
    wanted = SHARING[kind]
    if given == set(wanted):
        return []
    listed = ", ".join(["kind", *wanted])
    return [f"training.sharing = {sharing}: the keys of kind {kind} are {listed}"]


def ownership_problems(study: str, protocols: dict[str, Any]) -> list[str]:
    """Contradictions in the configuration of protocols that take data or networks of others."""
    wanted = {"data_of": "draws its own data", "networks_of": "trains its own networks"}
    lines = []
    for name, switches in protocols.items():
        for key, stage in (("data_of", "data"), ("networks_of", "training")):
            other = switches.get(key)
            if other is not None and stage not in protocols.get(other, {}):
                must = f"must be one of {study}.protocols that {wanted[key]}"
                lines.append(f"{name}.{key} = {other}: {must}")
    return lines


def data_contradictions(table: dict[str, Any]) -> list[str]:
    """Contradictions in the configuration of files from elsewhere that follows its schema."""
    lines: list[str] = []
    seen: dict[str, str] = {}
    for section, entries in table.items():
        for name, entry in entries.items():
            if "record" in entry:
                continue  # which lists its files itself
            place, file = f"{section}.{name}.file", entry["file"]
            wanted = ["package"] if "package" in file else ["path", "sources", "checksums"]
            allowed = wanted if "package" in file else [*wanted, "bytes"]
            lines += [f"{place}.{key}: missing" for key in wanted if key not in file]
            lines += [
                f"{place}.{key}: must be absent, as a package has the data"
                for key in file
                if key not in allowed
            ]
            lines += _sources(place, file.get("sources", []))
            path = file.get("path", place)
            if path in seen:
                lines.append(f"{place}.path = {path}: is that of {seen[path]} too")
            seen[path] = place
    return lines


def _sources(place: str, sources: list[dict[str, str]]) -> Iterator[str]:
    """Faults of the places that a file may come from: an address, or a package."""
    for index, source in enumerate(sources):
        given, package = source.keys(), {"package", "version", "member"}
        if given != package and ("url" not in given or given & {"package", "version"}):
            must = "must have url (and member if it is an archive), or package, version and member"
            yield f"{place}.sources[{index}]: {must}"


def set_name(entry: str | dict[str, Any]) -> str:
    """Name of an entry of uci.datasets in the configuration; a user's has that of its file."""
    return Path(entry["csv"]).stem if isinstance(entry, dict) else entry


def _uci(study: dict[str, Any], sets: list[str]) -> Iterator[str]:
    """Faults of the protocols and data sets of the UCI study."""
    names = []
    for index, entry in enumerate(study["datasets"]):
        place = f"uci.datasets[{index}]"
        name = set_name(entry)
        if entry is name and name not in sets:
            close = get_close_matches(name, sets, n=1)
            hint = f" ({_hint(close)})" if close else ""
            own = "or a table of your own, { csv: ..., target: ... }"
            yield f"{place} = {name}: must be one of {', '.join(sets)}{hint}, {own}"
        elif entry is not name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
            must = "the file's name may have letters, digits, _ and - only; rename it"
            yield f"{place}.csv = {entry['csv']}: {must}"
        elif name in names or (entry is not name and name in sets):
            yield f"{place} = {entry}: there is another data set {name}; rename the file"
        names.append(name)
    for index, name in enumerate(study["clean"]):
        if name not in sets or name in names:
            known = [other for other in sets if other not in names]
            must = f"must be one of {', '.join(known)}, and not in uci.datasets"
            yield f"uci.clean[{index}] = {name}: {must}"
    if study["headline"] not in study["protocols"]:
        yield f"uci.headline = {study['headline']}: must be in uci.protocols = {study['protocols']}"
    bins = study["bins"]
    if not bins["high"] > bins["low"]:
        yield f"uci.bins.high = {bins['high']}: must be > low = {bins['low']}"


def _audio(study: dict[str, Any]) -> Iterator[str]:
    """Faults of the protocols, folds and sizes of the audio study."""
    if study["headline"] not in study["protocols"]:
        known = list(study["protocols"])
        yield f"audio.headline = {study['headline']}: must be in audio.protocols = {known}"
    if study["predictions"]["K"] not in study["K"]:
        must = f"must be in audio.K = {study['K']}"
        yield f"audio.predictions.K = {study['predictions']['K']}: {must}"
    places: dict[tuple[Any, ...], str] = {}
    for name, fold in study["folds"].items():
        for place in itertools.product(fold["splits"], fold["parts"]):
            if place in places:
                scenes = f"scenes {place[1]} of split {place[0]}"
                yield f"audio.folds.{name}: has {scenes}, as {places[place]} has too; remove one"
            places[place] = name
    bands, every = study["features"]["bands"], study["features"]["every"]
    if bands * every > 1024:
        yield f"audio.features.every = {every}: there are 1024 frequencies, not {bands} x {every}"
    pools = study["training"]["trunk"]["pools"]
    if bands % math.prod(pools):
        must = f"must be a multiple of {math.prod(pools)}"
        yield f"audio.features.bands = {bands}: {must}, the product of audio.training.trunk.pools"


def _tuning(name: str, study: dict[str, Any]) -> Iterator[str]:
    tuning = study["evaluation"]["tuning"]
    if not tuning["high"] > tuning["low"]:
        where = f"{name}.evaluation.tuning"
        yield f"{where}.high = {tuning['high']}: must be > low = {tuning['low']}"


def _grids(name: str, study: dict[str, Any]) -> Iterator[str]:
    """Faults of the grids of the histograms: they need one, and only one, for each K."""
    sizes = [math.prod(grid) for grid in study["grids"]]
    for index, size in enumerate(sizes):
        if size in sizes[:index]:
            grid, other = study["grids"][index], study["grids"][sizes.index(size)]
            yield f"{name}.grids[{index}] = {grid}: has {size} bins, as many as {other}"
    for model in (kind for kind in study["models"] if NETWORKS[kind].on_grid):
        for index, K in enumerate(study["K"]):
            if K not in sizes:
                yield f"{name}.K[{index}] = {K}: {model} needs an entry of grids with {K} bins"


def _properties(study: dict[str, Any]) -> Iterator[str]:
    """Faults of the sizes and convex sets of the properties."""
    where, settings = "synthetic.properties", study["properties"]
    points, most = settings["points"], max(study["K"])
    if points < most:
        yield f"{where}.points = {points}: must be >= the largest K = {most}"
    names = [one["name"] for one in settings["sets"]]
    for index, one in enumerate(settings["sets"]):
        keys = SHAPES[one["shape"]]
        if one.keys() - {"name", "shape"} != set(keys):
            wanted = ", ".join(["name", "shape", *keys])
            yield f"{where}.sets[{index}] = {one}: the keys of a {one['shape']} are {wanted}"
        if one["name"] in names[:index]:
            yield f"{where}.sets[{index}].name = {one['name']}: there is another set of this name"


def _strangers(config: dict[str, Any]) -> Iterator[str]:
    """Names that the configuration uses and the study does not have."""
    study = config["synthetic"]
    known = {
        "headline": ("synthetic.protocols", list(study["protocols"])),
        "protocol": ("synthetic.protocols", list(study["protocols"])),
        "protocols": ("synthetic.protocols", list(study["protocols"])),
        "K": ("synthetic.K", study["K"]),
        "dataset": ("synthetic.datasets", study["datasets"]),
        "datasets": ("synthetic.datasets", study["datasets"]),
        "x": ("synthetic.predictions.x", study["predictions"]["x"]),
        "set": ("synthetic.properties.sets", [one["name"] for one in study["properties"]["sets"]]),
    }
    askers: dict[tuple[str, ...], dict[str, Any]] = {
        ("synthetic",): {"headline": study["headline"]}
    }
    askers |= {("synthetic", "explorer"): {"protocols": study["explorer"]["protocols"]}}
    askers |= {("figures", figure): settings for figure, settings in config["figures"].items()}
    for path, settings in askers.items():
        for key, value in settings.items():
            if key == "h":
                continue  # see _unmeasured
            place, allowed = known[key]
            for index, entry in enumerate(value if isinstance(value, list) else [value]):
                name = _name([*path, key, *([index] if isinstance(value, list) else [])])
                if entry not in allowed:
                    yield f"{name} = {entry}: must be in {place} = {allowed}"


def _not_run(config: dict[str, Any]) -> Iterator[str]:
    """Cases that a figure compares and a protocol does not run or measure."""
    study, figure = config["synthetic"], config["figures"]["variants"]
    for name, key in itertools.product(figure["protocols"], ("datasets", "K")):
        own, where = study["protocols"][name], f"synthetic.protocols.{name}"
        restricted = own.get("properties", {})
        for run, place in (
            (own.get(key, study[key]), f"{where}.{key}"),
            (restricted.get(key, figure[key]), f"{where}.properties.{key}"),
        ):
            missing = [value for value in figure[key] if value not in run]
            if missing:
                yield (
                    f"figures.variants.{key} = {figure[key]}: {missing[0]} must be in "
                    f"{place} = {run}"
                )


def _unmeasured(config: dict[str, Any]) -> Iterator[str]:
    """Bandwidths that figures against K show and the study does not measure."""
    study, figures = config["synthetic"], config["figures"]
    distances, deviations = study["emd"]["h"], figures["quantitative_std"]["h"]
    for index, name in enumerate(figures["quantitative"]["datasets"]):
        if name not in distances:
            place = f"figures.quantitative.datasets[{index}]"
            yield f"{place} = {name}: must be in synthetic.emd.h, which has {', '.join(distances)}"
            continue
        if name not in deviations:
            where = f"figures.quantitative_std.h.{name}"
            yield f"{where}: missing, must be some of synthetic.emd.h.{name} = {distances[name]}"
        for place, values, source, allowed in (
            (f"synthetic.emd.h.{name}", distances[name], "evaluation.h", study["evaluation"]["h"]),
            (
                f"figures.quantitative_std.h.{name}",
                deviations.get(name, []),
                f"emd.h.{name}",
                distances[name],
            ),
        ):
            for entry, h in enumerate(values):
                if h not in allowed:
                    yield f"{place}[{entry}] = {h}: must be in synthetic.{source} = {allowed}"


def load(path: Path) -> Any:
    """Content of a YAML file of the configuration."""
    loader = SafeLoader(path.read_text(encoding="utf-8"))
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _lines(error: ValidationError, rules: dict[str, Any]) -> Iterator[str]:
    path, schema = list(error.absolute_path), error.schema
    if error.validator == "additionalProperties":
        allowed = list(schema["properties"])
        for key in error.instance:
            if key not in allowed:
                close = get_close_matches(str(key), allowed, n=1)
                hint = f", {_hint(close)}" if close else ""
                yield f"{_name([*path, key])}: unknown key{hint}; allowed: {', '.join(allowed)}"
    elif error.validator == "required":
        for key in schema["required"]:
            if key not in error.instance and f"'{key}'" in error.message:
                wanted = _wanted(schema["properties"][key], rules)
                yield f"{_name([*path, key])}: missing, {wanted}"
    else:
        shown = foreign(repr(error.instance))
        yield f"{_name(path)} = {shown}: {_wanted(schema, rules, error)}"


def _wanted(
    schema: dict[str, Any], rules: dict[str, Any], error: ValidationError | None = None
) -> str:
    """The demand of a schema, in words."""
    schema = _resolve(schema, rules)
    if error is not None and error.validator == "uniqueItems":
        return "must not list anything twice"
    if "enum" in schema:
        allowed = list(map(str, schema["enum"]))
        close = get_close_matches(str(error.instance), allowed, n=1) if error else []
        return f"must be one of {', '.join(allowed)}" + (f" ({_hint(close)})" if close else "")
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    text = f"must be {' or '.join(KINDS[kind] for kind in kinds)}"
    if "array" in kinds:
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        text += f" of {low} entries" if low == high else f" of at least {low}" if low else ""
        if error is not None and error.validator == "maxItems" and low != high:
            text += f" and at most {high}"
        if "items" in schema:
            text += f", each of which {_wanted(schema['items'], rules)}"
    bounds = [f"{sign} {schema[bound]}" for bound, sign in BOUNDS.items() if bound in schema]
    text += f" {' and '.join(bounds)}" if bounds else ""
    if error is not None and error.validator == "minLength":
        text += ", not an empty one"
    if error is not None and error.validator == "maxLength":
        text += f" of at most {schema['maxLength']} characters"
    if "pattern" in schema:
        text += f" that matches {schema['pattern']}"
    if error is not None and isinstance(error.instance, str) and _is_number(error.instance):
        text += " (YAML reads this as text: write it without quotes, and 1e-3 as 0.001 or 1.0e-3)"
    return text


def _resolve(schema: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    target: Any = rules
    for part in schema["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**_resolve(target, rules), **schema}


def _not_finite(value: object, path: tuple[Any, ...]) -> Iterator[str]:
    """Infinities and nans, which no comparison in a schema catches."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _not_finite(inner, (*path, key))
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{_name(list(path))} = {value}: must be finite"


def _hint(close: list[str]) -> str:
    return f"did you mean {close[0]}?"


def _name(path: list[Any]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the configuration"


def _order(error: ValidationError) -> list[str]:
    return [str(part) for part in error.absolute_path]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
