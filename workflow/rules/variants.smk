# Protocols compared: ways to train by their risk, and all numbers side by side.

VARIANTS = config["figures"]["variants"]
HEADLINE_FIRST = [HEADLINE, *(name for name in PROTOCOLS if name != HEADLINE)]


rule tables:
    input:
        expand(
            f"{RESULTS}/tables/{{table}}.{{suffix}}",
            table=["protocols", "idle"],
            suffix=["csv", "md"],
        ),


rule figure_variants:
    input:
        f"{SYNTHETIC}/metrics/properties.parquet",
    output:
        pdf=f"{FIGURES}/variants.pdf",
        png=report(
            f"{FIGURES}/variants.png",
            caption="../report/variants.rst",
            category="Synthetic study",
            labels={"figure": "Variants of WTA"},
        ),
    log:
        f"{LOGS}/figure_variants.log",
    benchmark:
        f"{BENCHMARKS}/figure_variants.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        protocols=VARIANTS["protocols"],
        datasets=VARIANTS["datasets"],
        counts=VARIANTS["K"],
        code=digest("figure_variants.py"),
    script:
        "../scripts/figure_variants.py"


rule table_protocols:
    input:
        f"{SYNTHETIC}/metrics/evaluation.parquet",
        f"{SYNTHETIC}/metrics/emd.parquet",
    output:
        csv=f"{RESULTS}/tables/protocols.csv",
        markdown=f"{RESULTS}/tables/protocols.md",
    log:
        f"{LOGS}/table_protocols.log",
    benchmark:
        f"{BENCHMARKS}/table_protocols.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        protocols=HEADLINE_FIRST,
        code=digest("table_protocols.py"),
    script:
        "../scripts/table_protocols.py"


rule table_idle:
    input:
        f"{SYNTHETIC}/metrics/properties.parquet",
    output:
        csv=f"{RESULTS}/tables/idle.csv",
        markdown=f"{RESULTS}/tables/idle.md",
    log:
        f"{LOGS}/table_idle.log",
    benchmark:
        f"{BENCHMARKS}/table_idle.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        protocols=HEADLINE_FIRST,
        code=digest("table_idle.py"),
    script:
        "../scripts/table_idle.py"
