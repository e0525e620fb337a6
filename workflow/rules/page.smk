# The page: of this tier, and of the runs that are published in docs/results.


rule page:
    input:
        f"{RESULTS}/report/index.html",


rule published_page:
    input:
        "results/report/index.html",


rule report_page:
    input:
        ASSETS,
        "CITATION.cff",
        verdicts=f"{RESULTS}/verdicts.parquet",
        differences=f"{RESULTS}/tables/differences.csv",
        metrics=VERDICT_TABLES,
        figures=shown(".png"),
        tables=shown(".md"),
        numbers=shown(".csv"),
        explorer=rules.export_explorer.output,
    output:
        f"{RESULTS}/report/index.html",
    log:
        f"{LOGS}/report_page.log",
    benchmark:
        f"{BENCHMARKS}/report_page.tsv"
    group:
        "report"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        pictures=pictures,
        options=OPTIONS,
        code=digest("report_page.py"),
    script:
        "../scripts/report_page.py"


rule judge_published:
    input:
        expand("config/{name}.yaml", name=VERDICT_CONFIG),
        reported=rules.judge.input.reported,
        metrics=published("*/*.parquet"),
    output:
        "results/report/verdicts.parquet",
        expand(
            "results/report/tables/{name}.{suffix}",
            name=["verdicts", "differences"],
            suffix=["csv", "md"],
        ),
    log:
        "results/report/logs/judge_published.log",
    benchmark:
        "results/report/benchmarks/judge_published.tsv"
    group:
        "report"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=unrecorded(VERDICT_SETTINGS),  # the files are inputs
        tiers={study: record["tier"] for study, record in PUBLISHED_TIERS.items()},
        code=digest("judge.py"),
    script:
        "../scripts/judge.py"


rule report_published_page:
    input:
        ASSETS,
        "CITATION.cff",
        verdicts="results/report/verdicts.parquet",
        differences="results/report/tables/differences.csv",
        metrics=published("*/*.parquet"),
        figures=published("*/figures/*.png"),
        tables=published("*/tables/*.md"),
        numbers=published("*/tables/*.csv"),
        explorer=published("synthetic/explorer.safetensors"),
    output:
        "results/report/index.html",
    log:
        "results/report/logs/report_published_page.log",
    benchmark:
        "results/report/benchmarks/report_published_page.tsv"
    group:
        "report"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        pictures=pictures,
        options="",
        code=digest("report_page.py"),
    script:
        "../scripts/report_page.py"
