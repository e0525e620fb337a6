# The synthetic study: generate -> train -> tune -> evaluate, measure distances, predict -> collect.

PROBLEM = "{protocol}/{dataset}"
RUN = "{protocol}/{dataset}/{model}/K{K}"
NETWORK = f"{SYNTHETIC}/{RUN}/seed{{seed}}.safetensors"
DISTANCES = f"{SYNTHETIC}/{RUN}/emd_seed{{seed}}.parquet"
PREDICTIONS = f"{SYNTHETIC}/{RUN}/predictions_seed{{seed}}.safetensors"
SEARCHES = f"{SYNTHETIC}/{PROBLEM}/searches.parquet"
DATA_FILE = f"{SYNTHETIC}/{PROBLEM}/data.safetensors"
DATA = STUDY.data(DATA_FILE)
METRICS = f"{RESULTS}/{{study}}/metrics/{{table}}.parquet"  # of all studies
# Problems without bandwidths of their own are left out.
MEASURED = [name for name in STUDY["datasets"] if name in STUDY["emd"]["h"]]
# Pictures of single predictions show the first seed.
PICTURED = {
    "model": STUDY["models"],
    "K": sorted(
        {
            config["figures"]["dirac_limits"]["K"],
            *config["figures"]["qualitative"]["K"],
            *config["figures"]["proof_radius"]["K"],
            *config["figures"]["proof_partition"]["K"],
        }
    ),
    "seed": STUDY["seeds"][0],
}
TARGETS["synthetic"] = expand(
    f"{SYNTHETIC}/metrics/{{table}}.parquet",
    table=["evaluation", "curves", "theory", "emd", "properties"],
)
CURVES = {
    "synthetic": {name: STUDY.runs(None, NETWORK, [name]) for name in STUDY.trainers}
}
COLLECTED = {
    "synthetic": {
        "evaluation": STUDY.runs(
            "evaluation", f"{SYNTHETIC}/{PROBLEM}/metrics.parquet"
        ),
        "properties": STUDY.runs(
            "properties", f"{SYNTHETIC}/{PROBLEM}/properties.parquet"
        ),
        "theory": expand(
            f"{SYNTHETIC}/{PROBLEM}/theory.parquet",
            protocol=HEADLINE,
            dataset=STUDY["datasets"],
        ),
        "emd": [
            path
            for pattern in (f"{SYNTHETIC}/{PROBLEM}/emd_truth.parquet", DISTANCES)
            for path in STUDY.runs("emd", pattern, datasets=MEASURED)
        ],
    }
}


rule synthetic:
    """Metrics of the synthetic study."""
    input:
        TARGETS["synthetic"],


rule generate_synthetic:
    """Draw the data of a synthetic problem."""
    output:
        DATA_FILE,
    log:
        f"{LOGS}/generate_synthetic/{PROBLEM}.log",
    params:
        constants=STUDY.constants,
        clouds=STUDY.clouds,
        rows=STUDY["data"]["rows"],
        seed=STUDY["data"]["seed"],
        code=code("generate_synthetic.py"),
    script:
        "../scripts/generate_synthetic.py"


rule train_synthetic:
    """Train a network on a synthetic problem."""
    input:
        data=DATA,
    output:
        NETWORK,
    log:
        f"{LOGS}/train_synthetic/{RUN}/seed{{seed}}.log",
    wildcard_constraints:
        model="|".join(STUDY["models"]),
    resources:
        mem_mb=growing(2000),
        runtime=growing(20),
        gpu=HARDWARE.asked,
        gpu_mb=HARDWARE.share(1500),
        work=STUDY.training_work,
        steps=STUDY.steps,
        step_rows=STUDY.step_rows,
    params:
        constants=STUDY.constants,
        training=STUDY["training"],
        protocol=STUDY.training,
        bins=STUDY.bins,
        device=unrecorded(config["device"]),
        unfinished=unrecorded(UNFINISHED),
        code=code("train_synthetic.py"),
    script:
        "../scripts/train_synthetic.py"


