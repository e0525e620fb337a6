# What all studies share: the checked configuration, where things go, what a job depends on.

import itertools
import math
import os
import sys
from pathlib import Path

from vwta.workflow import lock, validation
from vwta.workflow.digest import digest as digest_of
from vwta.workflow.digest import share

share(Path(workflow.basedir))
if not workflow.is_main_process:  # a submission is at work between two of its jobs as well
    lock.attend()


onstart:
    lock.begin(Path("results"))


def digest(script):
    """Hash of a script and of all that it imports from vwta."""
    return digest_of(Path(workflow.basedir, "workflow", "scripts", script))


SCHEMAS = Path(workflow.basedir, "workflow", "schemas")

OVERLAYS = [str(path) for path in workflow.overwrite_configfiles]


def check(problems, place):
    """Stop before any job if there are problems."""
    if problems:
        lines = "\n".join(f"  {line}" for line in problems)
        sys.exit(f"{place} cannot be used:\n{lines}\nNothing was run.")


def read_protocol(study, name):
    """The switches of a protocol of a study, by stage."""
    path = Path(workflow.basedir, "config", "protocols", study, f"{name}.yaml")
    switches = validation.load(path)
    problems = validation.problems(switches, SCHEMAS / f"protocol.{study}.schema.yaml")
    if study == "synthetic" and not problems:
        problems = validation.protocol_contradictions(switches)
    check(problems, f"The protocol {study}/{path.name}")
    return switches


FILES = validation.load(Path(workflow.basedir, "config", "data.yaml"))
check(
    validation.problems(FILES, SCHEMAS / "data.schema.yaml")
    or validation.data_contradictions(FILES),
    "The table of files config/data.yaml",
)
check(
    validation.problems(config, SCHEMAS / "config.schema.yaml")
    or validation.contradictions(config, list(FILES["uci"])),
    " + ".join(["The configuration config/config.yaml", *OVERLAYS]),
)

STUDIES = ["synthetic", "uci", "audio"]
RESULTS = f"results/{config['tier']}"
LOGS = f"{RESULTS}/logs"
BENCHMARKS = f"{RESULTS}/benchmarks"
UNFINISHED = f"{RESULTS}/.unfinished"  # no rule declares what is in there, so it outlives failures
PROTOCOLS = {
    name: read_protocol("synthetic", name) for name in config["synthetic"]["protocols"]
}
UCI_PROTOCOLS = {
    name: read_protocol("uci", name) for name in config["uci"]["protocols"]
}
check(
    validation.ownership_problems(PROTOCOLS),
    "The choice of protocols in synthetic.protocols",
)
GPUS = int(config["device"] == "cuda")
at_once = workflow.resource_settings.cores  # None: any number
if workflow.is_main_process and workflow.nodes and at_once != 1:
    logger.warning(
        "On a cluster jobs of a submission run one after the other, but the time they ask for is that of "
        f"{at_once or 'all'} at once: it may not suffice. Remedy: --workflow-profile profiles/slurm, in "
        "place of profiles/default and not beside it as with --profile; or --cores 1"
    )
CACHE = os.path.expanduser(config["data"]["cache"])
NOTES = f"{CACHE}/.absent"  # a note for each file that could not be had
MIRROR = os.path.expanduser(
    config["data"]["mirror"] or os.environ.get("VWTA_MIRROR", "")
)


def chunks(items, size):
    """Consecutive pieces of a list, of at most a size."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def growing(amount):
    """Resource function: an amount, and as much again for each attempt that failed."""
    return lambda wildcards, attempt: amount * attempt


def kept_at(entry):
    """Where the file of an entry of FILES is kept, None if a package brings it."""
    path = entry["file"].get("path")
    return path and f"{CACHE}/{path}"


def unrecorded(value):
    """Params function: a value whose change runs nothing again.

    Snakemake records no params that follow from the output.
    """
    return lambda wildcards, output: value


def trainer(name):
    """The protocol whose networks a protocol takes: often itself."""
    return PROTOCOLS[name].get("networks", name)


def drawer(name):
    """The protocol whose data a protocol takes: often itself."""
    return PROTOCOLS[trainer(name)].get("sets", trainer(name))


def taken_from(protocol, pattern):
    """Input function: a pattern's path in another protocol, which follows from the job's own."""
    return lambda wildcards: pattern.format(
        **{**wildcards, "protocol": protocol(wildcards.protocol)}
    )


def scope(study, name, stage=None):
    """What of a study a protocol runs in a stage: lists of datasets, models, K and seeds."""
    restriction = study["protocols"][name]
    narrowed = {**study, **restriction, **restriction.get(stage, {})}
    return {
        key: [value for value in study[key] if value in narrowed[key]]
        for key in ("datasets", "models", "K", "seeds")
    }


def runs(study, stage, pattern, protocols=None, **narrower):
    """Paths of a pattern, for all that protocols (every one, if none is named) run in a stage.

    What is `narrower` leaves out what it does not list.
    """
    paths = []
    for name in study["protocols"] if protocols is None else protocols:
        wanted = scope(study, name, stage)
        for key, values in narrower.items():
            wanted[key] = [value for value in wanted[key] if value in values]
        for dataset, model, K, seed in itertools.product(*wanted.values()):
            paths.append(
                pattern.format(
                    protocol=name, dataset=dataset, model=model, K=K, seed=seed
                )
            )
    return list(dict.fromkeys(paths))


def networks(study, stage, pattern):
    """Input function: the networks that the job's protocol takes in a stage, of its problem."""

    def of(wildcards):
        own = pattern.replace("{protocol}", trainer(wildcards.protocol))
        return runs(
            study, stage, own, [wildcards.protocol], datasets=[wildcards.dataset]
        )

    return of


