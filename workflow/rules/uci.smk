# The UCI study: prepare (rules/data.smk) -> train -> tune -> evaluate -> collect.

UCI_RUN = "{protocol}/{dataset}"
UCI_NETWORKS = f"{UCI}/{UCI_RUN}/{{model}}/K{UCI_STUDY['K']}/splits.zip"
UCI_SEARCHES = f"{UCI}/{UCI_RUN}/searches.parquet"
TARGETS["uci"] = expand(
    f"{UCI}/metrics/{{table}}.parquet", table=["evaluation", "searches"]
)
COLLECTED["uci"] = {
    table: [
        f"{UCI}/{protocol}/{dataset}/{table}.parquet"
        for protocol in UCI_STUDY.protocols
        for dataset in UCI_STUDY.sets(protocol)
        if dataset in UCI_SETS
    ]
    for table in ("evaluation", "searches")
}


rule uci:
    """Metrics of the UCI study."""
    input:
        TARGETS["uci"],


rule train_uci:
    """Train the networks of all splits of a data set, as one tensor program."""
    input:
        data=lambda wildcards: uci_table(wildcards.dataset),
    output:
        UCI_NETWORKS,
    log:
        f"{LOGS}/train_uci/{UCI_RUN}/{{model}}.log",
    resources:
        mem_mb=growing(3000),
        runtime=UCI_STUDY.minutes,
        gpu=HARDWARE.asked,
        gpu_mb=HARDWARE.share(3000),
        work=UCI_STUDY.work,
        steps=UCI_STUDY.steps,
        step_rows=UCI_STUDY.step_rows,
    params:
        settings=UCI_STUDY.training,
        splits=lambda wildcards: UCI_STUDY.splits(wildcards.dataset, wildcards.model),
        K=UCI_STUDY["K"],
        device=unrecorded(config["device"]),
        unfinished=unrecorded(UNFINISHED),
        code=code("train_uci.py"),
    script:
        "../scripts/train_uci.py"


rule tune_uci:
    """Search the bandwidths of all networks trained on a data set."""
    input:
        unpack(UCI_STUDY.networks_by_model(UCI_NETWORKS)),
        data=lambda wildcards: uci_table(wildcards.dataset),
    output:
        UCI_SEARCHES,
    log:
        f"{LOGS}/tune_uci/{UCI_RUN}.log",
    resources:
        mem_mb=growing(3000),
        runtime=growing(60),
    params:
        settings=UCI_STUDY.tuning,
        splits=UCI_STUDY.splits_by_model,
        code=code("tune_uci.py"),
    script:
        "../scripts/tune_uci.py"


rule evaluate_uci:
    """Measure the estimators of all networks trained on a data set."""
    input:
        unpack(UCI_STUDY.networks_by_model(UCI_NETWORKS)),
        data=lambda wildcards: uci_table(wildcards.dataset),
        searches=UCI_SEARCHES,
    output:
        f"{UCI}/{UCI_RUN}/evaluation.parquet",
    log:
        f"{LOGS}/evaluate_uci/{UCI_RUN}.log",
    resources:
        mem_mb=growing(3000),
        runtime=growing(60),
    params:
        settings=UCI_STUDY.evaluation,
        splits=UCI_STUDY.splits_by_model,
        K=UCI_STUDY["K"],
        code=code("evaluate_uci.py"),
    script:
        "../scripts/evaluate_uci.py"


rule measure_sizes_uci:
    """Write the sizes of the data sets of the UCI study."""
    input:
        [uci_table(name) for name in UCI_SETS],
    output:
        f"{UCI}/metrics/sizes.parquet",
    log:
        f"{LOGS}/measure_sizes_uci.log",
    resources:
        mem_mb=growing(2000),
    params:
        splits={name: UCI_STUDY.splits(name) for name in UCI_SETS},
        code=code("measure_sizes_uci.py"),
    script:
        "../scripts/measure_sizes_uci.py"