use rule train_synthetic as train_synthetic_stack with:
    # Train the networks of all seeds at once, each into its own file, if none exists yet or all do.
    # The parameters are those of a single network: it does not matter later which rule trained it.
    input:
        data=STUDY.stack_data(
            DATA_FILE,
            NETWORK,
            is_there,
            workflow.is_main_process,
        ),
    output:
        expand(NETWORK, seed=STUDY["seeds"], allow_missing=True),
    log:
        f"{LOGS}/train_synthetic_stack/{RUN}.log",
    wildcard_constraints:
        model="|".join(STUDY["models"]),
    resources:
        mem_mb=growing(2000),
        runtime=growing(40),
        gpu=HARDWARE.asked,
        gpu_mb=HARDWARE.share(1500),
        work=STUDY.training_work,
        steps=STUDY.steps,
        step_rows=STUDY.step_rows,


rule tune_synthetic:
    """Search the bandwidths of all networks trained on a problem."""
    input:
        data=DATA,
        networks=STUDY.networks("evaluation", NETWORK),
    output:
        SEARCHES,
    log:
        f"{LOGS}/tune_synthetic/{PROBLEM}.log",
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
        work=STUDY.evaluation_work,
    params:
        tuning=STUDY["evaluation"]["tuning"],
        protocol=STUDY.selected,
        domain=STUDY["domain"],
        code=code("tune_synthetic.py"),
    script:
        "../scripts/tune_synthetic.py"


rule train_synthetic_local:
    """Train a network with local kernels on a synthetic problem."""
    input:
        data=DATA,
    output:
        NETWORK,
    log:
        f"{LOGS}/train_synthetic_local/{RUN}/seed{{seed}}.log",
    wildcard_constraints:
        model="local",
    resources:
        mem_mb=growing(3000),
        runtime=growing(240),
        gpu=HARDWARE.asked,
        gpu_mb=HARDWARE.share(3000),
        work=STUDY.training_work,
        steps=STUDY.steps,
        step_rows=STUDY.step_rows,
    params:
        settings=STUDY.local_training,
        device=unrecorded(config["device"]),
        unfinished=unrecorded(UNFINISHED),
        code=code("train_synthetic_local.py"),
    script:
        "../scripts/train_synthetic_local.py"


use rule train_synthetic_local as train_synthetic_local_stack with:
    # As of other networks: those of all seeds at once.
    input:
        data=STUDY.stack_data(
            DATA_FILE,
            NETWORK,
            is_there,
            workflow.is_main_process,
        ),
    output:
        expand(NETWORK, seed=STUDY["seeds"], allow_missing=True),
    log:
        f"{LOGS}/train_synthetic_local_stack/{RUN}.log",
    wildcard_constraints:
        model="local",
    resources:
        mem_mb=growing(3000),
        runtime=growing(480),
        gpu=HARDWARE.asked,
        gpu_mb=HARDWARE.share(3000),
        work=STUDY.training_work,
        steps=STUDY.steps,
        step_rows=STUDY.step_rows,


rule evaluate_synthetic:
    """Measure the true law of a problem and the estimators of all networks trained on it."""
    input:
        data=DATA,
        networks=STUDY.networks("evaluation", NETWORK),
        searches=SEARCHES,
    output:
        f"{SYNTHETIC}/{PROBLEM}/metrics.parquet",
    log:
        f"{LOGS}/evaluate_synthetic/{PROBLEM}.log",
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
        work=STUDY.evaluation_work,
    params:
        law=STUDY.law,
        evaluation=measuring(STUDY["evaluation"]),
        protocol=STUDY.likelihood,
        domain=STUDY["domain"],
        code=code("evaluate_synthetic.py"),
    script:
        "../scripts/evaluate_synthetic.py"


