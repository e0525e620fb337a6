# Data from elsewhere (config/data.yaml), and what is made of them. A file that cannot be downloaded fails alone. Its
# content follows from its checksums: another address or way to download it makes nothing again, so that it has no digest.

UCI_FILES = {
    entry["file"]["path"]: name
    for name, entry in FILES["uci"].items()
    if "path" in entry["file"]  # otherwise a package brings it
}
RECORDINGS = f"{CACHE}/audio/sounds"
SOUNDS = FILES["audio"]["sounds"]
ANSYN = "audio/ansyn"  # below the cache, and below a mirror
ANSYN_NAMES = [
    f"ov{overlap}_split{split}.zip" for overlap in (1, 2, 3) for split in (1, 2, 3)
]
ANSYN_ARCHIVE = f"{CACHE}/{ANSYN}/ov{{overlap}}_split{{split}}.zip"
# Recordings and descriptions of an overlap and a split, in two folders as in ANSYN's archives.
SCENES = f"{AUDIO}/scenes/{AUDIO_STUDY.source}/ov{{overlap}}_split{{split}}"
WITHOUT_AUDIO = f"the audio study cannot run on {AUDIO_STUDY.source}; with audio.source: synthetic it needs no data"
# Of `archives` there is one (profiles). If they are not kept, a job that fetches one, unpacks it or makes its features
# takes it, and of several the one furthest on: `priority` 0, 1 and 2. So no archive is fetched before the features of
# the last are there. Edges between splits could not do this: Snakemake does not see behind an ancient input.
ONE_ARCHIVE = int(AUDIO_STUDY.source == "ansyn" and not AUDIO_STUDY["keep_archives"])


rule uci_data:
    """Data sets of the UCI study, downloaded and read."""
    input:
        expand(f"{CACHE}/uci/{{dataset}}.safetensors", dataset=FILES["uci"]),


rule fetch_file:
    """Download a file of a data set, from the mirror or from its addresses."""
    output:
        f"{CACHE}/{{file}}",
    log:
        f"{LOGS}/fetch/{{file}}.log",
    wildcard_constraints:
        file="|".join(map(re.escape, UCI_FILES)),
    resources:
        mem_mb=500,
        runtime=240,
        downloads=1,
        download_mb=lambda wildcards: math.ceil(
            uci_file(wildcards).get("bytes", 0) / 10**6
        ),
    params:
        checksums=lambda wildcards: uci_file(wildcards)["checksums"],
        file=lambda wildcards, output: uci_file(wildcards),
        mirror=unrecorded(MIRROR),
        note=lambda wildcards, output: f"{NOTES}/{UCI_FILES[wildcards.file]}",
        until=unrecorded("the next runs continue without it"),
    script:
        "../scripts/fetch_file.py"


rule prepare_uci:
    """Read a data set of the UCI study from its file."""
    input:
        lambda wildcards: [
            f"{CACHE}/{file}"
            for file, name in UCI_FILES.items()
            if name == wildcards.dataset
        ],
    output:
        f"{CACHE}/uci/{{dataset}}.safetensors",
    log:
        f"{LOGS}/prepare_uci/{{dataset}}.log",
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
    params:
        rows=lambda wildcards: FILES["uci"][wildcards.dataset]["rows"],
        matrix=lambda wildcards: FILES["uci"][wildcards.dataset].get("matrix"),
        code=code("prepare_uci.py"),
    script:
        "../scripts/prepare_uci.py"


rule prepare_own:
    """Read a user's own table."""
    input:
        lambda wildcards: UCI_STUDY.own[wildcards.dataset]["csv"],
    output:
        f"{UCI}/own/{{dataset}}.safetensors",
    log:
        f"{LOGS}/prepare_own/{{dataset}}.log",
    priority: 1  # a bad table is said to be one before anything is trained
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
    params:
        entry=lambda wildcards: UCI_STUDY.own[wildcards.dataset],
        code=code("prepare_own.py"),
    script:
        "../scripts/prepare_own.py"


