# Figures (vwta.workflow.figures lists them) and tables of all studies, from tidy metrics and stored predictions alone.

from vwta.workflow import figures as figure_table

REPORTED = {
    name: source(f"config/reported/{name}.csv")
    for name in ("synthetic", "uci", "uci_sizes", "audio", "quoted")
}
UCI_PICTURES = figure_table.uci_figures(
    UCI_STUDY, f"{UCI}/metrics/{{table}}.parquet", REPORTED["uci"]
)
AUDIO_PICTURES = figure_table.audio_figures(
    AUDIO_STUDY, f"{AUDIO}/metrics/{{table}}.parquet"
)
AUDIO_SCENES = figure_table.scene_figures(AUDIO_STUDY, AUDIO_SHOWN)
PICTURES = figure_table.synthetic_figures(
    STUDY,
    config["figures"],
    f"{SYNTHETIC}/metrics/{{table}}.parquet",
    PREDICTIONS,
    figure_table.Printed(
        REPORTED["synthetic"],
        read_judgement(ROOT)[0]["numbers"]["measured_as"]["synthetic"],
    ),
)
UCI_TOGETHER = UCI_STUDY.figures
AUDIO_TOGETHER = ["nll_against_h", "monte_carlo", "dispersion"]
# Those of a protocol are one job together; each of the others is a job of its own.
TOGETHER = expand(
    "uci_{name}_{protocol}", name=UCI_TOGETHER, protocol=UCI_STUDY["protocols"]
) + expand(
    "audio_{name}{ending}", name=AUDIO_TOGETHER, ending=AUDIO_STUDY.endings.values()
)
FIGURE = {
    name: picture
    for table in (PICTURES, UCI_PICTURES, AUDIO_PICTURES, AUDIO_SCENES)
    for name, picture in table.items()
}
HEADLINE_FIRST = [HEADLINE, *(name for name in STUDY.protocols if name != HEADLINE)]

for target, names in {
    "synthetic_figures": PICTURES,
    "uci_figures": UCI_PICTURES,
    "audio_figures": [*AUDIO_PICTURES, *AUDIO_SCENES],
}.items():
    TARGETS[target] = expand(
        f"{FIGURES}/{{name}}.{{suffix}}", name=names, suffix=["pdf", "png"]
    )
for target, names in {
    "uci_tables": UCI_STUDY.tables,
    "audio_tables": AUDIO_STUDY.tables,
}.items():
    TARGETS[target] = expand(
        f"{TABLES}/{{name}}.{{suffix}}", name=names, suffix=["csv", "md", "tex"]
    )
TARGETS["synthetic_tables"] = expand(
    f"{TABLES}/{{name}}.{{suffix}}",
    name=["protocols", "local_kernels", "unused"],
    suffix=["csv", "md"],
)


rule synthetic_figures:
    """Figures of the synthetic study."""
    input:
        TARGETS["synthetic_figures"],


rule synthetic_tables:
    """Tables of the synthetic study."""
    input:
        TARGETS["synthetic_tables"],


rule uci_figures:
    """Figures of the UCI study."""
    input:
        TARGETS["uci_figures"],


rule uci_tables:
    """Tables of the UCI study."""
    input:
        TARGETS["uci_tables"],


rule audio_figures:
    """Figures of the audio study."""
    input:
        TARGETS["audio_figures"],


rule audio_tables:
    """Tables of the audio study."""
    input:
        TARGETS["audio_tables"],


rule figure:
    """Draw a figure of the synthetic study, or predictions of the audio study."""
    input:
        unpack(lambda wildcards: FIGURE[wildcards.figure].inputs),
    output:
        pdf=[f"{FIGURES}/{{figure}}.pdf"],
        png=[reported("{figure}")],
    log:
        f"{LOGS}/figure/{{figure}}.log",
    wildcard_constraints:
        figure="|".join(name for name in FIGURE if name not in TOGETHER),
    resources:
        runtime=growing(5),
    params:
        drawings=lambda wildcards: [FIGURE[wildcards.figure].drawing],
        caption=lambda wildcards: FIGURE[wildcards.figure].text(
            ROOT / "workflow/report"
        ),
        code=lambda wildcards: code("figure.py", *FIGURE[wildcards.figure].modules),
    script:
        "../scripts/figure.py"


