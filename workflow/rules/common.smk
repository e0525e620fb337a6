# Shared by all studies: the checked configuration, the studies, the places of files.

import math
import os
import re
from pathlib import Path

from vwta.workflow import catalogue, lock
from vwta.workflow.audio import AudioStudy
from vwta.workflow.catalogue import complete
from vwta.workflow.configuration import (
    JUDGEMENT,
    check_config,
    lay_over_own,
    read_files,
    read_judgement,
    read_protocols,
    refuse,
)
from vwta.workflow.digest import digest
from vwta.workflow.gpu import GPU
from vwta.workflow.study import growing, measuring, unrecorded, warnings
from vwta.workflow.synthetic import SyntheticStudy
from vwta.workflow.uci import UCIStudy

OVERLAYS = [str(path) for path in workflow.overwrite_configfiles]
FILES = read_files(ROOT)
lay_over_own(config, ROOT)
check_config(config, FILES, ROOT, OVERLAYS)
# Jobs of another workflow may have a prefix of their own.
if workflow.modifier.is_main_snakefile():
    shell.prefix(lock.IN_SHELL)
if not workflow.is_main_process:
    lock.attend()  # a submission to a cluster is at work between two of its jobs as well

PLACE = os.path.expanduser(config["results"])


if config["container"]:

    container: config["container"]


onstart:
    lock.begin(Path(PLACE))


RESULTS = f"{PLACE}/{config['tier']}"
LOGS = f"{RESULTS}/logs"
FIGURES = f"{RESULTS}/figures"
TABLES = f"{RESULTS}/tables"
UNFINISHED = f"{RESULTS}/.unfinished"  # no rule declares what is in there, so it outlives failures
CACHE = os.path.expanduser(config["data"]["cache"])
NOTES = f"{CACHE}/.absent"  # a note for each file that could not be downloaded
MIRROR = os.path.expanduser(
    config["data"]["mirror"] or os.environ.get("VWTA_MIRROR", "")
)
SYNTHETIC = f"{RESULTS}/synthetic"
UCI = f"{RESULTS}/uci"
AUDIO = f"{RESULTS}/audio"
AUDIO_FEATURES = (
    f"{AUDIO}/features/{config['audio']['source']}/ov{{overlap}}_split{{split}}"
)

STUDY = SyntheticStudy(
    config["synthetic"],
    read_protocols(ROOT, "synthetic", config["synthetic"]["protocols"]),
)
UCI_STUDY = UCIStudy(
    config["uci"],
    read_protocols(
        ROOT, "uci", [*config["uci"]["protocols"], *config["uci"]["ablations"]]
    ),
    FILES["uci"],
)
AUDIO_STUDY = AudioStudy(
    config["audio"],
    read_protocols(ROOT, "audio", config["audio"]["protocols"]),
    f"{AUDIO_FEATURES}_{{part}}.npy",
)
HEADLINE = STUDY["headline"]
GPU_LIMIT = workflow.global_resources.get("gpu_mb")
HARDWARE = GPU(
    config["device"],
    workflow.is_main_process and not workflow.nodes,
    GPU_LIMIT and GPU_LIMIT.value,
)
if HARDWARE.megabytes:
    workflow.register_resource("gpu_mb", HARDWARE.megabytes)
TARGETS = {}  # files of each target that users may ask for

refuse(UCI_STUDY.lost_tables(), "The tables of your own in uci.datasets")
ABSENT = UCI_STUDY.absent(Path(NOTES), Path(CACHE))
UCI_SETS = [name for name in UCI_STUDY.asked if name not in ABSENT]
AUDIO_ABSENT = AUDIO_STUDY.absent(Path(NOTES))

if workflow.is_main_process:
    for line in [
        *UCI_STUDY.left_out(),
        *warnings(
            ABSENT,
            AUDIO_ABSENT,
            NOTES,
            CACHE,
            workflow.nodes,
            workflow.resource_settings.cores,
        ),
    ]:
        logger.warning(line)


