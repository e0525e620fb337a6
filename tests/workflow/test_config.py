"""Configurations: good ones pass, bad ones stop everything with a message that says what to do."""

import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading import ROOT
from snakemake.utils import update_config
from warm import python

from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.estimators import swept_in
from vwta.paper.methods import networks_in
from vwta.paper.problems import title
from vwta.paper.synthetic.true_laws import PROBLEMS
from vwta.paper.uci.datasets import FORMATS, official_splits
from vwta.paper.uci.regression import splits_sha256
from vwta.workflow import validation

SCHEMAS = ROOT / "workflow/schemas"
OTHERS = {"config", "data", "verdicts", "claims", "differences", "adopt"}
TIERS = sorted({path.stem for path in (ROOT / "config").glob("*.yaml")} - OTHERS)


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def overlaid(change: dict[str, Any]) -> dict[str, Any]:
    """The whole paper's configuration with a change laid over it, as Snakemake does it."""
    config = read("config/config.yaml")
    update_config(config, deepcopy(change))
    return config


def complaints(config: Any) -> list[str]:
    sets = [*FORMATS, "diabetes"]
    problems = validation.problems(config, SCHEMAS / "config.schema.yaml")
    return problems or validation.contradictions(config, sets)


@pytest.mark.parametrize("tier", ["config", *TIERS])
def test_tiers_are_valid(tier: str) -> None:
    config = overlaid({} if tier == "config" else read(f"config/{tier}.yaml"))
    assert complaints(config) == []
    assert config["tier"] == ("full" if tier == "config" else tier)


def test_sizes_for_adoption_are_valid_over_the_smoke_tier() -> None:
    config = overlaid(read("config/smoke.yaml"))
    update_config(config, read("config/adopt.yaml"))
    assert complaints(config) == []


@pytest.mark.parametrize(
    "path", [f"{path.parent.name}/{path.stem}" for path in (ROOT / "config/protocols").glob("*/*")]
)
def test_protocols_are_valid(path: str) -> None:
    study = path.partition("/")[0]
    switches = read(f"config/protocols/{path}.yaml")
    assert validation.problems(switches, SCHEMAS / f"protocol.{study}.schema.yaml") == []
    if study == "synthetic":
        assert validation.protocol_contradictions(switches) == []


@pytest.mark.parametrize("sharing", [{"kind": "top"}, {"kind": "relaxed", "epsilon": 0.1, "n": 3}])
def test_wrong_sharing_is_explained(sharing: dict[str, Any]) -> None:
    switches = read("config/protocols/synthetic/paper.yaml")
    switches["training"]["sharing"] = sharing
    assert validation.problems(switches, SCHEMAS / "protocol.synthetic.schema.yaml") == []
    (line,) = validation.protocol_contradictions(switches)
    assert f"the keys of kind {sharing['kind']} are kind, " in line


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"networks_of": "literal"}, "data: must be absent, as the networks of literal have it"),
        (
            {"data_of": "literal"},
            "data: must be there unless data_of or networks_of names a",
        ),
        ({"data": None}, "data: must be there unless data_of or networks_of names a"),
        ({"training": None}, "training: missing, and networks_of names no protocol"),
    ],
)
def test_stages_of_a_protocol_are_its_own_or_another_s(change: dict[str, Any], line: str) -> None:
    switches = {**read("config/protocols/synthetic/paper.yaml"), **change}
    switches = {key: value for key, value in switches.items() if value is not None}
    assert validation.problems(switches, SCHEMAS / "protocol.synthetic.schema.yaml") == []
    assert any(found.startswith(line) for found in validation.protocol_contradictions(switches))


def test_another_s_data_and_networks_must_exist() -> None:
    protocols = {
        "paper": {"data": {}, "training": {}},
        "relaxed": {"data_of": "paper", "training": {}},
        "literal": {"networks_of": "relaxed"},
    }
    assert validation.ownership_problems("synthetic", protocols) == []
    protocols["top"] = {"data_of": "relaxed", "training": {}}
    protocols["other"] = {"networks_of": "literal"}
    protocols["lost"] = {"networks_of": "nobody"}
    assert validation.ownership_problems("synthetic", protocols) == [
        "top.data_of = relaxed: must be one of synthetic.protocols that draws its own data",
        "other.networks_of = literal: must be one of synthetic.protocols that trains its own "
        "networks",
        "lost.networks_of = nobody: must be one of synthetic.protocols that trains its own "
        "networks",
    ]


def test_lists_replace_and_sections_merge() -> None:
    config = overlaid({"synthetic": {"K": [4], "data": {"rows": {"test": 7}}}})
    assert config["synthetic"]["K"] == [4]
    assert config["synthetic"]["data"]["rows"]["test"] == 7
    assert config["synthetic"]["data"]["rows"]["train"] == 100_000


