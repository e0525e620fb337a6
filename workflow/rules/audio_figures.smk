# Tables and pictures of the audio study. They read tidy metrics and kept predictions alone. Files of the
# headline protocol have no protocol in their names; pictures are drawn for protocols with WTA networks.

AUDIO_PRINTED = "config/reported/audio.csv"
AUDIO_SCOPES = {name: scope(AUDIO_STUDY, name) for name in AUDIO_STUDY["protocols"]}
AUDIO_ENDINGS = {
    name: "" if name == AUDIO_STUDY["headline"] else f"_{name}" for name in AUDIO_SCOPES
}
AUDIO_PICTURED = [
    name for name, wanted in AUDIO_SCOPES.items() if "wta" in wanted["models"]
]
AUDIO_SEEN = {  # what is drawn from predictions
    "scenes": "Predictions",
    "scenes_on_sphere": "Predictions on the sphere",
}
AUDIO_SEEN_IN = [
    name
    for name in AUDIO_PICTURED
    if AUDIO_STUDY["predictions"]["K"] in AUDIO_SCOPES[name]["K"]
]


rule audio_tables:
    input:
        expand(
            f"{RESULTS}/tables/audio_{{table}}{{ending}}.{{suffix}}",
            table=["main", "quantisation", "tuned"],
            ending=AUDIO_ENDINGS.values(),
            suffix=["csv", "md", "tex"],
        ),


rule audio_figures:
    input:
        [
            f"{FIGURES}/audio_{figure}{AUDIO_ENDINGS[name]}.{suffix}"
            for name in AUDIO_PICTURED
            for figure in audio_measured(name)
            for suffix in ("pdf", "png")
        ],
        expand(
            f"{FIGURES}/audio_{{figure}}{{ending}}.{{suffix}}",
            figure=AUDIO_SEEN,
            ending=[AUDIO_ENDINGS[name] for name in AUDIO_SEEN_IN],
            suffix=["pdf", "png"],
        ),


rule table_audio:
    input:
        metrics=f"{AUDIO}/metrics/evaluation.parquet",
        printed=AUDIO_PRINTED,
    output:
        rules.audio_tables.input,
    log:
        f"{LOGS}/table_audio.log",
    benchmark:
        f"{BENCHMARKS}/table_audio.tsv"
    group:
        "audio_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        dataset=AUDIO_SOURCE,
        endings=AUDIO_ENDINGS,
        low=AUDIO_STUDY["evaluation"]["tuning"]["low"],
        high=AUDIO_STUDY["evaluation"]["tuning"]["high"],
        code=digest("table_audio.py"),
    script:
        "../scripts/table_audio.py"


for protocol in AUDIO_PICTURED:

    rule:
        name:
            f"figure_audio_{protocol}"
        input:
            metrics=f"{AUDIO}/metrics/evaluation.parquet",
            curves=f"{AUDIO}/metrics/curves.parquet",
        output:
            pdf=[
                f"{FIGURES}/audio_{figure}{AUDIO_ENDINGS[protocol]}.pdf"
                for figure in audio_measured(protocol)
            ],
            png=[
                report(
                    f"{FIGURES}/audio_{figure}{AUDIO_ENDINGS[protocol]}.png",
                    caption=f"../report/audio_{figure}.rst",
                    category="Audio study",
                    labels={"figure": title, "protocol": protocol},
                )
                for figure, title in audio_measured(protocol).items()
            ],
        log:
            f"{LOGS}/figure_audio/{protocol}.log",
        benchmark:
            f"{BENCHMARKS}/figure_audio/{protocol}.tsv"
        group:
            "audio_figures"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=growing(5),
        params:
            protocol=protocol,
            dataset=AUDIO_SOURCE,
            models=AUDIO_SCOPES[protocol]["models"],
            counts=AUDIO_SCOPES[protocol]["K"],
            code=digest("figure_audio.py"),
        script:
            "../scripts/figure_audio.py"


# They show the first seed.
for protocol in AUDIO_SEEN_IN:

    rule:
        name:
            f"figure_audio_scenes_{protocol}"
        input:
            expand(
                f"{AUDIO}/{AUDIO_RUN}/scenes_seed{{seed}}.safetensors",
                protocol=protocol,
                dataset=AUDIO_SOURCE,
                model="wta",
                K=AUDIO_STUDY["predictions"]["K"],
                seed=AUDIO_SCOPES[protocol]["seeds"][0],
            ),
        output:
            pdf=[
                f"{FIGURES}/audio_{figure}{AUDIO_ENDINGS[protocol]}.pdf"
                for figure in AUDIO_SEEN
            ],
            png=[
                report(
                    f"{FIGURES}/audio_{figure}{AUDIO_ENDINGS[protocol]}.png",
                    caption=f"../report/audio_{figure}.rst",
                    category="Audio study",
                    labels={"figure": title, "protocol": protocol},
                )
                for figure, title in AUDIO_SEEN.items()
            ],
        log:
            f"{LOGS}/figure_audio_scenes/{protocol}.log",
        benchmark:
            f"{BENCHMARKS}/figure_audio_scenes/{protocol}.tsv"
        group:
            "audio_figures"
        conda:
            "../../envs/cpu.yaml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=growing(5),
        params:
            code=digest("figure_audio_scenes.py"),
        script:
            "../scripts/figure_audio_scenes.py"
