# Reference risks of the synthetic problems: asymptotic ones, and Lloyd's optimum.


rule evaluate_synthetic_theory:
    output:
        f"{SYNTHETIC}/{PROBLEM}/theory.parquet",
    log:
        f"{LOGS}/evaluate_synthetic_theory/{PROBLEM}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_synthetic_theory/{PROBLEM}.tsv"
    group:
        "synthetic_evaluation"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(15),
        work=sum(STUDY["K"])
        * STUDY["optimum"]["inputs"]
        * STUDY["optimum"]["rows"]
        // 1000,
    params:
        constants=constants(STUDY),
        counts=STUDY["K"],
        domain=STUDY["domain"],
        optimum=STUDY["optimum"],
        code=digest("evaluate_synthetic_theory.py"),
    script:
        "../scripts/evaluate_synthetic_theory.py"


rule collect_synthetic_theory:
    input:
        expand(
            f"{SYNTHETIC}/{PROBLEM}/theory.parquet",
            protocol=HEADLINE,
            dataset=STUDY["datasets"],
        ),
    output:
        f"{SYNTHETIC}/metrics/theory.parquet",
    log:
        f"{LOGS}/collect_synthetic_theory.log",
    benchmark:
        f"{BENCHMARKS}/collect_synthetic_theory.tsv"
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
