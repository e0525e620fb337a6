# The UCI study: prepare (rules/fetch.smk) -> train -> evaluate -> collect -> tables and pictures.

UCI_STUDY = config["uci"]
UCI = f"{RESULTS}/uci"
UCI_RUN = f"{UCI}/{{protocol}}/{{dataset}}/{{model}}/K{UCI_STUDY['K']}"


def own_name(entry):
    """Name of a table of one's own: that of its file."""
    return Path(entry["csv"]).stem


OWN = {
    own_name(entry): entry for entry in UCI_STUDY["datasets"] if isinstance(entry, dict)
}
ASKED = [
    own_name(entry) if isinstance(entry, dict) else entry
    for entry in UCI_STUDY["datasets"]
]
ABSENT = [
    name
    for name in ASKED
    if Path(NOTES, name).exists()
    and not Path(CACHE, "uci", f"{name}.safetensors").exists()
]
UCI_SETS = [name for name in ASKED if name not in ABSENT]
if ABSENT and workflow.is_main_process:
    again = " ".join(f"{CACHE}/uci/{name}.safetensors" for name in ABSENT)
    logger.warning(
        f"The UCI study goes on without {', '.join(ABSENT)}, which could not be had: {NOTES} says "
        f"why. To try again: snakemake {again}"
    )


def uci_table(dataset):
    """Where the table of a set lies."""
    folder = f"{UCI}/own" if dataset in OWN else f"{CACHE}/uci"
    return f"{folder}/{dataset}.safetensors"


def uci_splits(dataset):
    """How many splits of a set are run."""
    most = UCI_STUDY["splits"]
    if dataset in OWN:
        return OWN[dataset].get("splits", most)
    return min(most, FILES["uci"][dataset]["splits"]["count"])


def uci_training(wildcards):
    """Params function: what the job's training depends on, besides its data."""
    settings = dict(UCI_STUDY["training"][wildcards.protocol])
    switches = UCI_PROTOCOLS[wildcards.protocol]
    settings |= switches["data"] | switches["training"]
    planned = ("epochs", "batch_size", "learning_rate", "rate", "weight_decay")
    plan, widths = {name: settings.pop(name) for name in planned}, settings.pop(
        "widths"
    )
    return {
        "plan": plan,
        "widths": widths.get(wildcards.dataset, widths["others"]),
        "seed": UCI_STUDY["seed"],
        "bins": UCI_STUDY["bins"],
        **settings,
    }


def uci_work(wildcards):
    """Resource function: thousands of passes over a row, over all networks of a job."""
    settings = UCI_STUDY["training"][wildcards.protocol]
    rows = FILES["uci"].get(wildcards.dataset, {"rows": 1000})["rows"]
    networks = uci_splits(wildcards.dataset) * settings["restarts"]
    return settings["epochs"] * networks * rows // 10**3


def uci_evaluation(wildcards):
    """Params function: what the job's evaluation depends on, besides its networks."""
    switches = UCI_PROTOCOLS[wildcards.protocol]
    return {
        "seed": UCI_STUDY["seed"],
        **switches["data"],
        **switches["evaluation"],
        **UCI_STUDY["evaluation"],
    }


def uci_networks(model):
    """Input function: the networks of a model, for all splits of the job's set."""
    return lambda wildcards: [
        f"{UCI}/{wildcards.protocol}/{wildcards.dataset}/{model}/K{UCI_STUDY['K']}/split{split}.safetensors"
        for split in range(uci_splits(wildcards.dataset))
    ]


rule uci:
    input:
        f"{UCI}/metrics/evaluation.parquet",
        f"{UCI}/metrics/searches.parquet",


rule prepare_own:
    input:
        lambda wildcards: OWN[wildcards.dataset]["csv"],
    output:
        f"{UCI}/own/{{dataset}}.safetensors",
    log:
        f"{LOGS}/prepare_own/{{dataset}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare_own/{{dataset}}.tsv"
    priority: 1  # a bad table is said to be one before anything is trained
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        entry=lambda wildcards: OWN[wildcards.dataset],
        code=digest("prepare_own.py"),
    script:
        "../scripts/prepare_own.py"


# A job trains all splits of a set, each of which has its own output.
for dataset in UCI_SETS:

    rule:
        name:
            f"train_uci_{dataset}"
        input:
            data=uci_table(dataset),
        output:
            **{
                f"split{split}": f"{UCI}/{{protocol}}/{{dataset,{dataset}}}/{{model}}/K{UCI_STUDY['K']}/split{split}.safetensors"
                for split in range(uci_splits(dataset))
            },
        log:
            f"{LOGS}/train_uci/{{protocol}}/{{dataset}}/{{model}}.log",
        benchmark:
            f"{BENCHMARKS}/train_uci/{{protocol}}/{{dataset}}/{{model}}.tsv"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=lambda wildcards, attempt: 3000 * attempt,
            runtime=240,
            gpu=GPUS,
            work=uci_work,
        params:
            settings=uci_training,
            K=UCI_STUDY["K"],
            device=config["device"],
            unfinished=UNFINISHED,
            code=digest("train_uci.py"),
        script:
            "../scripts/train_uci.py"


rule evaluate_uci:
    input:
        **{model: uci_networks(model) for model in UCI_STUDY["models"]},
        data=lambda wildcards: uci_table(wildcards.dataset),
    output:
        metrics=f"{UCI}/{{protocol}}/{{dataset}}/evaluation.parquet",
        searches=f"{UCI}/{{protocol}}/{{dataset}}/searches.parquet",
    log:
        f"{LOGS}/evaluate_uci/{{protocol}}/{{dataset}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_uci/{{protocol}}/{{dataset}}.tsv"
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=120,
    params:
        settings=uci_evaluation,
        models=UCI_STUDY["models"],
        K=UCI_STUDY["K"],
        code=digest("evaluate_uci.py"),
    script:
        "../scripts/evaluate_uci.py"


rule collect_uci:
    input:
        expand(
            f"{UCI}/{{protocol}}/{{dataset}}/{{{{table}}}}.parquet",
            protocol=UCI_STUDY["protocols"],
            dataset=UCI_SETS,
        ),
    output:
        f"{UCI}/metrics/{{table}}.parquet",
    log:
        f"{LOGS}/collect_uci/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/collect_uci/{{table}}.tsv"
    wildcard_constraints:
        table="evaluation|searches",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=digest("collect.py"),
    script:
        "../scripts/collect.py"
