# Verdicts: whether each number and each claim of the paper holds.

# Tables of metrics that verdicts rest on.
VERDICT_TABLES = [
    *TARGETS["synthetic"],
    *TARGETS["uci"],
    f"{UCI}/metrics/sizes.parquet",
    *([] if AUDIO_ABSENT else TARGETS["audio"]),
]
TARGETS["verdicts"] = [f"{RESULTS}/verdicts.parquet"]
PUBLISHED = source("docs/results")
PUBLISHED_RUNS = catalogue.published_runs(Path(PUBLISHED))


rule verdicts:
    """Verdicts on the paper's numbers and claims."""
    input:
        TARGETS["verdicts"],


rule judge:
    """Judge the paper's numbers and claims by tables of metrics."""
    input:
        [source(f"config/{name}.yaml") for name in JUDGEMENT],
        reported=REPORTED.values(),
        metrics=VERDICT_TABLES,
        predictions=[f"{SYNTHETIC}/explorer.safetensors"],
    output:
        TARGETS["verdicts"],
        all_listed(
            expand(
                f"{TABLES}/{{name}}.{{suffix}}",
                name=["verdicts", "differences", "tolerances"],
                suffix=["csv", "md"],
            ),
            "Verdicts",
        ),
    log:
        f"{LOGS}/judge.log",
    params:
        settings=unrecorded(read_judgement(ROOT)),  # the files are inputs
        tiers=dict.fromkeys(["synthetic", "uci", "audio"], config["tier"]),
        code=code("judge.py"),
    script:
        "../scripts/judge.py"


use rule judge as judge_published with:
    input:
        [source(f"config/{name}.yaml") for name in JUDGEMENT],
        reported=REPORTED.values(),
        metrics=published("*/*.parquet"),
        predictions=published("synthetic/explorer.safetensors"),
    output:
        f"{PLACE}/report/verdicts.parquet",
        expand(
            f"{PLACE}/report/tables/{{name}}.{{suffix}}",
            name=["verdicts", "differences", "tolerances"],
            suffix=["csv", "md"],
        ),
    log:
        f"{PLACE}/report/logs/judge_published.log",
    params:
        tiers={study: record["tier"] for study, record in PUBLISHED_RUNS.items()},
