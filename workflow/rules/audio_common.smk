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
AUDIO_FEATURES = (
    f"{AUDIO}/features/{AUDIO_SOURCE}/ov{{overlap}}_split{{split}}.safetensors"
)
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
# Of `archives` there is one (profiles/default). If they are not kept, a job that fetches one, unpacks it or
# makes its features takes it, and of several the one furthest on: `priority` 0, 1 and 2. So no archive is
# fetched before the features of the last are there. Edges between splits could not do this: what lies
# behind an ancient input escapes Snakemake's notice while that input is made anew.
AUDIO_TURN = int(AUDIO_SOURCE == "ansyn" and not AUDIO_STUDY["keep_archives"])


def kept_if(key, path):
    """An output that is deleted once nothing needs it, unless a key of the study keeps it."""
    return path if AUDIO_STUDY[key] else temp(path)


def scenes_work(wildcards):
    """Resource function: seconds of scenes of a job."""
    return AUDIO_STUDY["seconds"] * sum(AUDIO_STUDY["scenes"]["sizes"].values())


wildcard_constraints:
    overlap="|".join(map(str, AUDIO_STUDY["overlaps"])),
    split="|".join(map(str, AUDIO_SPLITS)),
