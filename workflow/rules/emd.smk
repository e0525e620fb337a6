# Earth mover's distances of the synthetic study: a job for each trained network.

# Problems without bandwidths of their own are left out.
EMD_DATASETS = [name for name in STUDY["datasets"] if name in STUDY["emd"]["h"]]


rule evaluate_emd:
    input:
        data=DATA,
        network=taken_from(trainer, NETWORK),
    output:
        f"{SYNTHETIC}/{RUN}/emd_seed{{seed}}.parquet",
    log:
        f"{LOGS}/evaluate_emd/{RUN}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_emd/{RUN}/seed{{seed}}.tsv"
    group:
        "synthetic_evaluation"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(15),
        work=emd_work(STUDY),
    params:
        constants=constants(STUDY),
        emd=emd_settings(STUDY),
        protocol=emd_switches,
        clouds=clouds,
        domain=STUDY["domain"],
        code=digest("evaluate_emd.py"),
    script:
        "../scripts/evaluate_emd.py"


rule evaluate_emd_truth:
    input:
        data=DATA,
    output:
        f"{SYNTHETIC}/{PROBLEM}/emd_truth.parquet",
    log:
        f"{LOGS}/evaluate_emd_truth/{PROBLEM}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_emd_truth/{PROBLEM}.tsv"
    group:
        "synthetic_evaluation"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1500),
        runtime=growing(15),
        work=emd_work(STUDY),
    params:
        constants=constants(STUDY),
        emd={key: STUDY["emd"][key] for key in ("seed", "inputs", "samples")},
        clouds=clouds,
        code=digest("evaluate_emd_truth.py"),
    script:
        "../scripts/evaluate_emd_truth.py"


rule collect_emd:
    input:
        runs(
            STUDY,
            "emd",
            f"{SYNTHETIC}/{PROBLEM}/emd_truth.parquet",
            datasets=EMD_DATASETS,
        ),
        runs(
            STUDY,
            "emd",
            f"{SYNTHETIC}/{RUN}/emd_seed{{seed}}.parquet",
            datasets=EMD_DATASETS,
        ),
    output:
        f"{SYNTHETIC}/metrics/emd.parquet",
    log:
        f"{LOGS}/collect_emd.log",
    benchmark:
        f"{BENCHMARKS}/collect_emd.tsv"
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
