# Figures. They read tidy metrics and kept predictions alone.

FIGURES = f"{RESULTS}/figures"


rule figures:
    input:
        expand(
            f"{FIGURES}/nll_against_h_{{protocol}}_K{{K}}.{{suffix}}",
            protocol=config["figures"]["nll_against_h"]["protocols"],
            K=config["figures"]["nll_against_h"]["K"],
            suffix=["pdf", "png"],
        ),
        expand(
            f"{FIGURES}/training_curves_K{{K}}.{{suffix}}",
            K=config["figures"]["training_curves"]["K"],
            suffix=["pdf", "png"],
        ),
        [
            f"{FIGURES}/{figure}_{protocol}.{suffix}"
            for figure, settings in {
                "dirac_limits": "dirac_limits",
                "qualitative": "qualitative",
                "quantitative": "quantitative",
                "tuned": "quantitative",
            }.items()
            for protocol in config["figures"][settings]["protocols"]
            for suffix in ("pdf", "png")
        ],
        expand(
            f"{FIGURES}/{{figure}}.{{suffix}}",
            figure=[
                "quantitative_std",
                "variants",
                "weak_convergence",
                "cells",
                "point_density",
                "proof_radius",
                "proof_partition",
            ],
            suffix=["pdf", "png"],
        ),


rule figure_nll_against_h:
    input:
        f"{SYNTHETIC}/metrics/evaluation.parquet",
    output:
        pdf=f"{FIGURES}/nll_against_h_{{protocol}}_K{{K}}.pdf",
        png=report(
            f"{FIGURES}/nll_against_h_{{protocol}}_K{{K}}.png",
            caption="../report/nll_against_h.rst",
            category="Synthetic study",
            labels={"figure": "NLL against h", "protocol": "{protocol}", "K": "{K}"},
        ),
    log:
        f"{LOGS}/figure_nll_against_h/{{protocol}}/K{{K}}.log",
    benchmark:
        f"{BENCHMARKS}/figure_nll_against_h/{{protocol}}/K{{K}}.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        protocol="{protocol}",
        otherwise=HEADLINE,
        datasets=STUDY["datasets"],
        code=digest("figure_nll_against_h.py"),
    script:
        "../scripts/figure_nll_against_h.py"


rule figure_training_curves:
    input:
        f"{SYNTHETIC}/metrics/curves.parquet",
    output:
        pdf=f"{FIGURES}/training_curves_K{{K}}.pdf",
        png=report(
            f"{FIGURES}/training_curves_K{{K}}.png",
            caption="../report/training_curves.rst",
            category="Synthetic study",
            labels={"figure": "training curves", "K": "{K}"},
        ),
    log:
        f"{LOGS}/figure_training_curves/K{{K}}.log",
    benchmark:
        f"{BENCHMARKS}/figure_training_curves/K{{K}}.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        protocol=HEADLINE,
        datasets=STUDY["datasets"],
        models=STUDY["models"],
        code=digest("figure_training_curves.py"),
    script:
        "../scripts/figure_training_curves.py"
