# Trained networks from a deposit (docs/elsewhere.md). `snakemake fetch_networks` fetches it once; from then on, a network
# that the deposit has is taken in place of its training, if code and settings are the same. The parameters of both rules
# are the same too, so that it does not matter later where a network came from.

from vwta.workflow.deposit import Deposit

# Reading the workflow reads its manifest: it is in no storage, but below the prefix of a module.
DEPOSIT_FOLDER = workflow.modifier.path_modifier.replace_prefix(
    f"{CACHE}/networks/{config['tier']}"
)
DEPOSIT = Deposit(Path(DEPOSIT_FOLDER), config["tier"])
# Of networks below the results, and below the deposit.
DEPOSITED = f"synthetic/{RUN}/seed{{seed}}.safetensors"
UCI_DEPOSITED = f"uci/{UCI_RUN}/{{model}}/K{UCI_STUDY['K']}/splits.zip"
AUDIO_DEPOSITED = f"audio/{AUDIO_RUN}/seed{{seed}}.safetensors"


rule fetch_networks:
    """Fetch a deposit of trained networks (networks.source), which saves their trainings."""
    output:
        local(directory(DEPOSIT_FOLDER)),
    log:
        f"{LOGS}/fetch/networks.log",
    resources:
        mem_mb=1000,
        runtime=240,
        downloads=1,
    params:
        source=unrecorded(config["networks"]["source"]),
        sha256=unrecorded(config["networks"]["sha256"]),
        cache=unrecorded(CACHE),
    script:
        "../scripts/fetch_networks.py"


rule take_synthetic:
    """Take a network of the synthetic study from a deposit."""
    input:
        data=DEPOSIT.offers(
            DEPOSITED,
            DATA,
            code("train_synthetic.py"),
            STUDY.trained_with,
        ),
    output:
        NETWORK,
    log:
        f"{LOGS}/take_synthetic/{RUN}/seed{{seed}}.log",
    wildcard_constraints:
        model="|".join(STUDY["models"]),
    params:
        constants=STUDY.constants,
        training=STUDY["training"],
        protocol=STUDY.training,
        bins=STUDY.bins,
        deposit=unrecorded(str(DEPOSIT.folder)),
        name=lambda wildcards, output: DEPOSITED.format(**wildcards),
        code=code("train_synthetic.py"),
    script:
        "../scripts/take_network.py"


rule take_synthetic_local:
    """Take a network with local kernels of the synthetic study from a deposit."""
    input:
        data=DEPOSIT.offers(
            DEPOSITED,
            DATA,
            code("train_synthetic_local.py"),
            STUDY.trained_with,
        ),
    output:
        NETWORK,
    log:
        f"{LOGS}/take_synthetic_local/{RUN}/seed{{seed}}.log",
    wildcard_constraints:
        model="local",
    params:
        settings=STUDY.local_training,
        deposit=unrecorded(str(DEPOSIT.folder)),
        name=lambda wildcards, output: DEPOSITED.format(**wildcards),
        code=code("train_synthetic_local.py"),
    script:
        "../scripts/take_network.py"


rule take_uci:
    """Take the networks of a data set of the UCI study from a deposit."""
    input:
        data=DEPOSIT.offers(
            UCI_DEPOSITED,
            lambda wildcards: uci_table(wildcards.dataset),
            code("train_uci.py"),
            UCI_STUDY.training,
            lambda wildcards: UCI_STUDY.splits(wildcards.dataset, wildcards.model),
        ),
    output:
        UCI_NETWORKS,
    log:
        f"{LOGS}/take_uci/{UCI_RUN}/{{model}}.log",
    params:
        settings=UCI_STUDY.training,
        splits=lambda wildcards: UCI_STUDY.splits(wildcards.dataset, wildcards.model),
        K=UCI_STUDY["K"],
        deposit=unrecorded(str(DEPOSIT.folder)),
        name=lambda wildcards, output: UCI_DEPOSITED.format(**wildcards),
        code=code("train_uci.py"),
    script:
        "../scripts/take_network.py"


rule take_audio:
    """Take a network of the audio study from a deposit."""
    input:
        train=AUDIO_STUDY.fold("train"),
        validation=AUDIO_STUDY.fold("validation"),
        labels=DEPOSIT.offers(
            AUDIO_DEPOSITED,
            lambda wildcards: AUDIO_STUDY.labels("train", "validation"),
            code("train_audio.py"),
            AUDIO_STUDY.training,
        ),
    output:
        AUDIO_NETWORK,
    log:
        f"{LOGS}/take_audio/{AUDIO_RUN}/seed{{seed}}.log",
    wildcard_constraints:
        model="|".join(AUDIO_STUDY["models"]),
    params:
        settings=AUDIO_STUDY.training,
        deposit=unrecorded(str(DEPOSIT.folder)),
        name=lambda wildcards, output: AUDIO_DEPOSITED.format(**wildcards),
        code=code("train_audio.py"),
    script:
        "../scripts/take_network.py"


rule take_audio_local:
    """Take a network with local kernels of the audio study from a deposit."""
    input:
        train=AUDIO_STUDY.fold("train"),
        validation=AUDIO_STUDY.fold("validation"),
        labels=DEPOSIT.offers(
            AUDIO_DEPOSITED,
            lambda wildcards: AUDIO_STUDY.labels("train", "validation"),
            code("train_audio_local.py"),
            AUDIO_STUDY.training,
        ),
    output:
        AUDIO_NETWORK,
    log:
        f"{LOGS}/take_audio_local/{AUDIO_RUN}/seed{{seed}}.log",
    wildcard_constraints:
        model="local",
    params:
        settings=AUDIO_STUDY.training,
        deposit=unrecorded(str(DEPOSIT.folder)),
        name=lambda wildcards, output: AUDIO_DEPOSITED.format(**wildcards),
        code=code("train_audio_local.py"),
    script:
        "../scripts/take_network.py"


ruleorder: take_synthetic > train_synthetic_stack > train_synthetic
ruleorder: take_synthetic_local > train_synthetic_local_stack > train_synthetic_local
ruleorder: take_uci > train_uci
ruleorder: take_audio > train_audio
ruleorder: take_audio_local > train_audio_local


LOCAL += [
    "fetch_networks",
    "take_synthetic",
    "take_synthetic_local",
    "take_uci",
    "take_audio",
    "take_audio_local",
]
