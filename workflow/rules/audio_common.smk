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
