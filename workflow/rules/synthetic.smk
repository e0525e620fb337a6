# The synthetic study: generate -> train -> evaluate -> collect.

STUDY = config["synthetic"]
SYNTHETIC = f"{RESULTS}/synthetic"
PROBLEM = "{protocol}/{dataset}"
RUN = "{protocol}/{dataset}/{model}/K{K}"
NETWORK = f"{SYNTHETIC}/{RUN}/seed{{seed}}.safetensors"
HEADLINE = STUDY["headline"]
TRAINERS = [name for name in STUDY["protocols"] if trainer(name) == name]
DATA = taken_from(drawer, f"{SYNTHETIC}/{PROBLEM}/data.safetensors")


rule synthetic:
    input:
        f"{SYNTHETIC}/metrics/evaluation.parquet",
        f"{SYNTHETIC}/metrics/curves.parquet",
        f"{SYNTHETIC}/metrics/theory.parquet",
        f"{SYNTHETIC}/metrics/emd.parquet",
        f"{SYNTHETIC}/metrics/properties.parquet",


rule generate_synthetic:
    output:
        f"{SYNTHETIC}/{PROBLEM}/data.safetensors",
    log:
        f"{LOGS}/generate_synthetic/{PROBLEM}.log",
    benchmark:
        f"{BENCHMARKS}/generate_synthetic/{PROBLEM}.tsv"
    group:
        "generate"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
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
            data=DATA,
        output:
            **{
                f"seed{seed}": f"{SYNTHETIC}/{RUN}/seed{seed}.safetensors"
                for seed in seeds
            },
        log:
            f"{LOGS}/train_synthetic/{RUN}/{index}.log",
        benchmark:
            f"{BENCHMARKS}/train_synthetic/{RUN}/{index}.tsv"
        group:
            "synthetic_training"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=growing(2000),
            runtime=growing(20 * len(seeds)),
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
        data=DATA,
        networks=networks(STUDY, "evaluation", NETWORK),
    output:
        f"{SYNTHETIC}/{PROBLEM}/metrics.parquet",
    log:
        f"{LOGS}/evaluate_synthetic/{PROBLEM}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_synthetic/{PROBLEM}.tsv"
    group:
        "synthetic_evaluation"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
        work=evaluation_work(STUDY),
    params:
        law=law(STUDY),
        evaluation=STUDY["evaluation"],
        protocol=evaluation_switches,
        domain=STUDY["domain"],
        code=digest("evaluate_synthetic.py"),
    script:
        "../scripts/evaluate_synthetic.py"


rule collect_synthetic:
    input:
        runs(STUDY, "evaluation", f"{SYNTHETIC}/{PROBLEM}/metrics.parquet"),
    output:
        f"{SYNTHETIC}/metrics/evaluation.parquet",
    log:
        f"{LOGS}/collect_synthetic.log",
    benchmark:
        f"{BENCHMARKS}/collect_synthetic.tsv"
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


rule collect_curves_synthetic:
    input:
        **{name: runs(STUDY, None, NETWORK, [name]) for name in TRAINERS},
    output:
        f"{SYNTHETIC}/metrics/curves.parquet",
    log:
        f"{LOGS}/collect_curves_synthetic.log",
    benchmark:
        f"{BENCHMARKS}/collect_curves_synthetic.tsv"
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
