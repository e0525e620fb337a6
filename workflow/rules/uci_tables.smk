# Tables and pictures of the UCI study. Sets that could not be had are listed as such.

PRINTED = "config/reported/uci.csv"
PRINTED_SIZES = "config/reported/uci_sizes.csv"
UCI_TABLES = [
    "uci_sizes",
    "uci_protocols",
    *(
        f"uci_{table}_{protocol}"
        for table in ("main", "nll", "rmse", "more")
        for protocol in UCI_STUDY["protocols"]
    ),
]


rule uci_tables:
    input:
        expand(
            f"{RESULTS}/tables/{{table}}.{{suffix}}",
            table=UCI_TABLES,
            suffix=["csv", "md", "tex"],
        ),


rule uci_figures:
    input:
        [
            f"{FIGURES}/uci_{figure}_{protocol}.{suffix}"
            for protocol in UCI_STUDY["protocols"]
            for figure in uci_figures_of(protocol)
            for suffix in ("pdf", "png")
        ],


rule measure_sizes_uci:
    input:
        [uci_table(name) for name in UCI_SETS],
    output:
        f"{UCI}/metrics/sizes.parquet",
    log:
        f"{LOGS}/measure_sizes_uci.log",
    benchmark:
        f"{BENCHMARKS}/measure_sizes_uci.tsv"
    group:
        "uci_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
    params:
        splits={name: uci_splits(name) for name in UCI_SETS},
        code=digest("measure_sizes_uci.py"),
    script:
        "../scripts/measure_sizes_uci.py"


rule table_uci:
    input:
        metrics=f"{UCI}/metrics/evaluation.parquet",
        sizes=f"{UCI}/metrics/sizes.parquet",
        printed=PRINTED,
        printed_sizes=PRINTED_SIZES,
    output:
        rules.uci_tables.input,
    log:
        f"{LOGS}/table_uci.log",
    benchmark:
        f"{BENCHMARKS}/table_uci.tsv"
    group:
        "uci_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        protocols=UCI_STUDY["protocols"],
        datasets=ASKED,
        code=digest("table_uci.py"),
    script:
        "../scripts/table_uci.py"


for protocol in UCI_STUDY["protocols"]:

    rule:
        name:
            f"figure_uci_{protocol}"
        input:
            metrics=f"{UCI}/metrics/evaluation.parquet",
            searches=f"{UCI}/metrics/searches.parquet",
            printed=PRINTED,
        output:
            pdf=[
                f"{FIGURES}/uci_{figure}_{protocol}.pdf"
                for figure in uci_figures_of(protocol)
            ],
            png=[
                report(
                    f"{FIGURES}/uci_{figure}_{protocol}.png",
                    caption=f"../report/uci_{'search' if 'search' in figure else 'comparison'}.rst",
                    category="UCI study",
                    labels={"protocol": protocol},
                )
                for figure in uci_figures_of(protocol)
            ],
        log:
            f"{LOGS}/figure_uci/{protocol}.log",
        benchmark:
            f"{BENCHMARKS}/figure_uci/{protocol}.tsv"
        group:
            "uci_figures"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=growing(5),
        params:
            protocol=protocol,
            datasets=ASKED,
            code=digest("figure_uci.py"),
        script:
            "../scripts/figure_uci.py"
