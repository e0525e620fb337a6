# Publishing: metrics of this run are merged into those in docs/results, figures and tables are drawn anew from the
# merged ones, and all is copied there. No rule declares a file of docs/results as its output: Snakemake would delete it
# before the job, and after a failure.

from vwta.io.storage import sha256
from vwta.workflow.publishing import Publication, Sheet

PUBLICATION = Publication(
    RESULTS,
    PUBLISHED,
    PUBLISHED_RUNS,
    {
        name: Sheet(picture.files, [f"{FIGURES}/{name}.png"])
        for name, picture in FIGURE.items()
    }
    | {
        name: Sheet(list(drawing.input), list(drawing.output))
        for name, drawing in {
            "table_protocols": rules.table_protocols,
            "table_unused": rules.table_unused,
            "table_uci": rules.table_uci,
            "table_audio": rules.table_audio,
        }.items()
    },
)
STAGE = PUBLICATION.stage


# They change the repository, or prepare that.
LOCAL += [
    "merge_published",
    "figure_published",
    "table_protocols_published",
    "table_unused_published",
    "table_uci_published",
    "table_audio_published",
    "publish",
    "publish_synthetic",
    "publish_uci",
    "publish_audio",
]


rule merge_published:
    """Merge a table of metrics of this run into the published one."""
    input:
        PUBLICATION.sources,
    output:
        f"{STAGE}/{{study}}/metrics/{{table}}.parquet",
    log:
        f"{LOGS}/merge_published/{{study}}/{{table}}.log",
    params:
        published=f"{PUBLISHED}/{{study}}/{{table}}.parquet",
        run=f"{RESULTS}/{{study}}/metrics/{{table}}.parquet",
        # tables may come from other machines, with times of their own
        contents=lambda wildcards: [
            sha256(Path(file)) for file in PUBLICATION.sources(wildcards)
        ],
        code=code("merge_published.py"),
    script:
        "../scripts/merge_published.py"


use rule figure as figure_published with:
    input:
        unpack(lambda wildcards: PUBLICATION.inputs(FIGURE[wildcards.figure])),
    output:
        pdf=[f"{STAGE}/figures/{{figure}}.pdf"],
        png=[f"{STAGE}/figures/{{figure}}.png"],
        note=PUBLICATION.note("{figure}"),
    log:
        f"{LOGS}/figure_published/{{figure}}.log",
    wildcard_constraints:
        figure="|".join(FIGURE),


use rule table_protocols as table_protocols_published with:
    input:
        f"{STAGE}/synthetic/metrics/evaluation.parquet",
        f"{STAGE}/synthetic/metrics/emd.parquet",
    output:
        csv=f"{STAGE}/tables/protocols.csv",
        markdown=f"{STAGE}/tables/protocols.md",
        local_csv=f"{STAGE}/tables/local_kernels.csv",
        local_markdown=f"{STAGE}/tables/local_kernels.md",
        note=PUBLICATION.note("table_protocols"),
    log:
        f"{LOGS}/table_protocols_published.log",


use rule table_unused as table_unused_published with:
    input:
        f"{STAGE}/synthetic/metrics/properties.parquet",
    output:
        csv=f"{STAGE}/tables/unused.csv",
        markdown=f"{STAGE}/tables/unused.md",
        note=PUBLICATION.note("table_unused"),
    log:
        f"{LOGS}/table_unused_published.log",


use rule table_uci as table_uci_published with:
    input:
        metrics=f"{STAGE}/uci/metrics/evaluation.parquet",
        searches=f"{STAGE}/uci/metrics/searches.parquet",
        sizes=f"{STAGE}/uci/metrics/sizes.parquet",
        printed=REPORTED["uci"],
        printed_sizes=REPORTED["uci_sizes"],
    output:
        [PUBLICATION.staged(path) for path in TARGETS["uci_tables"]],
        note=PUBLICATION.note("table_uci"),
    log:
        f"{LOGS}/table_uci_published.log",


use rule table_audio as table_audio_published with:
    input:
        metrics=f"{STAGE}/audio/metrics/evaluation.parquet",
        printed=REPORTED["audio"],
    output:
        [PUBLICATION.staged(path) for path in TARGETS["audio_tables"]],
        note=PUBLICATION.note("table_audio"),
    log:
        f"{LOGS}/table_audio_published.log",


rule publish:
    """Publish all studies that have metrics."""
    input:
        unpack(lambda wildcards: PUBLICATION.files()),
    log:
        f"{LOGS}/publish.log",
    params:
        lacking=lambda wildcards: PUBLICATION.lacking(),
        place=PUBLISHED,
        tier=config["tier"],
        config=source("config"),
    script:
        "../scripts/publish.py"


use rule publish as publish_synthetic with:
    input:
        unpack(lambda wildcards: PUBLICATION.files("synthetic")),
    log:
        f"{LOGS}/publish_synthetic.log",
    params:
        lacking=lambda wildcards: PUBLICATION.lacking("synthetic"),


use rule publish as publish_uci with:
    input:
        unpack(lambda wildcards: PUBLICATION.files("uci")),
    log:
        f"{LOGS}/publish_uci.log",
    params:
        lacking=lambda wildcards: PUBLICATION.lacking("uci"),


use rule publish as publish_audio with:
    input:
        unpack(lambda wildcards: PUBLICATION.files("audio")),
    log:
        f"{LOGS}/publish_audio.log",
    params:
        lacking=lambda wildcards: PUBLICATION.lacking("audio"),
