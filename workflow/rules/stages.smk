# The stages of all studies, as targets: download -> prepare -> train -> tune -> metrics -> figures, tables. Each begins
# with what the stages before it have left.

AUDIO_PARTS = expand(
    f"{AUDIO_FEATURES}.safetensors",
    overlap=AUDIO_STUDY["overlaps"],
    split=AUDIO_STUDY.splits,
)
# Archives of ANSYN that are not kept are downloaded when their features are made.
AUDIO_DOWNLOADS = {
    "ansyn": (
        expand(ANSYN_ARCHIVE, overlap=AUDIO_STUDY["overlaps"], split=AUDIO_STUDY.splits)
        if AUDIO_STUDY["keep_archives"]
        else [f"{CACHE}/{ANSYN}.lock.json"]
    ),
    "resynthesis": [RECORDINGS],
    "synthetic": [],
}[AUDIO_STUDY.source]


rule download:
    """Stage: files of all studies from elsewhere."""
    input:
        [f"{CACHE}/{file}" for file, name in UCI_FILES.items() if name in UCI_SETS],
        unless_absent(AUDIO_DOWNLOADS),


rule prepare:
    """Stage: data of all studies, ready for trainings."""
    input:
        STUDY.runs(None, DATA_FILE, sorted(map(STUDY.drawer, STUDY.protocols))),
        [uci_table(name) for name in UCI_SETS],
        unless_absent(AUDIO_PARTS),


rule train:
    """Stage: networks of all studies."""
    input:
        STUDY.runs(None, NETWORK, STUDY.trainers),
        UCI_STUDY.trained(UCI_NETWORKS, UCI_SETS),
        unless_absent(AUDIO_STUDY.runs(None, AUDIO_NETWORK, AUDIO_STUDY.trainers)),


rule tune:
    """Stage: bandwidths of all studies, by golden section."""
    input:
        STUDY.runs("evaluation", SEARCHES),
        COLLECTED["uci"]["searches"],
        unless_absent(AUDIO_STUDY.runs(None, AUDIO_SEARCHES)),


rule metrics:
    """Stage: metrics of all studies."""
    input:
        VERDICT_TABLES,


rule figures:
    """Stage: figures of all studies."""
    input:
        final_outputs("figures"),


rule tables:
    """Stage: tables of all studies."""
    input:
        final_outputs("tables"),
