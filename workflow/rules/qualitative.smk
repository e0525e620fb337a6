# Pictures of single predictions, from kept atoms. They show the first seed.

PREDICTIONS = f"{SYNTHETIC}/{RUN}/predictions_seed{{seed}}.safetensors"
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


rule predict_synthetic:
    input:
        lambda wildcards: expand(
            NETWORK,
            protocol=trainer(wildcards.protocol),
            dataset=wildcards.dataset,
            **PICTURED,
        ),
    output:
        expand(PREDICTIONS, **PICTURED, allow_missing=True),
    log:
        f"{LOGS}/predict_synthetic/{PROBLEM}.log",
    benchmark:
        f"{BENCHMARKS}/predict_synthetic/{PROBLEM}.tsv"
    group:
        "synthetic_evaluation"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        constants=constants(STUDY),
        predictions=STUDY["predictions"],
        protocol=evaluation_switches,
        code=digest("predict_synthetic.py"),
    script:
        "../scripts/predict_synthetic.py"


rule figure_dirac_limits:
    input:
        expand(
            PREDICTIONS,
            dataset=config["figures"]["dirac_limits"]["dataset"],
            model="wta",
            K=config["figures"]["dirac_limits"]["K"],
            seed=STUDY["seeds"][0],
            allow_missing=True,
        ),
    output:
        pdf=f"{FIGURES}/dirac_limits_{{protocol}}.pdf",
        png=report(
            f"{FIGURES}/dirac_limits_{{protocol}}.png",
            caption="../report/dirac_limits.rst",
            category="Synthetic study",
            labels={"figure": "Limits of Dirac mixtures", "protocol": "{protocol}"},
        ),
    log:
        f"{LOGS}/figure_dirac_limits/{{protocol}}.log",
    benchmark:
        f"{BENCHMARKS}/figure_dirac_limits/{{protocol}}.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        x=config["figures"]["dirac_limits"]["x"],
        domain=STUDY["domain"],
        code=digest("figure_dirac_limits.py"),
    script:
        "../scripts/figure_dirac_limits.py"


rule figure_qualitative:
    input:
        expand(
            PREDICTIONS,
            dataset=config["figures"]["qualitative"]["datasets"],
            model=STUDY["models"],
            K=config["figures"]["qualitative"]["K"],
            seed=STUDY["seeds"][0],
            allow_missing=True,
        ),
    output:
        pdf=f"{FIGURES}/qualitative_{{protocol}}.pdf",
        png=report(
            f"{FIGURES}/qualitative_{{protocol}}.png",
            caption="../report/qualitative.rst",
            category="Synthetic study",
            labels={"figure": "Predictions", "protocol": "{protocol}"},
        ),
    log:
        f"{LOGS}/figure_qualitative/{{protocol}}.log",
    benchmark:
        f"{BENCHMARKS}/figure_qualitative/{{protocol}}.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        x=config["figures"]["qualitative"]["x"],
        domain=STUDY["domain"],
        code=digest("figure_qualitative.py"),
    script:
        "../scripts/figure_qualitative.py"
