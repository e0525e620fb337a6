# The audio study: scenes (rules/data.smk) -> features -> train -> predict -> tune -> evaluate -> collect.

AUDIO_RUN = "{protocol}/{dataset}/{model}/K{K}"
AUDIO_NETWORK = f"{AUDIO}/{AUDIO_RUN}/seed{{seed}}.safetensors"
AUDIO_PREDICTIONS = f"{AUDIO}/{AUDIO_RUN}/predictions_seed{{seed}}.safetensors"
AUDIO_SEARCHES = f"{AUDIO}/{{protocol}}/{{dataset}}/searches.parquet"
AUDIO_SHOWN = f"{AUDIO}/{AUDIO_RUN}/scenes_seed{{seed}}.safetensors"
TARGETS["audio"] = expand(
    f"{AUDIO}/metrics/{{table}}.parquet", table=["evaluation", "curves"]
)
COLLECTED["audio"] = {
    "evaluation": AUDIO_STUDY.runs(
        None, f"{AUDIO}/{{protocol}}/{{dataset}}/metrics.parquet"
    )
}
CURVES["audio"] = {
    name: AUDIO_STUDY.runs(None, AUDIO_NETWORK, [name]) for name in AUDIO_STUDY.trainers
}


rule audio:
    """Metrics of the audio study."""
    input:
        TARGETS["audio"],


rule features_audio:
    """Compute the features and labels of all scenes of an overlap and a split."""
    input:
        SCENES,
    output:
        labels=f"{AUDIO_FEATURES}.safetensors",
        train=f"{AUDIO_FEATURES}_train.npy",
        test=f"{AUDIO_FEATURES}_test.npy",
    log:
        f"{LOGS}/features_audio/ov{{overlap}}_split{{split}}.log",
    priority: 2
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        archives=ONE_ARCHIVE,
        output_mb=AUDIO_STUDY.features_mb,
    params:
        settings={"seconds": AUDIO_STUDY["seconds"], **AUDIO_STUDY["features"]},
        code=code("features_audio.py"),
    script:
        "../scripts/features_audio.py"


rule train_audio:
    """Train a network of the audio study."""
    input:
        train=AUDIO_STUDY.fold("train"),
        validation=AUDIO_STUDY.fold("validation"),
        labels=AUDIO_STUDY.labels("train", "validation"),
    output:
        AUDIO_NETWORK,
    log:
        f"{LOGS}/train_audio/{AUDIO_RUN}/seed{{seed}}.log",
    wildcard_constraints:
        model="|".join(AUDIO_STUDY["models"]),
    resources:
        mem_mb=growing(6000),
        runtime=growing(720),
        gpu=HARDWARE.asked,
        gpu_mb=HARDWARE.whole,
        work=AUDIO_STUDY.training_work,
        steps=AUDIO_STUDY.steps,
        step_rows=AUDIO_STUDY["training"]["batch_size"],
    params:
        settings=AUDIO_STUDY.training,
        device=unrecorded(config["device"]),
        unfinished=unrecorded(UNFINISHED),
        code=code("train_audio.py"),
    script:
        "../scripts/train_audio.py"


rule train_audio_local:
    """Train a network of the audio study with local kernels."""
    input:
        train=AUDIO_STUDY.fold("train"),
        validation=AUDIO_STUDY.fold("validation"),
        labels=AUDIO_STUDY.labels("train", "validation"),
    output:
        AUDIO_NETWORK,
    log:
        f"{LOGS}/train_audio_local/{AUDIO_RUN}/seed{{seed}}.log",
    wildcard_constraints:
        model="local",
    resources:
        mem_mb=growing(6000),
        runtime=growing(720),
        gpu=HARDWARE.asked,
        gpu_mb=HARDWARE.whole,
        work=AUDIO_STUDY.training_work,
        steps=AUDIO_STUDY.steps,
        step_rows=AUDIO_STUDY["training"]["batch_size"],
    params:
        settings=AUDIO_STUDY.training,
        device=unrecorded(config["device"]),
        unfinished=unrecorded(UNFINISHED),
        code=code("train_audio_local.py"),
    script:
        "../scripts/train_audio_local.py"


rule predict_audio:
    """Run a trained network over the validation and test folds."""
    input:
        network=AUDIO_STUDY.network(AUDIO_NETWORK),
        validation=AUDIO_STUDY.fold("validation"),
        test=AUDIO_STUDY.fold("test"),
        labels=AUDIO_STUDY.labels("validation", "test"),
    output:
        AUDIO_PREDICTIONS,
    log:
        f"{LOGS}/predict_audio/{AUDIO_RUN}/seed{{seed}}.log",
    resources:
        mem_mb=growing(6000),
        runtime=growing(120),
        gpu=HARDWARE.asked,
        gpu_mb=HARDWARE.whole,
        steps=AUDIO_STUDY.batches,
        step_rows=AUDIO_STUDY["training"]["batch_size"],
    params:
        selected_by=AUDIO_STUDY.selected_by,
        batch_size=AUDIO_STUDY["training"]["batch_size"],
        device=unrecorded(config["device"]),
        code=code("predict_audio.py"),
    script:
        "../scripts/predict_audio.py"


rule tune_audio:
    """Search the bandwidths of all networks of a protocol."""
    input:
        predictions=lambda wildcards: AUDIO_STUDY.runs(
            None, AUDIO_PREDICTIONS, [wildcards.protocol]
        ),
        validation=AUDIO_STUDY.fold("validation"),
        labels=AUDIO_STUDY.labels("validation"),
    output:
        AUDIO_SEARCHES,
    log:
        f"{LOGS}/tune_audio/{{protocol}}/{{dataset}}.log",
    resources:
        mem_mb=growing(6000),
        runtime=growing(240),
    params:
        settings=AUDIO_STUDY.tuning,
        code=code("tune_audio.py"),
    script:
        "../scripts/tune_audio.py"


rule evaluate_audio:
    """Measure the estimators of all networks of a protocol."""
    input:
        predictions=lambda wildcards: AUDIO_STUDY.runs(
            None, AUDIO_PREDICTIONS, [wildcards.protocol]
        ),
        test=AUDIO_STUDY.fold("test"),
        labels=AUDIO_STUDY.labels("test"),
        searches=AUDIO_SEARCHES,
    output:
        f"{AUDIO}/{{protocol}}/{{dataset}}/metrics.parquet",
    log:
        f"{LOGS}/evaluate_audio/{{protocol}}/{{dataset}}.log",
    resources:
        mem_mb=growing(6000),
        runtime=growing(240),
    params:
        settings=AUDIO_STUDY.evaluation,
        code=code("evaluate_audio.py"),
    script:
        "../scripts/evaluate_audio.py"


rule show_audio:
    """Select the predictions of a network that pictures of scenes show."""
    input:
        predictions=AUDIO_PREDICTIONS,
        test=AUDIO_STUDY.fold("test"),
        labels=AUDIO_STUDY.labels("test"),
    output:
        AUDIO_SHOWN,
    log:
        f"{LOGS}/show_audio/{AUDIO_RUN}/seed{{seed}}.log",
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
        code=code("show_audio.py"),
    script:
        "../scripts/show_audio.py"