rule figure_uci:
    """Draw the figures of a study under a protocol, from its metrics."""
    input:
        **figure_table.inputs(UCI_PICTURES),
    output:
        pdf=[f"{FIGURES}/uci_{name}_{{protocol}}.pdf" for name in UCI_TOGETHER],
        png=[
            reported(
                f"uci_{name}_{{protocol}}",
                "uci_search" if "search" in name else "uci_comparison",
            )
            for name in UCI_TOGETHER
        ],
    log:
        f"{LOGS}/figure_uci/{{protocol}}.log",
    resources:
        runtime=growing(5),
    params:
        drawings=lambda wildcards: [
            UCI_PICTURES[f"uci_{name}_{wildcards.protocol}"].drawing
            for name in UCI_TOGETHER
        ],
        code=code("figure.py", "vwta.paper.figures.uci"),
    script:
        "../scripts/figure.py"


use rule figure_uci as figure_audio with:
    input:
        metrics=f"{AUDIO}/metrics/evaluation.parquet",
    output:
        pdf=[f"{FIGURES}/audio_{name}{{ending}}.pdf" for name in AUDIO_TOGETHER],
        png=[
            reported(f"audio_{name}{{ending}}", f"audio_{name}")
            for name in AUDIO_TOGETHER
        ],
    log:
        f"{LOGS}/figure_audio/figures{{ending}}.log",
    params:
        drawings=lambda wildcards: [
            AUDIO_PICTURES[f"audio_{name}{wildcards.ending}"].drawing
            for name in AUDIO_TOGETHER
        ],
        code=code("figure.py", "vwta.paper.figures.audio"),


rule table_protocols:
    """Write the numbers of several protocols, and of local kernels and others, side by side."""
    input:
        f"{SYNTHETIC}/metrics/evaluation.parquet",
        f"{SYNTHETIC}/metrics/emd.parquet",
    output:
        csv=listed(f"{TABLES}/protocols.csv"),
        markdown=f"{TABLES}/protocols.md",
        local_csv=listed(f"{TABLES}/local_kernels.csv"),
        local_markdown=f"{TABLES}/local_kernels.md",
    log:
        f"{LOGS}/table_protocols.log",
    resources:
        runtime=growing(5),
    params:
        protocols=HEADLINE_FIRST,
        code=code("table_protocols.py"),
    script:
        "../scripts/table_protocols.py"


rule table_unused:
    """Write how many hypotheses of trained networks are unused."""
    input:
        f"{SYNTHETIC}/metrics/properties.parquet",
    output:
        csv=listed(f"{TABLES}/unused.csv"),
        markdown=f"{TABLES}/unused.md",
    log:
        f"{LOGS}/table_unused.log",
    resources:
        runtime=growing(5),
    params:
        protocols=HEADLINE_FIRST,
        code=code("table_unused.py"),
    script:
        "../scripts/table_unused.py"


rule table_uci:
    """Write the tables of the UCI study; data sets that could not be downloaded are listed as such."""
    input:
        metrics=f"{UCI}/metrics/evaluation.parquet",
        searches=f"{UCI}/metrics/searches.parquet",
        sizes=f"{UCI}/metrics/sizes.parquet",
        printed=REPORTED["uci"],
        printed_sizes=REPORTED["uci_sizes"],
    output:
        all_listed(TARGETS["uci_tables"]),
    log:
        f"{LOGS}/table_uci.log",
    resources:
        runtime=growing(5),
    params:
        protocols=UCI_STUDY["protocols"],
        datasets={name: UCI_STUDY.sets(name) for name in UCI_STUDY["protocols"]},
        printed=UCI_STUDY.printed,
        code=code("table_uci.py"),
    script:
        "../scripts/table_uci.py"


rule table_audio:
    """Write the tables of the audio study."""
    input:
        metrics=f"{AUDIO}/metrics/evaluation.parquet",
        printed=REPORTED["audio"],
    output:
        all_listed(TARGETS["audio_tables"]),
    log:
        f"{LOGS}/table_audio.log",
    resources:
        runtime=growing(5),
    params:
        dataset=AUDIO_STUDY.source,
        endings=AUDIO_STUDY.endings,
        low=AUDIO_STUDY["evaluation"]["tuning"]["low"],
        high=AUDIO_STUDY["evaluation"]["tuning"]["high"],
        sizes=AUDIO_STUDY.sizes,
        code=code("table_audio.py"),
    script:
        "../scripts/table_audio.py"
