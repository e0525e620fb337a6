# Figures of the synthetic study against the number K of hypotheses.

QUANTITATIVE = config["figures"]["quantitative"]["datasets"]
METRICS = [
    f"{SYNTHETIC}/metrics/{name}.parquet" for name in ("evaluation", "emd", "theory")
]


rule figure_quantitative:
    input:
        METRICS,
    output:
        pdf=f"{FIGURES}/quantitative_{{protocol}}.pdf",
        png=report(
            f"{FIGURES}/quantitative_{{protocol}}.png",
            caption="../report/quantitative.rst",
            category="Synthetic study",
            labels={"figure": "Metrics against K", "protocol": "{protocol}"},
        ),
    log:
        f"{LOGS}/figure_quantitative/{{protocol}}.log",
    benchmark:
        f"{BENCHMARKS}/figure_quantitative/{{protocol}}.tsv"
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
        models=STUDY["models"],
        h={name: STUDY["emd"]["h"][name] for name in QUANTITATIVE},
        K=STUDY["K"],
        spread="range",
        code=digest("figure_quantitative.py"),
    script:
        "../scripts/figure_quantitative.py"


rule figure_quantitative_std:
    input:
        METRICS,
    output:
        pdf=f"{FIGURES}/quantitative_std.pdf",
        png=report(
            f"{FIGURES}/quantitative_std.png",
            caption="../report/quantitative_std.rst",
            category="Synthetic study",
            labels={"figure": "Metrics against K, standard deviations"},
        ),
    log:
        f"{LOGS}/figure_quantitative_std.log",
    benchmark:
        f"{BENCHMARKS}/figure_quantitative_std.tsv"
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
        otherwise=HEADLINE,
        models=STUDY["models"],
        h={
            name: config["figures"]["quantitative_std"]["h"][name]
            for name in QUANTITATIVE
        },
        K=STUDY["K"],
        spread="deviation",
        code=digest("figure_quantitative.py"),
    script:
        "../scripts/figure_quantitative.py"


rule figure_tuned:
    input:
        f"{SYNTHETIC}/metrics/evaluation.parquet",
    output:
        pdf=f"{FIGURES}/tuned_{{protocol}}.pdf",
        png=report(
            f"{FIGURES}/tuned_{{protocol}}.png",
            caption="../report/tuned.rst",
            category="Synthetic study",
            labels={"figure": "NLL at tuned bandwidths", "protocol": "{protocol}"},
        ),
    log:
        f"{LOGS}/figure_tuned/{{protocol}}.log",
    benchmark:
        f"{BENCHMARKS}/figure_tuned/{{protocol}}.tsv"
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
        models=STUDY["models"],
        methods=STUDY["evaluation"]["tuning"]["methods"],
        low=STUDY["evaluation"]["tuning"]["low"],
        high=STUDY["evaluation"]["tuning"]["high"],
        datasets=STUDY["datasets"],
        K=STUDY["K"],
        code=digest("figure_tuned.py"),
    script:
        "../scripts/figure_tuned.py"