BAD = {
    "protocol restricted to a stranger": (
        {"synthetic": {"protocols": {"paper": {"emd": {"models": ["mdm"]}}}}},
        "synthetic.protocols.paper.emd.models[0] = 'mdm': must be one of wta, hist, mdn, local",
    ),
    "figure of what a protocol does not run": (
        {"figures": {"variants": {"K": [16], "protocols": ["literal", "relaxed"]}}},
        "figures.variants.K = [16]: 16 must be in synthetic.protocols.relaxed.K = [49, 100]",
    ),
    "figure of properties that are left out": (
        {"synthetic": {"protocols": {"relaxed": {"properties": {"K": [100]}}}}},
        "figures.variants.K = [49, 100]: 49 must be in "
        "synthetic.protocols.relaxed.properties.K = [100]",
    ),
    "figure of an unknown protocol": (
        {"figures": {"variants": {"protocols": ["papr"]}}},
        "figures.variants.protocols[0] = papr: must be in synthetic.protocols = [",
    ),
    "unknown protocol": (
        {"synthetic": {"protocols": {"relased": {}}}},
        "synthetic.protocols.relased: unknown key, did you mean released?",
    ),
    "unknown headline": (
        {"synthetic": {"headline": "none"}},
        "synthetic.headline = none: must be in synthetic.protocols = [",
    ),
    "unknown key": (
        {"synthetic": {"trainig": 1}},
        "synthetic.trainig: unknown key, did you mean training?; allowed: headline, protocols,",
    ),
    "audio fold that holds the same scenes as another": (
        {"audio": {"folds": {"test": {"splits": [2], "parts": ["train"]}}}},
        "audio.folds.test: has scenes train of split 2, as train has too; remove one",
    ),
    "bands that cannot be pooled": (
        {"audio": {"features": {"bands": 100}}},
        "audio.features.bands = 100: must be a multiple of 128, the product of audio.training",
    ),
    "more frequencies than there are": (
        {"audio": {"features": {"every": 2}}},
        "audio.features.every = 2: there are 1024 frequencies, not 1024 x 2",
    ),
    "picture of an audio network that is not trained": (
        {"audio": {"predictions": {"K": 10}}},
        "audio.predictions.K = 10: must be in audio.K = [9, 16, 20, 25]",
    ),
    "audio histogram without a grid": (
        {"audio": {"K": [9, 10, 16]}},
        "audio.K[1] = 10: hist needs an entry of grids with 10 bins",
    ),
    "source of audio that does not exist": (
        {"audio": {"source": "ansin"}},
        "audio.source = 'ansin': must be one of ansyn, resynthesis, synthetic (did you mean",
    ),
    "unknown section": (
        {"uvi": {}},
        "uvi: unknown key, did you mean uci?; allowed: tier, results,",
    ),
    "unknown set": (
        {"uci": {"datasets": ["bosten"]}},
        "uci.datasets[0] = bosten: must be one of boston, concrete,",
    ),
    "own table without a target": (
        {"uci": {"datasets": [{"csv": "a.csv"}]}},
        "uci.datasets[0].target: missing, must be a text",
    ),
    "own table with the name of a set": (
        {"uci": {"datasets": [{"csv": "data/wine.csv", "target": "y"}]}},
        "uci.datasets[0] = {'csv': 'data/wine.csv', 'target': 'y'}: there is another data set",
    ),
    "own table with a name for no file of ours": (
        {"uci": {"datasets": [{"csv": "my houses.csv", "target": "y"}]}},
        "uci.datasets[0].csv = my houses.csv: the file's name may have letters, digits, _ and -",
    ),
    "set that is a number": (
        {"uci": {"datasets": [3]}},
        "uci.datasets[0] = 3: must be a text or a section with keys",
    ),
    "headline that is not run": (
        {"uci": {"protocols": ["released"]}},
        "uci.headline = paper: must be in uci.protocols = ['released']",
    ),
    "bins upside down": (
        {"uci": {"bins": {"high": -2.0}}},
        "uci.bins.high = -2.0: must be > low = -1.0",
    ),
    "level of a whole": (
        {"uci": {"evaluation": {"level": 1}}},
        "uci.evaluation.level = 1: must be a number > 0 and < 1",
    ),
    "wrong type": (
        {"synthetic": {"training": {"epochs": "ten"}}},
        "synthetic.training.epochs = 'ten': must be an integer >= 1",
    ),
    "fraction": (
        {"synthetic": {"training": {"epochs": 2.5}}},
        "synthetic.training.epochs = 2.5: must be an integer >= 1",
    ),
    "boolean": (
        {"synthetic": {"emd": {"samples": True}}},
        "synthetic.emd.samples = True: must be an integer >= 1",
    ),
    "no list": (
        {"synthetic": {"K": 9}},
        "synthetic.K = 9: must be a list of at least 1, each of which must be an integer >= 1",
    ),
    "no folder": (
        {"data": {"mirror": 3}},
        "data.mirror = 3: must be a text or null",
    ),
    "no cache": (
        {"data": {"cache": ""}},
        "data.cache = '': must be a text, not an empty one",
    ),
    "no section": (
        {"synthetic": {"data": None}},
        "synthetic.data = None: must be a section with keys",
    ),
    "K of 0": ({"synthetic": {"K": [0]}}, "synthetic.K[0] = 0: must be an integer >= 1"),
    "K twice": ({"synthetic": {"K": [9, 9]}}, "synthetic.K = [9, 9]: must not list anything twice"),
    "empty list": (
        {"synthetic": {"seeds": []}},
        "synthetic.seeds = []: must be a list of at least 1",
    ),
    "unknown dataset": (
        {"synthetic": {"datasets": ["single_gausian"]}},
        "synthetic.datasets[0] = 'single_gausian': must be one of",
    ),
    "nearly a dataset": (
        {"synthetic": {"datasets": ["single_gausian"]}},
        "(did you mean single_gaussian?)",
    ),
    "negative h": (
        {"synthetic": {"evaluation": {"h": [0.1, -0.2]}}},
        "synthetic.evaluation.h[1] = -0.2: must be a number > 0",
    ),
    "infinite h": (
        {"synthetic": {"evaluation": {"h": [float("inf")]}}},
        "synthetic.evaluation.h[0] = inf: must be a number > 0 and <= 1000000",
    ),
    "h that is no number": (
        {"synthetic": {"evaluation": {"h": [float("nan")]}}},
        "synthetic.evaluation.h[0] = nan: must be finite",
    ),
    "number that YAML reads as text": (
        {"synthetic": {"training": {"learning_rate": "1e-3"}}},
        "learning_rate = '1e-3': must be a number > 0 and <= 1000000 (YAML reads this as text",
    ),
    "folder outside results": (
        {"tier": "../elsewhere"},
        "tier = '../elsewhere': must be a text that matches",
    ),
    "unknown device": ({"device": "gpu"}, "device = 'gpu': must be one of auto, cpu, cuda"),
    "corner of three": (
        {"synthetic": {"domain": {"low": [-1, -1, -1]}}},
        "synthetic.domain.low = [-1, -1, -1]: must be a list of 2 entries",
    ),
    "empty domain": (
        {"synthetic": {"domain": {"low": [-1.0, 2.0]}}},
        "synthetic.domain.high[1] = 1.0: must be > low[1] = 2.0",
    ),
    "histogram without a grid": (
        {"synthetic": {"grids": [[3, 3], [4, 4], [5, 5], [7, 7], [10, 10]]}},
        "synthetic.K[2] = 20: hist needs an entry of grids with 20 bins",
    ),
    "two grids for a K": (
        {"synthetic": {"grids": [[3, 3], [4, 4], [5, 4], [5, 5], [7, 7], [10, 10], [4, 5]]}},
        "synthetic.grids[6] = [4, 5]: has 20 bins, as many as [5, 4]",
    ),
    "grid of three": (
        {"synthetic": {"grids": [[3, 3, 3]]}},
        "synthetic.grids[0] = [3, 3, 3]: must be a list of 2 entries",
    ),
    "method without bandwidth": (
        {"synthetic": {"evaluation": {"tuning": {"methods": ["unif_hist"]}}}},
        "synthetic.evaluation.tuning.methods[0] = 'unif_hist': must be one of v_wta, k_wta,",
    ),
    "empty interval": (
        {"synthetic": {"evaluation": {"tuning": {"low": 3.0}}}},
        "synthetic.evaluation.tuning.high = 2.0: must be > low = 3.0",
    ),
    "fewer points than atoms": (
        {"synthetic": {"optimum": {"rows": 50}}},
        "synthetic.optimum.rows = 50: must be >= the largest K = 100",
    ),
    "more inputs than test rows": (
        {"synthetic": {"data": {"rows": {"test": 100}}}},
        "synthetic.emd.inputs = 2000: must be <= synthetic.data.rows.test = 100",
    ),
    "fewer draws than atoms": (
        {"synthetic": {"properties": {"points": 50}}},
        "synthetic.properties.points = 50: must be >= the largest K = 100",
    ),
    "odd number of directions": (
        {"synthetic": {"properties": {"directions": {"count": 41}}}},
        "directions.count = 41: must be an integer >= 8 and <= 10000 and a multiple of 8",
    ),
    "set with the keys of another shape": (
        {"synthetic": {"properties": {"sets": [{"name": "disc", "shape": "disc", "low": [0, 0]}]}}},
        "the keys of a disc are name, shape, centre, radius",
    ),
    "two sets of a name": (
        {
            "synthetic": {
                "properties": {
                    "sets": [
                        {"name": "disc", "shape": "half_plane", "angle": 0, "offset": offset}
                        for offset in (0, 1)
                    ]
                }
            }
        },
        "synthetic.properties.sets[1].name = disc: there is another set of this name",
    ),
    "picture of an unknown set": (
        {"figures": {"proof_partition": {"set": "ring"}}},
        "figures.proof_partition.set = ring: must be in synthetic.properties.sets = ['quadrant', ",
    ),
    "picture of an unknown protocol": (
        {"figures": {"proof_radius": {"protocol": "papr"}}},
        "figures.proof_radius.protocol = papr: must be in synthetic.protocols = [",
    ),
    "h of no problem": (
        {"synthetic": {"emd": {"h": {"moons": [0.1]}}}},
        "synthetic.emd.h.moons: unknown key; allowed: single_gaussian,",
    ),
    "input outside of [0, 1]": (
        {"figures": {"qualitative": {"x": 2}}},
        "figures.qualitative.x = 2: must be a number >= 0 and <= 1",
    ),
    "picture at an unknown input": (
        {"figures": {"dirac_limits": {"x": [0.01, 0.5]}}},
        "figures.dirac_limits.x[1] = 0.5: must be in synthetic.predictions.x = [0.01, ",
    ),
    "picture of an unknown problem": (
        {"synthetic": {"datasets": ["single_gaussian", "rotating_moons", "changing_damier"]}},
        "figures.dirac_limits.dataset = uniform_to_gaussians: must be in synthetic.datasets",
    ),
    "figure of an untrained K": (
        {"figures": {"nll_against_h": {"K": [11]}}},
        "figures.nll_against_h.K[0] = 11: must be in synthetic.K = [9, ",
    ),
    "figure of a problem without distances": (
        {"figures": {"quantitative": {"datasets": ["uniform_to_gaussians"]}}},
        "figures.quantitative.datasets[0] = uniform_to_gaussians: must be in synthetic.emd.h",
    ),
    "figure of a bandwidth without likelihood": (
        {"synthetic": {"evaluation": {"h": [0.1, 0.15, 0.2, 0.5]}}},
        "synthetic.emd.h.changing_damier[1] = 0.3: must be in synthetic.evaluation.h = [0.1, ",
    ),
    "figure of a bandwidth without distances": (
        {"figures": {"quantitative_std": {"h": {"rotating_moons": [0.1, 0.3]}}}},
        "figures.quantitative_std.h.rotating_moons[1] = 0.3: must be in "
        "synthetic.emd.h.rotating_moons = [0.1, 0.15, 0.2]",
    ),
    "nothing tuned": (
        {"synthetic": {"evaluation": {"tuning": {"methods": []}}}},
        "synthetic.evaluation.tuning.methods = []: must be a list of at least 1",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_config_is_explained(case: str) -> None:
    change, message = BAD[case]
    lines = complaints(overlaid(change))
    assert len(lines) == 1, lines
    assert message in lines[0]


def test_missing_key_is_explained() -> None:
    config = overlaid({})
    del config["synthetic"]["K"]
    assert complaints(config) == [
        "synthetic.K: missing, must be a list of at least 1, each of which must be an integer >= 1 "
        "and <= 10000"
    ]


def test_missing_bandwidths_are_explained() -> None:
    config = overlaid({})
    del config["figures"]["quantitative_std"]["h"]["changing_damier"]
    (line,) = complaints(config)
    assert "figures.quantitative_std.h.changing_damier: missing, must be some of" in line


def test_all_problems_are_told_at_once() -> None:
    change = {"synthetic": {"K": [0], "datasets": ["moons"]}, "colour": "red"}
    assert len(complaints(overlaid(change))) == 3


@pytest.mark.parametrize(
    "case", ["unknown key", "wrong type", "K of 0", "unknown dataset", "negative h"]
)
def test_snakemake_stops_before_any_job(case: str, tmp_path: Path) -> None:
    change, message = BAD[case]
    overlay = tmp_path / "bad.yaml"
    overlay.write_text(yaml.safe_dump({"tier": "never", **change}))
    command = [*python(), "-m", "snakemake", "--configfile", str(overlay), "--cores", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert message in output
    assert "Traceback" not in output
    assert ", line " not in output
    assert "Nothing was run." in output
    assert not (ROOT / "results" / "never").exists()


def test_table_of_files_is_valid() -> None:
    table = read("config/data.yaml")
    assert validation.problems(table, SCHEMAS / "data.schema.yaml") == []
    assert validation.data_contradictions(table) == []
    assert set(table["uci"]) == {*FORMATS, "diabetes"}
    for name, entry in table["uci"].items():
        if name in FORMATS:
            assert entry["inputs"] == FORMATS[name].inputs
        found = splits_sha256(official_splits(name, entry["rows"], entry["splits"]["count"]))
        assert found == entry["splits"]["sha256"], name


BAD_FILES = {
    "plain http": (
        {"uci": {"boston": {"file": {"sources": [{"url": "http://host/file"}]}}}},
        "uci.boston.file.sources[0].url = 'http://host/file': must be a text that matches ^https://",
    ),
    "no checksum": (
        {"uci": {"boston": {"file": {"checksums": ["sha256:12"]}}}},
        "uci.boston.file.checksums[0] = 'sha256:12': must be a text that matches ^(sha256:",
    ),
    "outside of the cache": (
        {"uci": {"boston": {"file": {"path": "uci/../../housing.data"}}}},
        "uci.boston.file.path = 'uci/../../housing.data': must be a text that matches",
    ),
    "unknown set": ({"uci": {"bostn": {}}}, "uci.bostn: unknown key, did you mean boston?"),
    "package with an address": (
        {"uci": {"boston": {"file": {"package": "scikit-learn"}}}},
        "uci.boston.file.path: must be absent, as a package has the data",
    ),
    "two sets in a file": (
        {"uci": {"yacht": {"file": {"path": "uci/housing.data"}}}},
        "uci.yacht.file.path = uci/housing.data: is that of uci.boston.file too",
    ),
    "record of plain http": (
        {"audio": {"ansyn": {"record": "http://zenodo.org/api/records/1237703"}}},
        "audio.ansyn.record = 'http://zenodo.org/api/records/1237703': must be a text that matches",
    ),
    "page in place of the record": (
        {"audio": {"ansyn": {"record": "https://zenodo.org/records/1237703"}}},
        "audio.ansyn.record = 'https://zenodo.org/records/1237703': must be a text that matches",
    ),
    "archive with rows": (
        {"audio": {"sounds": {"rows": 1}}},
        "audio.sounds.rows: unknown key; allowed: file, per_class, licence, citation",
    ),
    "archive at the place of another file": (
        {"audio": {"sounds": {"file": {"path": "uci/housing.data"}}}},
        "audio.sounds.file.path = uci/housing.data: is that of uci.boston.file too",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_table_of_files_is_explained(case: str) -> None:
    change, message = BAD_FILES[case]
    table = read("config/data.yaml")
    update_config(table, deepcopy(change))
    lines = validation.problems(
        table, SCHEMAS / "data.schema.yaml"
    ) or validation.data_contradictions(table)
    assert message in lines[0]


def test_incomplete_entry_is_explained() -> None:
    table = read("config/data.yaml")
    del table["uci"]["boston"]["file"]["checksums"]
    assert validation.problems(table, SCHEMAS / "data.schema.yaml") == []
    assert validation.data_contradictions(table) == ["uci.boston.file.checksums: missing"]


def test_schema_and_code_know_the_same_names() -> None:
    schema = read("workflow/schemas/config.schema.yaml")
    assert set(schema["$defs"]["dataset"]["enum"]) == set(PROBLEMS)
    assert set(schema["$defs"]["bandwidths_by_dataset"]["properties"]) == set(PROBLEMS)
    assert set(schema["$defs"]["model"]["enum"]) == set(networks_in("synthetic"))
    assert set(schema["$defs"]["swept"]["items"]["enum"]) == set(swept_in("synthetic"))
    files = {path.stem for path in (ROOT / "config/protocols/synthetic").glob("*.yaml")}
    studies = schema["properties"]
    assert set(studies["synthetic"]["properties"]["protocols"]["properties"]) == files
    files = {path.stem for path in (ROOT / "config/protocols/uci").glob("*.yaml")}
    kinds = ("uci_protocol", "uci_ablation")
    assert {name for kind in kinds for name in schema["$defs"][kind]["enum"]} == files
    assert schema["properties"]["audio"]["properties"]["noise"]["required"] == list(CLASSES)
    assert all(title(name) == law.title for name, law in PROBLEMS.items())