wildcard_constraints:
    protocol="|".join(
        {**STUDY.protocols, **UCI_STUDY.protocols, **AUDIO_STUDY.protocols}
    ),
    model="|".join(
        {
            *(name for one in STUDY.protocols for name in STUDY.scope(one)["models"]),
            *UCI_STUDY["models"],
            *AUDIO_STUDY["models"],
        }
    ),
    dataset="|".join(
        [*STUDY["datasets"], *FILES["uci"], *UCI_STUDY.own, AUDIO_STUDY.source]
    ),
    study="synthetic|uci|audio",
    K=r"\d+",
    seed=r"\d+",
    overlap="|".join(map(str, AUDIO_STUDY["overlaps"])),
    split="|".join(map(str, AUDIO_STUDY.splits)),
    ending=f"(?:{'|'.join(AUDIO_STUDY.endings.values())})",  # of one protocol alone it is empty


# Rules without a submission to a cluster: they download, or gather small tables within a second.
LOCAL = [
    "fetch_file",
    "lock_ansyn",
    "fetch_ansyn",
    "gather_recordings",
    "collect",
    "collect_curves",
]


def code(script, *modules):
    """Digest of a script and of all that it imports from vwta, and of modules that it is given."""
    return digest(ROOT / "workflow/scripts" / script, *modules)


def is_there(path, modify=workflow.modifier.modify_path):
    """Whether a file of the workflow exists, in the storage if there is one."""
    path = modify(path)
    stored = getattr(path, "flags", {}).get("storage_object")
    return stored.exists() if stored else os.path.exists(path)


def source(name):
    """A file of the workflow's own sources, which is in no storage and has no module's prefix."""
    return local(os.path.relpath(ROOT / name))


def uci_file(wildcards):
    """The entry of the job's file in the table of files."""
    return FILES["uci"][UCI_FILES[wildcards.file]]["file"]


def kept_if(key, path):
    """An output that is deleted once nothing needs it, unless a key of the audio study keeps it."""
    return path if AUDIO_STUDY[key] else temp(path)


def uci_table(dataset):
    """File of the table of a data set."""
    folder = f"{UCI}/own" if dataset in UCI_STUDY.own else f"{CACHE}/uci"
    return f"{folder}/{dataset}.safetensors"


def unless_absent(files):
    """Files of the audio study, none if its data could not be downloaded."""
    return [] if AUDIO_ABSENT else files


def reported(name, caption="figure"):
    """The picture of a figure, for the report; the table of figures says what it is."""

    def picture(wildcards):
        return FIGURE[name.format(**wildcards)]

    return report(
        f"{FIGURES}/{name}.png",
        caption=f"../report/{caption}.rst",
        category=lambda wildcards: picture(wildcards).category,
        labels=lambda wildcards: picture(wildcards).all_labels,
    )


def listed(path, category="Tables"):
    """A table of numbers, for the report."""
    return report(
        path,
        caption=f"../report/{category.lower()}.rst",
        category=category,
        labels={"table": Path(path).stem},
    )


def all_listed(paths, category="Tables"):
    """Files of tables, of which the report shows those of numbers."""
    return [listed(path, category) if path.endswith(".csv") else path for path in paths]


def published(pattern):
    """Published files."""
    return [local(str(path)) for path in sorted(Path(PUBLISHED).glob(pattern))]


def shown(suffix):
    """Figures and tables of this tier, with a suffix."""
    return [
        path for path in final_outputs("figures", "tables") if path.endswith(suffix)
    ]


def final_outputs(*endings):
    """Files of all targets whose names have some ending; none of a study whose data are absent."""
    return [
        path
        for name, files in TARGETS.items()
        for path in files
        if name.endswith(endings or "")
        and not (AUDIO_ABSENT and name.startswith("audio"))
    ]
