# The synthetic study: generate -> train -> evaluate -> collect.

STUDY = config["synthetic"]
SYNTHETIC = f"{RESULTS}/synthetic"
PROBLEM = "{protocol}/{dataset}"
RUN = "{protocol}/{dataset}/{model}/K{K}"


rule synthetic:
    input:
        f"{SYNTHETIC}/metrics/evaluation.parquet",
        expand(f"{SYNTHETIC}/{{protocol}}/curves.parquet", protocol=STUDY["protocols"]),
        f"{SYNTHETIC}/metrics/theory.parquet",
        f"{SYNTHETIC}/metrics/emd.parquet",


rule generate_synthetic:
    output:
        f"{SYNTHETIC}/{PROBLEM}/data.safetensors",
    log:
        f"{LOGS}/generate_synthetic/{PROBLEM}.log",
    benchmark:
        f"{BENCHMARKS}/generate_synthetic/{PROBLEM}.tsv"
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        constants=constants(STUDY),
        clouds=clouds,
        rows=STUDY["data"]["rows"],
        seed=STUDY["data"]["seed"],
        code=digest("generate_synthetic.py"),
    script:
        "../scripts/generate_synthetic.py"


# A job trains a chunk of the seeds, each of which has its own output.
for index, seeds in enumerate(chunks(STUDY["seeds"], STUDY["seeds_per_job"])):

    rule:
        name:
            f"train_synthetic_{index}"
        input:
            data=f"{SYNTHETIC}/{PROBLEM}/data.safetensors",
        output:
            **{
                f"seed{seed}": f"{SYNTHETIC}/{RUN}/seed{seed}.safetensors"
                for seed in seeds
            },
        log:
            f"{LOGS}/train_synthetic/{RUN}/{index}.log",
        benchmark:
            f"{BENCHMARKS}/train_synthetic/{RUN}/{index}.tsv"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=lambda wildcards, attempt: 2000 * attempt,
            runtime=60 * len(seeds),
            gpu=GPUS,
            work=training_work(STUDY, seeds),
        params:
            constants=constants(STUDY),
            training=STUDY["training"],
            protocol=training_switches,
            bins=bins(STUDY),
            device=config["device"],
            unfinished=UNFINISHED,
            code=digest("train_synthetic.py"),
        script:
            "../scripts/train_synthetic.py"


rule evaluate_synthetic:
    input:
        data=f"{SYNTHETIC}/{PROBLEM}/data.safetensors",
        networks=expand(
            f"{SYNTHETIC}/{RUN}/seed{{seed}}.safetensors",
            seed=STUDY["seeds"],
            allow_missing=True,
        ),
    output:
        f"{SYNTHETIC}/{RUN}/metrics.parquet",
    log:
        f"{LOGS}/evaluate_synthetic/{RUN}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_synthetic/{RUN}.tsv"
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=30,
        work=evaluation_work(STUDY),
    params:
        evaluation=STUDY["evaluation"],
        protocol=evaluation_switches,
        domain=STUDY["domain"],
        code=digest("evaluate_synthetic.py"),
    script:
        "../scripts/evaluate_synthetic.py"


rule evaluate_synthetic_truth:
    input:
        data=f"{SYNTHETIC}/{PROBLEM}/data.safetensors",
    output:
        f"{SYNTHETIC}/{PROBLEM}/truth.parquet",
    log:
        f"{LOGS}/evaluate_synthetic_truth/{PROBLEM}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_synthetic_truth/{PROBLEM}.tsv"
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        constants=constants(STUDY),
        capped=STUDY["evaluation"]["capped"],
        domain=STUDY["domain"],
        code=digest("evaluate_synthetic_truth.py"),
    script:
        "../scripts/evaluate_synthetic_truth.py"


rule collect_synthetic:
    input:
        expand(
            f"{SYNTHETIC}/{PROBLEM}/truth.parquet",
            protocol=STUDY["protocols"],
            dataset=STUDY["datasets"],
        ),
        expand(
            f"{SYNTHETIC}/{RUN}/metrics.parquet",
            protocol=STUDY["protocols"],
            dataset=STUDY["datasets"],
            model=STUDY["models"],
            K=STUDY["K"],
        ),
    output:
        f"{SYNTHETIC}/metrics/evaluation.parquet",
    log:
        f"{LOGS}/collect_synthetic.log",
    benchmark:
        f"{BENCHMARKS}/collect_synthetic.tsv"
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=digest("collect.py"),
    script:
        "../scripts/collect.py"


rule collect_curves_synthetic:
    input:
        expand(
            f"{SYNTHETIC}/{RUN}/seed{{seed}}.safetensors",
            dataset=STUDY["datasets"],
            model=STUDY["models"],
            K=STUDY["K"],
            seed=STUDY["seeds"],
            allow_missing=True,
        ),
    output:
        f"{SYNTHETIC}/{{protocol}}/curves.parquet",
    log:
        f"{LOGS}/collect_curves_synthetic/{{protocol}}.log",
    benchmark:
        f"{BENCHMARKS}/collect_curves_synthetic/{{protocol}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=digest("collect_curves_synthetic.py"),
    script:
        "../scripts/collect_curves_synthetic.py"
