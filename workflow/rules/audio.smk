# The audio study: scenes (rules/audio_scenes.smk) -> features -> train -> predict -> evaluate -> collect.


rule audio:
    input:
        f"{AUDIO}/metrics/evaluation.parquet",
        f"{AUDIO}/metrics/curves.parquet",


rule features_audio:
    input:
        AUDIO_SCENES,
    output:
        labels=AUDIO_FEATURES,
        train=audio_features("train"),
        test=audio_features("test"),
    log:
        f"{LOGS}/features_audio/ov{{overlap}}_split{{split}}.log",
    benchmark:
        f"{BENCHMARKS}/features_audio/ov{{overlap}}_split{{split}}.tsv"
    priority: 2
    group:
        "audio_features"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        archives=AUDIO_TURN,
    params:
        settings={"seconds": AUDIO_STUDY["seconds"], **AUDIO_STUDY["features"]},
        code=digest("features_audio.py"),
    script:
        "../scripts/features_audio.py"


rule train_audio:
    input:
        train=audio_fold("train"),
        validation=audio_fold("validation"),
        labels=audio_labels("train", "validation"),
    output:
        AUDIO_NETWORK,
    log:
        f"{LOGS}/train_audio/{AUDIO_RUN}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/train_audio/{AUDIO_RUN}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=AUDIO_SOURCE,
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(6000),
        runtime=growing(720),
        gpu=GPUS,
        work=audio_work,
    params:
        settings=audio_training,
        device=config["device"],
        unfinished=UNFINISHED,
        code=digest("train_audio.py"),
    script:
        "../scripts/train_audio.py"


rule predict_audio:
    input:
        network=taken_from(audio_trainer, AUDIO_NETWORK),
        validation=audio_fold("validation"),
        test=audio_fold("test"),
        labels=audio_labels("validation", "test"),
    output:
        AUDIO_PREDICTIONS,
    log:
        f"{LOGS}/predict_audio/{AUDIO_RUN}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/predict_audio/{AUDIO_RUN}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=AUDIO_SOURCE,
    group:
        "audio_prediction"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(6000),
        runtime=growing(120),
        gpu=GPUS,
    params:
        kept_by=lambda wildcards: AUDIO_PROTOCOLS[wildcards.protocol]["evaluation"][
            "kept_by"
        ],
        batch_size=AUDIO_STUDY["training"]["batch_size"],
        device=config["device"],
        code=digest("predict_audio.py"),
    script:
        "../scripts/predict_audio.py"


rule evaluate_audio:
    input:
        predictions=audio_predictions,
        validation=audio_fold("validation"),
        test=audio_fold("test"),
        labels=audio_labels("validation", "test"),
    output:
        f"{AUDIO}/{{protocol}}/{{dataset}}/metrics.parquet",
    log:
        f"{LOGS}/evaluate_audio/{{protocol}}/{{dataset}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_audio/{{protocol}}/{{dataset}}.tsv"
    wildcard_constraints:
        dataset=AUDIO_SOURCE,
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(6000),
        runtime=growing(240),
    params:
        settings={**AUDIO_STUDY["evaluation"], "noise": AUDIO_STUDY["noise"]},
        code=digest("evaluate_audio.py"),
    script:
        "../scripts/evaluate_audio.py"


rule show_audio:
    input:
        predictions=AUDIO_PREDICTIONS,
        test=audio_fold("test"),
        labels=audio_labels("test"),
    output:
        f"{AUDIO}/{AUDIO_RUN}/scenes_seed{{seed}}.safetensors",
    log:
        f"{LOGS}/show_audio/{AUDIO_RUN}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/show_audio/{AUDIO_RUN}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=AUDIO_SOURCE,
    group:
        "audio_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
    params:
        settings={
            "recordings": AUDIO_STUDY["predictions"]["recordings"],
            "frames": AUDIO_STUDY["predictions"]["frames"],
            "noise": AUDIO_STUDY["noise"],
            "seed": AUDIO_STUDY["evaluation"]["seed"],
        },
        code=digest("show_audio.py"),
    script:
        "../scripts/show_audio.py"


rule collect_audio:
    input:
        runs(AUDIO_STUDY, None, f"{AUDIO}/{{protocol}}/{{dataset}}/metrics.parquet"),
    output:
        f"{AUDIO}/metrics/evaluation.parquet",
    log:
        f"{LOGS}/collect_audio.log",
    benchmark:
        f"{BENCHMARKS}/collect_audio.tsv"
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        code=digest("collect.py"),
    script:
        "../scripts/collect.py"


rule collect_curves_audio:
    input:
        **{
            name: runs(AUDIO_STUDY, None, AUDIO_NETWORK, [name])
            for name in AUDIO_PROTOCOLS
            if audio_trainer(name) == name
        },
    output:
        f"{AUDIO}/metrics/curves.parquet",
    log:
        f"{LOGS}/collect_curves_audio.log",
    benchmark:
        f"{BENCHMARKS}/collect_curves_audio.tsv"
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        code=digest("collect_curves.py"),
    script:
        "../scripts/collect_curves.py"
