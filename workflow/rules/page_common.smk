# What the rules of the page share: the files that it shows.

import json

from vwta.workflow import catalogue

PUBLISHED = Path("docs", "results")
PUBLISHED_TIERS = {
    path.parent.name: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(PUBLISHED.glob("*/provenance.json"))
}
# How the workflow is called to make this tier.
OPTIONS = "".join(f"--configfile {os.path.relpath(path)} " for path in OVERLAYS[:1])
OPTIONS += "".join(f"{os.path.relpath(path)} " for path in OVERLAYS[1:])
ASSETS = [
    f"src/vwta/paper/page/assets/{name}"
    for name in (
        "page.html",
        "page.css",
        "explorer.html",
        "geometry.js",
        "explorer.js",
        "tables.js",
        "page.js",
    )
]
SHOWN = [
    *rules.figures.input,
    *rules.uci_figures.input,
    *rules.tables.input,
    *rules.uci_tables.input,
    *([] if AUDIO_ABSENT else rules.audio_figures.input),
    *([] if AUDIO_ABSENT else rules.audio_tables.input),
]


def shown(*suffixes):
    """Figures and tables of this tier, with some suffixes."""
    return [path for path in SHOWN if Path(path).suffix in suffixes]


def published(pattern):
    """Published files."""
    return sorted(map(str, PUBLISHED.glob(pattern)))


def pictures(wildcards, input, output):
    """Params function: facts about the figures among the job's inputs; their change runs nothing."""
    found = []
    for path in map(Path, input.figures):
        record = (
            PUBLISHED_TIERS.get(path.parts[2], {}) if PUBLISHED in path.parents else {}
        )
        target = f"results/{record.get('tier', config['tier'])}/figures/{path.name}"
        facts = catalogue.describe(workflow, target)
        outdated = path.stem in record.get("outdated", ())
        found.append({**facts, "path": str(path), "outdated": outdated})
    return found
