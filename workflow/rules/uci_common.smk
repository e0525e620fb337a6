# What the rules of the UCI study share: its sets, where things go, what jobs depend on.

UCI_STUDY = config["uci"]
UCI = f"{RESULTS}/uci"
ASKED = [validation.set_name(entry) for entry in UCI_STUDY["datasets"]]
OWN = {
    name: entry
    for name, entry in zip(ASKED, UCI_STUDY["datasets"])
    if isinstance(entry, dict)
}
check(
    [
        f"{entry['csv']}: no such file; write its path as seen from {Path.cwd()}"
        for entry in OWN.values()
        if not Path(entry["csv"]).is_file()
    ],
    "The tables of your own in uci.datasets",
)
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


def uci_minutes(wildcards, attempt):
    """Resource function: the time limit of a training, by the passes that it takes at most.

    The slowest of those measured (docs/cluster.md) took 10 ms for 1,000 passes over a row.
    """
    settings = UCI_STUDY["training"][wildcards.protocol]
    rows = FILES["uci"].get(wildcards.dataset, {"rows": 1000})["rows"]
    epochs = settings["epochs"]
    if settings["steps"]:
        epochs = min(epochs, 1 + settings["steps"] * settings["batch_size"] // rows)
    networks = uci_splits(wildcards.dataset) * settings["restarts"]
    return attempt * (20 + epochs * networks * rows // (6 * 10**6))


def uci_evaluation(wildcards):
    """Params function: what the job's evaluation depends on, besides its networks."""
    switches = UCI_PROTOCOLS[wildcards.protocol]
    return {
        "seed": UCI_STUDY["seed"],
        **switches["data"],
        **switches["evaluation"],
        **UCI_STUDY["evaluation"],
    }


def uci_network(protocol, dataset, model, split):
    """Where the networks of a split lie."""
    folder = f"{UCI}/{protocol}/{dataset}/{model}/K{UCI_STUDY['K']}"
    return f"{folder}/split{split}.safetensors"


def uci_networks(model):
    """Input function: the networks of a model, for all splits of the job's set."""
    return lambda wildcards: [
        uci_network(wildcards.protocol, wildcards.dataset, model, split)
        for split in range(uci_splits(wildcards.dataset))
    ]


def uci_figures_of(protocol):
    """Names of a protocol's pictures, without its own."""
    searched = ["v_wta", "k_wta", "tk_hist"]
    if UCI_STUDY["training"][protocol]["restarts"] > 1:
        searched.append("v_wta_ensemble")
    return ["nll", "rmse", *(f"search_{method}" for method in searched)]
