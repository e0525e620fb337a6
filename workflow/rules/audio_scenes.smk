# The audio study's scenes, from one of three sources: archives of ANSYN, scenes made of the recordings
# that ANSYN was made of, or of sounds by formula. What is fetched or unpacked follows from checksums
# alone: another address, mirror or way to do so makes nothing anew, and there is no digest of code.

if AUDIO_SOURCE == "ansyn":

    rule lock_ansyn:
        output:
            f"{CACHE}/{ANSYN}.lock.json",
        log:
            f"{LOGS}/fetch/ansyn_lock.log",
        benchmark:
            f"{BENCHMARKS}/fetch/ansyn_lock.tsv"
        localrule: True
        conda:
            "../../envs/cpu.yaml"
        resources:
            mem_mb=500,
            runtime=60,
            downloads=1,
        params:
            record=unrecorded(FILES["audio"]["ansyn"]["record"]),
            names=unrecorded(ANSYN_NAMES),
            lock=unrecorded(f"{ANSYN}.lock.json"),
            cache=unrecorded(CACHE),
            mirror=unrecorded(MIRROR),
            note=unrecorded(f"{NOTES}/ansyn_lock"),
            until=unrecorded(AUDIO_WAITS),
        script:
            "../scripts/lock_ansyn.py"

    rule fetch_ansyn:
        input:
            lock=ancient(f"{CACHE}/{ANSYN}.lock.json"),
        output:
            kept_if("keep_archives", ANSYN_ARCHIVE),
        log:
            f"{LOGS}/fetch/ansyn_ov{{overlap}}_split{{split}}.log",
        benchmark:
            f"{BENCHMARKS}/fetch/ansyn_ov{{overlap}}_split{{split}}.tsv"
        localrule: True
        conda:
            "../../envs/cpu.yaml"
        resources:
            mem_mb=500,
            runtime=480,
            archives=AUDIO_TURN,
            downloads=1,
            download_mb=math.ceil(
                FILES["audio"]["ansyn"]["bytes"] / len(ANSYN_NAMES) / 10**6
            ),
        params:
            folder=unrecorded(ANSYN),
            cache=unrecorded(CACHE),
            mirror=unrecorded(MIRROR),
            note=lambda wildcards, output: f"{NOTES}/ansyn_{Path(output[0]).stem}",
            until=unrecorded(AUDIO_WAITS),
        script:
            "../scripts/fetch_ansyn.py"

    rule unpack_ansyn:
        input:
            ANSYN_ARCHIVE,
        output:
            kept_if("keep_scenes", directory(AUDIO_SCENES)),
        log:
            f"{LOGS}/unpack_ansyn/ov{{overlap}}_split{{split}}.log",
        benchmark:
            f"{BENCHMARKS}/unpack_ansyn/ov{{overlap}}_split{{split}}.tsv"
        priority: 1
        group:
            "audio_features"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=growing(60),
            archives=AUDIO_TURN,
        script:
            "../scripts/unpack_ansyn.py"


if AUDIO_SOURCE == "resynthesis":

    rule gather_recordings:
        output:
            directory(AUDIO_RECORDINGS),
        log:
            f"{LOGS}/fetch/sounds.log",
        benchmark:
            f"{BENCHMARKS}/fetch/sounds.tsv"
        localrule: True
        conda:
            "../../envs/cpu.yaml"
        resources:
            mem_mb=1000,
            runtime=240,
            downloads=1,
            download_mb=math.ceil(
                FILES["audio"]["sounds"]["file"].get("bytes", 0) / 10**6
            ),
        params:
            checksums=FILES["audio"]["sounds"]["file"]["checksums"],
            per_class=FILES["audio"]["sounds"]["per_class"],
            file=unrecorded(FILES["audio"]["sounds"]["file"]),
            cache=unrecorded(CACHE),
            mirror=unrecorded(MIRROR),
            note=unrecorded(f"{NOTES}/sounds"),
            until=unrecorded(AUDIO_WAITS),
        script:
            "../scripts/gather_recordings.py"


if AUDIO_SOURCE != "ansyn":

    rule make_scenes:
        input:
            AUDIO_RECORDINGS if AUDIO_SOURCE == "resynthesis" else [],
        output:
            kept_if("keep_scenes", directory(AUDIO_SCENES)),
        log:
            f"{LOGS}/make_scenes/{AUDIO_SOURCE}/ov{{overlap}}_split{{split}}.log",
        benchmark:
            f"{BENCHMARKS}/make_scenes/{AUDIO_SOURCE}/ov{{overlap}}_split{{split}}.tsv"
        group:
            "audio_features"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=growing(1500),
            runtime=growing(60),
            work=scenes_work,
        params:
            sounds=(
                AUDIO_STUDY["scenes"]["sounds"]
                if AUDIO_SOURCE == "synthetic"
                else None
            ),
            seed=AUDIO_STUDY["scenes"]["seed"],
            sizes=AUDIO_STUDY["scenes"]["sizes"],
            seconds=AUDIO_STUDY["seconds"],
            code=digest("make_scenes.py"),
        script:
            "../scripts/make_scenes.py"
