# Verdicts: whether each number and each claim of the paper holds.

# Tables of metrics that verdicts rest on.
VERDICT_TABLES = [
    *rules.synthetic.input,
    f"{UCI}/metrics/evaluation.parquet",
    f"{UCI}/metrics/searches.parquet",
    f"{UCI}/metrics/sizes.parquet",
    *([] if AUDIO_ABSENT else rules.audio.input),
]
VERDICT_CONFIG = ["verdicts", "claims", "differences"]
VERDICT_SETTINGS = [
    validation.load(Path(workflow.basedir, "config", f"{name}.yaml"))
    for name in VERDICT_CONFIG
]
for name, content in zip(VERDICT_CONFIG, VERDICT_SETTINGS):
    check(validation.problems(content, SCHEMAS / f"{name}.schema.yaml"), f"config/{name}.yaml")


rule verdicts:
    input:
        f"{RESULTS}/verdicts.parquet",


rule judge:
    input:
        expand("config/{name}.yaml", name=VERDICT_CONFIG),
        reported=expand(
            "config/reported/{name}.csv",
            name=["synthetic", "uci", "uci_sizes", "audio"],
        ),
        metrics=VERDICT_TABLES,
    output:
        f"{RESULTS}/verdicts.parquet",
        expand(
            f"{RESULTS}/tables/{{name}}.{{suffix}}",
            name=["verdicts", "differences"],
            suffix=["csv", "md"],
        ),
    log:
        f"{LOGS}/judge.log",
    benchmark:
        f"{BENCHMARKS}/judge.tsv"
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
        tiers=dict.fromkeys(STUDIES, config["tier"]),
        code=digest("judge.py"),
    script:
        "../scripts/judge.py"
