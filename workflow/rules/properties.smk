# Theory on trained networks: what it says of optimal ones, measured, and the figures of it.


rule evaluate_properties:
    input:
        data=DATA,
        networks=networks(STUDY, "properties", NETWORK),
        theory=taken_from(drawer, f"{SYNTHETIC}/{PROBLEM}/theory.parquet"),
    output:
        f"{SYNTHETIC}/{PROBLEM}/properties.parquet",
    log:
        f"{LOGS}/evaluate_properties/{PROBLEM}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_properties/{PROBLEM}.tsv"
    group:
        "synthetic_evaluation"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
        work=properties_work(STUDY),
    params:
        law=law(STUDY),
        properties=properties_settings(STUDY),
        protocol=evaluation_switches,
        domain=STUDY["domain"],
        code=digest("evaluate_properties.py"),
    script:
        "../scripts/evaluate_properties.py"


rule collect_properties:
    input:
        runs(STUDY, "properties", f"{SYNTHETIC}/{PROBLEM}/properties.parquet"),
    output:
        f"{SYNTHETIC}/metrics/properties.parquet",
    log:
        f"{LOGS}/collect_properties.log",
    benchmark:
        f"{BENCHMARKS}/collect_properties.tsv"
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


for figure, label in {
    "weak_convergence": "Weak convergence",
    "cells": "Cells",
    "point_density": "Where atoms lie",
}.items():

    rule:
        name:
            f"figure_{figure}"
        input:
            f"{SYNTHETIC}/metrics/properties.parquet",
        output:
            pdf=f"{FIGURES}/{figure}.pdf",
            png=report(
                f"{FIGURES}/{figure}.png",
                caption=f"../report/{figure}.rst",
                category="Synthetic study",
                labels={"figure": label},
            ),
        log:
            f"{LOGS}/figure_{figure}.log",
        benchmark:
            f"{BENCHMARKS}/figure_{figure}.tsv"
        group:
            "synthetic_figures"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=growing(5),
        params:
            figure=figure,
            protocols=config["figures"]["properties"]["protocols"],
            datasets=STUDY["datasets"],
            code=digest("figure_properties.py"),
        script:
            "../scripts/figure_properties.py"
