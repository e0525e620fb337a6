# The UCI study: prepare (rules/fetch.smk) -> train -> evaluate -> collect.


rule uci:
    input:
        f"{UCI}/metrics/evaluation.parquet",
        f"{UCI}/metrics/searches.parquet",


rule prepare_own:
    input:
        lambda wildcards: OWN[wildcards.dataset]["csv"],
    output:
        f"{UCI}/own/{{dataset}}.safetensors",
    log:
        f"{LOGS}/prepare_own/{{dataset}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare_own/{{dataset}}.tsv"
    priority: 1  # a bad table is said to be one before anything is trained
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
    params:
        entry=lambda wildcards: OWN[wildcards.dataset],
        code=digest("prepare_own.py"),
    script:
        "../scripts/prepare_own.py"


# A job trains all splits of a set, each of which has its own output.
for dataset in UCI_SETS:

    rule:
        name:
            f"train_uci_{dataset}"
        input:
            data=uci_table(dataset),
        output:
            **{
                f"split{split}": uci_network(
                    "{protocol}", f"{{dataset,{dataset}}}", "{model}", split
                )
                for split in range(uci_splits(dataset))
            },
        log:
            f"{LOGS}/train_uci/{{protocol}}/{{dataset}}/{{model}}.log",
        benchmark:
            f"{BENCHMARKS}/train_uci/{{protocol}}/{{dataset}}/{{model}}.tsv"
        group:
            "uci"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=growing(3000),
            runtime=uci_minutes,
            gpu=GPUS,
            work=uci_work,
        params:
            settings=uci_training,
            K=UCI_STUDY["K"],
            device=config["device"],
            unfinished=UNFINISHED,
            code=digest("train_uci.py"),
        script:
            "../scripts/train_uci.py"


rule evaluate_uci:
    input:
        **{model: uci_networks(model) for model in UCI_STUDY["models"]},
        data=lambda wildcards: uci_table(wildcards.dataset),
    output:
        metrics=f"{UCI}/{{protocol}}/{{dataset}}/evaluation.parquet",
        searches=f"{UCI}/{{protocol}}/{{dataset}}/searches.parquet",
    log:
        f"{LOGS}/evaluate_uci/{{protocol}}/{{dataset}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_uci/{{protocol}}/{{dataset}}.tsv"
    group:
        "uci"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(3000),
        runtime=growing(60),
    params:
        settings=uci_evaluation,
        models=UCI_STUDY["models"],
        K=UCI_STUDY["K"],
        code=digest("evaluate_uci.py"),
    script:
        "../scripts/evaluate_uci.py"


rule collect_uci:
    input:
        expand(
            f"{UCI}/{{protocol}}/{{dataset}}/{{{{table}}}}.parquet",
            protocol=UCI_STUDY["protocols"],
            dataset=UCI_SETS,
        ),
    output:
        f"{UCI}/metrics/{{table}}.parquet",
    log:
        f"{LOGS}/collect_uci/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/collect_uci/{{table}}.tsv"
    wildcard_constraints:
        table="evaluation|searches",
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