rule evaluate_emd:
    """Measure how far the estimators of a trained network are from the true law."""
    input:
        data=DATA,
        network=STUDY.network(NETWORK),
    output:
        DISTANCES,
    log:
        f"{LOGS}/evaluate_emd/{RUN}/seed{{seed}}.log",
    resources:
        mem_mb=growing(2000),
        runtime=growing(15),
        work=STUDY.emd_work,
    params:
        constants=STUDY.constants,
        emd=STUDY.emd,
        protocol=STUDY.transport,
        clouds=STUDY.clouds,
        domain=STUDY["domain"],
        code=code("evaluate_emd.py"),
    script:
        "../scripts/evaluate_emd.py"


rule evaluate_emd_truth:
    """Measure how far two samples of a problem's true law are from each other."""
    input:
        data=DATA,
    output:
        f"{SYNTHETIC}/{PROBLEM}/emd_truth.parquet",
    log:
        f"{LOGS}/evaluate_emd_truth/{PROBLEM}.log",
    resources:
        mem_mb=growing(1500),
        runtime=growing(15),
        work=STUDY.emd_work,
    params:
        constants=STUDY.constants,
        emd={key: STUDY["emd"][key] for key in ("seed", "inputs", "samples")},
        clouds=STUDY.clouds,
        code=code("evaluate_emd_truth.py"),
    script:
        "../scripts/evaluate_emd_truth.py"


rule predict_synthetic:
    """Store the predictions of the trained networks of a problem at chosen inputs, for figures."""
    input:
        lambda wildcards: expand(
            NETWORK,
            protocol=STUDY.trainer(wildcards.protocol),
            dataset=wildcards.dataset,
            **PICTURED,
        ),
    output:
        expand(PREDICTIONS, **PICTURED, allow_missing=True),
    log:
        f"{LOGS}/predict_synthetic/{PROBLEM}.log",
    params:
        constants=STUDY.constants,
        predictions=STUDY["predictions"],
        protocol=STUDY.selected,
        code=code("predict_synthetic.py"),
    script:
        "../scripts/predict_synthetic.py"


rule export_explorer:
    """Store predictions of networks over the range of inputs, for the page."""
    input:
        **{
            name: STUDY.runs(
                None,
                NETWORK.replace("{protocol}", STUDY.trainer(name)),
                [name],
                seeds=STUDY["seeds"][:1],
            )
            for name in STUDY["explorer"]["protocols"]
        },
    output:
        f"{SYNTHETIC}/explorer.safetensors",
    log:
        f"{LOGS}/export_explorer.log",
    params:
        selected_by={
            name: STUDY.protocols[name]["evaluation"]["selected_by"]
            for name in STUDY["explorer"]["protocols"]
        },
        constants={name: STUDY["constants"].get(name, {}) for name in STUDY["datasets"]},
        domain=STUDY["domain"],
        explorer={
            name: STUDY["explorer"][name] for name in ("inputs", "targets", "seed")
        },
        code=code("export_explorer.py"),
    script:
        "../scripts/export_explorer.py"


rule collect:
    """Put tables of metrics of a study together."""
    input:
        lambda wildcards: COLLECTED[wildcards.study][wildcards.table],
    output:
        METRICS,
    log:
        f"{LOGS}/collect/{{study}}/{{table}}.log",
    wildcard_constraints:
        table="evaluation|emd|theory|properties|searches",
    params:
        place=lambda wildcards, output: METRICS.format(**wildcards),
        code=code("collect.py"),
    script:
        "../scripts/collect.py"


rule collect_curves:
    """Put the curves of a study's trainings together."""
    input:
        unpack(lambda wildcards: CURVES[wildcards.study]),
    output:
        METRICS.replace("{table}", "curves"),
    log:
        f"{LOGS}/collect_curves/{{study}}.log",
    params:
        place=lambda wildcards, output: METRICS.format(**wildcards, table="curves"),
        code=code("collect_curves.py"),
    script:
        "../scripts/collect_curves.py"