def training_switches(wildcards):
    """Params function: the switches of the job's protocol that its training depends on."""
    data = PROTOCOLS[drawer(wildcards.protocol)]["data"]
    rows = {name: data[name] for name in ("epochs_see", "clouds")}
    return {**PROTOCOLS[wildcards.protocol]["training"], **rows}


def evaluation_switches(wildcards):
    """Params function: the switches of the job's protocol for every evaluation."""
    return {"kept_by": PROTOCOLS[wildcards.protocol]["evaluation"]["kept_by"]}


def emd_switches(wildcards):
    """Params function: the switches of the job's protocol for distances."""
    return PROTOCOLS[wildcards.protocol]["evaluation"]


def clouds(wildcards):
    """Params function: whether the job's protocol draws from points drawn once."""
    return PROTOCOLS[drawer(wildcards.protocol)]["data"]["clouds"]


def constants(study):
    """Params function: the constants of the job's problem, in its protocol."""

    def of(wildcards):
        own = PROTOCOLS[drawer(wildcards.protocol)]["data"]["constants"]
        name = wildcards.dataset
        return {**study["constants"].get(name, {}), **own.get(name, {})}

    return of


def law(study):
    """Params function: what the law of the job's data depends on."""
    of = constants(study)
    data = study["data"]
    return lambda wildcards: {
        "constants": of(wildcards),
        "clouds": clouds(wildcards),
        "rows": data["rows"],
        "seed": data["seed"],
    }


def bins(study):
    """Params function: the bins of a histogram with the job's K, None for another model."""
    grids = {math.prod(grid): grid for grid in study["grids"]}

    def of(wildcards):
        if wildcards.model != "hist":
            return None
        return {"grid": grids[int(wildcards.K)], **study["domain"]}

    return of


def emd_settings(study):
    """Params function: how to measure distances, with the bandwidths of the job's problem."""
    settings = study["emd"]
    return lambda wildcards: {**settings, "h": settings["h"][wildcards.dataset]}


def emd_work(study):
    """Resource function: thousands of pairs of points of a job, over the laws it measures."""
    settings = study["emd"]
    pairs = settings["inputs"] * settings["samples"] ** 2

    def of(wildcards):
        if wildcards.get("model") != "wta":
            return pairs // 10**3
        bandwidths = settings["h"][wildcards.dataset]
        return pairs * (1 + len(bandwidths)) // 10**3  # with the uniform kernel

    return of


def properties_settings(study):
    """Params function: how to measure properties, with the optimum where the data are the own."""
    settings = {**study["properties"], "h": study["evaluation"]["h"]}

    def of(wildcards):
        own = drawer(wildcards.protocol) == wildcards.protocol
        return {**settings, "optimum": settings["optimum"] if own else None}

    return of


def training_work(study, seeds):
    """Resource function: millions of multiplications of a job, which its time is proportional to."""
    widths, rows = study["training"]["widths"], study["data"]["rows"]["train"]
    trunk = sum(before * after for before, after in zip([1, *widths], widths))
    passes = len(seeds) * study["training"]["epochs"] * rows
    outputs = {"wta": 3, "hist": 1, "mdn": 4}  # of the network, for each of the K

    def of(wildcards):
        heads = widths[-1] * outputs[wildcards.model] * int(wildcards.K)
        return passes * (trunk + heads) // 10**6

    return of


def evaluation_work(study):
    """Resource function: thousands of rows times K of a job, over its networks."""
    rows = study["data"]["rows"]["test"] + study["data"]["rows"]["validation"]

    def of(wildcards):
        wanted = scope(study, wildcards.protocol, "evaluation")
        networks = len(wanted["models"]) * len(wanted["seeds"])
        return rows * networks * sum(wanted["K"]) // 10**3

    return of


def properties_work(study):
    """Resource function: millions of distances of a job, over its networks."""
    points = study["properties"]["inputs"] * study["properties"]["points"]

    def of(wildcards):
        wanted = scope(study, wildcards.protocol, "properties")
        networks = len(wanted["models"]) * len(wanted["seeds"])
        return points * networks * sum(wanted["K"]) // 10**6

    return of


wildcard_constraints:
    protocol="|".join({**PROTOCOLS, **UCI_PROTOCOLS, **config["audio"]["protocols"]}),
    model="wta|hist|mdn|m_vmf",
    K=r"\d+",
    seed=r"\d+",
