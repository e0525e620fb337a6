# What the rules of the audio study share: where things go, what jobs depend on.

AUDIO_SOURCE = config["audio"]["source"]
AUDIO_STUDY = {**config["audio"], "datasets": [AUDIO_SOURCE]}
AUDIO = f"{RESULTS}/audio"
AUDIO_PROTOCOLS = {
    name: read_protocol("audio", name) for name in AUDIO_STUDY["protocols"]
}
AUDIO_RUN = "{protocol}/{dataset}/{model}/K{K}"
# Recordings and descriptions of an overlap and a split, in two folders as in ANSYN's archives.
AUDIO_SCENES = f"{AUDIO}/scenes/{AUDIO_SOURCE}/ov{{overlap}}_split{{split}}"
# Labels; what networks see lies beside them, a file for each part.
AUDIO_FEATURES = (
    f"{AUDIO}/features/{AUDIO_SOURCE}/ov{{overlap}}_split{{split}}.safetensors"
)
AUDIO_NETWORK = f"{AUDIO}/{AUDIO_RUN}/seed{{seed}}.safetensors"
AUDIO_PREDICTIONS = f"{AUDIO}/{AUDIO_RUN}/predictions_seed{{seed}}.safetensors"

AUDIO_SPLITS = sorted(
    {split for fold in AUDIO_STUDY["folds"].values() for split in fold["splits"]}
)
AUDIO_RECORDINGS = f"{CACHE}/audio/sounds"
AUDIO_WAITS = f"the audio study cannot run on {AUDIO_SOURCE}; with audio.source: synthetic it needs no data"
ANSYN = "audio/ansyn"  # below the cache, and below a mirror
ANSYN_NAMES = [
    f"ov{overlap}_split{split}.zip" for overlap in (1, 2, 3) for split in (1, 2, 3)
]
ANSYN_ARCHIVE = f"{CACHE}/{ANSYN}/ov{{overlap}}_split{{split}}.zip"
# Of `archives` there is one (profiles). If they are not kept, a job that fetches one, unpacks it or
# makes its features takes it, and of several the one furthest on: `priority` 0, 1 and 2. So no archive is
# fetched before the features of the last are there. Edges between splits could not do this: what lies
# behind an ancient input escapes Snakemake's notice while that input is made anew.
AUDIO_TURN = int(AUDIO_SOURCE == "ansyn" and not AUDIO_STUDY["keep_archives"])

AUDIO_MEASURED = {  # what is drawn from metrics, and how it is called
    "nll_against_h": "NLL against h",
    "monte_carlo": "Error of estimated volumes",
    "spread": "Predicted and true spread",
    "training_curves": "Training curves",
}

# Notes of what of the source could not be had, see scripts/notes.py.
AUDIO_NOTES = {"ansyn": "ansyn*", "resynthesis": "sounds", "synthetic": ".none"}
AUDIO_ABSENT = any(Path(NOTES).glob(AUDIO_NOTES[AUDIO_SOURCE]))
if AUDIO_ABSENT and workflow.is_main_process:
    logger.warning(
        f"The audio study is left out, as its data could not be had: {NOTES} says why. "
        "To try again: snakemake audio"
    )


def audio_trainer(name):
    """The protocol whose networks a protocol takes: often itself."""
    return AUDIO_PROTOCOLS[name].get("networks", name)


def audio_measured(name):
    """What is drawn from metrics of a protocol: only one that trains has curves."""
    curves = audio_trainer(name) == name
    return {
        figure: title
        for figure, title in AUDIO_MEASURED.items()
        if curves or figure != "training_curves"
    }


def audio_features(part):
    """Where the features of a part of an overlap and a split lie."""
    return AUDIO_FEATURES.replace(".safetensors", f"_{part}.npy")


def audio_fold(name):
    """Files of the features of a fold."""
    fold = AUDIO_STUDY["folds"][name]
    return [
        audio_features(part).format(overlap=overlap, split=split)
        for overlap in AUDIO_STUDY["overlaps"]
        for split in fold["splits"]
        for part in fold["parts"]
    ]


def audio_labels(*folds):
    """Files of the labels of some folds."""
    files = [Path(file) for name in folds for file in audio_fold(name)]
    return sorted(
        {
            str(file.with_name(f"{file.stem.rpartition('_')[0]}.safetensors"))
            for file in files
        }
    )


def audio_training(wildcards):
    """Params function: what the job's training depends on, besides its data."""
    grids = {math.prod(grid): grid for grid in AUDIO_STUDY["grids"]}
    return {
        **AUDIO_STUDY["training"],
        **AUDIO_PROTOCOLS[wildcards.protocol]["training"],
        "noise": AUDIO_STUDY["noise"],
        "grid": grids[int(wildcards.K)] if wildcards.model == "hist" else None,
    }


def audio_work(wildcards):
    """Resource function: thousands of passes of a band of a chunk through a filter."""
    fold, sizes = AUDIO_STUDY["folds"]["train"], AUDIO_STUDY["scenes"]["sizes"]
    scenes = len(AUDIO_STUDY["overlaps"]) * len(fold["splits"])
    scenes *= sum(sizes[part] for part in fold["parts"])
    chunks = scenes * AUDIO_STUDY["seconds"] // 2
    filters = AUDIO_STUDY["training"]["trunk"]["filters"]
    passes = AUDIO_STUDY["training"]["epochs"] * chunks
    return passes * filters * AUDIO_STUDY["features"]["bands"] // 10**3


def audio_predictions(wildcards):
    """Input function: the predictions of all networks of the job's protocol."""
    return runs(AUDIO_STUDY, None, AUDIO_PREDICTIONS, [wildcards.protocol])


def kept_if(key, path):
    """An output that is deleted once nothing needs it, unless a key of the study keeps it."""
    return path if AUDIO_STUDY[key] else temp(path)


def scenes_work(wildcards):
    """Resource function: seconds of scenes of a job."""
    return AUDIO_STUDY["seconds"] * sum(AUDIO_STUDY["scenes"]["sizes"].values())


wildcard_constraints:
    overlap="|".join(map(str, AUDIO_STUDY["overlaps"])),
    split="|".join(map(str, AUDIO_SPLITS)),
