# The page: of this tier, and of the runs that are published in docs/results.

from vwta.workflow.verify import answer

TARGETS["page"] = [f"{RESULTS}/report/index.html"]
# How the workflow is called to make this tier.
OPTIONS = "".join(f"--configfile {os.path.relpath(path)} " for path in OVERLAYS[:1])
OPTIONS += "".join(f"{os.path.relpath(path)} " for path in OVERLAYS[1:])
ASSETS = [
    source(f"{folder}/{path.name}")
    for folder in ("src/vwta/paper/page/assets", "src/vwta/web/assets")
    for path in sorted((ROOT / folder).iterdir())
]


rule page:
    """The page that shows figures, tables and verdicts of this tier."""
    input:
        TARGETS["page"],


rule published_page:
    """The page that shows the published runs; nothing is trained."""
    input:
        f"{PLACE}/report/index.html",


rule report_page:
    """Build the page."""
    input:
        ASSETS,
        source("CITATION.cff"),
        verdicts=f"{RESULTS}/verdicts.parquet",
        differences=f"{TABLES}/differences.csv",
        tolerances=f"{TABLES}/tolerances.csv",
        metrics=VERDICT_TABLES,
        figures=shown(".png"),
        tables=shown(".md"),
        numbers=shown(".csv"),
        explorer=f"{SYNTHETIC}/explorer.safetensors",
    output:
        report(TARGETS["page"][0], caption="../report/page.rst", category="Page"),
    log:
        f"{LOGS}/report_page.log",
    params:
        # they follow from the output: their change runs nothing
        pictures=lambda wildcards, input, output: catalogue.pictures(
            workflow, input.figures, PLACE, {}
        ),
        options=OPTIONS,
        verified="",  # it is of today
        code=code("report_page.py"),
    script:
        "../scripts/report_page.py"


use rule report_page as report_published_page with:
    input:
        ASSETS,
        source("CITATION.cff"),
        readme=source("README.md"),
        verdicts=f"{PLACE}/report/verdicts.parquet",
        differences=f"{PLACE}/report/tables/differences.csv",
        tolerances=f"{PLACE}/report/tables/tolerances.csv",
        metrics=published("*/*.parquet"),
        figures=published("*/figures/*.png"),
        tables=published("*/tables/*.md"),
        numbers=published("*/tables/*.csv"),
        explorer=published("synthetic/explorer.safetensors"),
    output:
        f"{PLACE}/report/index.html",
    log:
        f"{PLACE}/report/logs/report_published_page.log",
    params:
        pictures=lambda wildcards, input, output: catalogue.pictures(
            workflow, input.figures, PLACE, PUBLISHED_RUNS
        ),
        options="",
        verified=lambda wildcards: answer(Path(PUBLISHED), ROOT),