rule lock_ansyn:
    """Read from ANSYN's record which archives it has, once."""
    output:
        f"{CACHE}/{ANSYN}.lock.json",
    log:
        f"{LOGS}/fetch/ansyn_lock.log",
    resources:
        mem_mb=500,
        runtime=60,
        downloads=1,
    params:
        record=unrecorded(FILES["audio"]["ansyn"]["record"]),
        names=unrecorded(ANSYN_NAMES),
        lock=unrecorded(f"{ANSYN}.lock.json"),
        mirror=unrecorded(MIRROR),
        note=unrecorded(f"{NOTES}/ansyn_lock"),
        until=unrecorded(WITHOUT_AUDIO),
    script:
        "../scripts/lock_ansyn.py"


rule fetch_ansyn:
    """Download an archive of ANSYN."""
    input:
        lock=ancient(f"{CACHE}/{ANSYN}.lock.json"),
    output:
        kept_if("keep_archives", ANSYN_ARCHIVE),
    log:
        f"{LOGS}/fetch/ansyn_ov{{overlap}}_split{{split}}.log",
    resources:
        mem_mb=500,
        runtime=480,
        archives=ONE_ARCHIVE,
        downloads=1,
        download_mb=math.ceil(
            FILES["audio"]["ansyn"]["bytes"] / len(ANSYN_NAMES) / 10**6
        ),
    params:
        folder=unrecorded(ANSYN),
        mirror=unrecorded(MIRROR),
        note=lambda wildcards, output: f"{NOTES}/ansyn_{Path(output[0]).stem}",
        until=unrecorded(WITHOUT_AUDIO),
    script:
        "../scripts/fetch_ansyn.py"


rule unpack_ansyn:
    """Unpack an archive of ANSYN."""
    input:
        ANSYN_ARCHIVE,
    output:
        kept_if(
            "keep_scenes",
            directory(f"{AUDIO}/scenes/ansyn/ov{{overlap}}_split{{split}}"),
        ),
    log:
        f"{LOGS}/unpack_ansyn/ov{{overlap}}_split{{split}}.log",
    priority: 1
    resources:
        runtime=growing(60),
        archives=ONE_ARCHIVE,
    script:
        "../scripts/unpack_ansyn.py"


rule gather_recordings:
    """Gather the recordings that scenes are made of, from the mirror or from their archive."""
    output:
        directory(RECORDINGS),
    log:
        f"{LOGS}/fetch/sounds.log",
    resources:
        mem_mb=1000,
        runtime=240,
        downloads=1,
        download_mb=math.ceil(SOUNDS["file"].get("bytes", 0) / 10**6),
    params:
        checksums=SOUNDS["file"]["checksums"],
        per_class=SOUNDS["per_class"],
        file=unrecorded(SOUNDS["file"]),
        cache=unrecorded(CACHE),
        mirror=unrecorded(MIRROR),
        note=unrecorded(f"{NOTES}/sounds"),
        until=unrecorded(WITHOUT_AUDIO),
    script:
        "../scripts/gather_recordings.py"


rule make_scenes:
    """Make the scenes of an overlap and a split from recordings, or from synthesised sounds."""
    input:
        lambda wildcards: RECORDINGS if wildcards.source == "resynthesis" else [],
    output:
        kept_if(
            "keep_scenes",
            directory(f"{AUDIO}/scenes/{{source}}/ov{{overlap}}_split{{split}}"),
        ),
    log:
        f"{LOGS}/make_scenes/{{source}}/ov{{overlap}}_split{{split}}.log",
    wildcard_constraints:
        source="resynthesis|synthetic",
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
        work=AUDIO_STUDY.scenes_work,
    params:
        sounds=lambda wildcards: (
            AUDIO_STUDY["scenes"]["sounds"]
            if wildcards.source == "synthetic"
            else None
        ),
        seed=AUDIO_STUDY["scenes"]["seed"],
        sizes=AUDIO_STUDY["scenes"]["sizes"],
        seconds=AUDIO_STUDY["seconds"],
        code=code("make_scenes.py"),
    script:
        "../scripts/make_scenes.py"
