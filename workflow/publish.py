"""Put the small outcome of a study below docs/results: metrics, figures, where they come from.

Usage: python workflow/publish.py TIER STUDY [--debug] [SNAKEMAKE ARGUMENT ...]

STUDY is a folder of results/TIER, or `all` for those that have metrics. A study may be run in
pieces, say a seed on each machine: the metrics of this run are merged into those that are published
already, row by row (see `vwta.paper.collection.merge`). What is drawn from metrics alone is drawn
anew from the merged ones, by the rules of the workflow; other figures are copied if this run has
made them. provenance.json tells revisions, packages, processors, hashes of the data and CPU hours
of all that is published; docs/results/README.md shows verdicts, tables and figures of all studies.
No weights, no data.

Nothing is changed before all is ready, and each file is replaced as a whole. `--debug` shows where
an error comes from.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from vwta.io.errors import debugging, explained
from vwta.io.storage import atomic
from vwta.paper.collection import cost, facts, merge
from vwta.paper.verdicts.folder import judge_folder
from vwta.paper.verdicts.overview import overview
from vwta.workflow.plan import Job, dry_run

PLACE = Path("docs", "results")
CONFIG = Path(__file__).resolve().parents[1] / "config"
SUFFIXES = (".png", ".csv", ".md", ".tex")  # of figures and tables for readers
OF_ALL = ("verdicts", "differences")  # tables that are of no single study
REPORTED = Path("config", "reported")  # printed numbers, which are always there
EXPLORER = "explorer.safetensors"  # predictions for the page
NAMED = ("uci", "audio")  # studies whose figures and tables begin with their name


def main(tier: str, study: str, arguments: list[str]) -> None:
    """Publish a study, or all that have metrics."""
    results = Path("results", tier)
    chosen = "*" if study == "all" else study
    studies = sorted({path.parts[2] for path in results.glob(f"{chosen}/metrics/*.parquet")})
    if not studies:
        sys.exit(f"{results}/{chosen}/metrics has no tables. Remedy: make reproduce TIER={tier}")
    check_tier(tier, studies)
    jobs = dry_run(["--forceall", *arguments])
    for name in studies:
        with tempfile.TemporaryDirectory() as folder:
            publish(results, name, Path(folder), jobs, arguments)
    with atomic(PLACE / "README.md") as temporary:
        temporary.write_text(overview(judge_folder(PLACE, CONFIG), PLACE), encoding="utf-8")


def check_tier(tier: str, studies: list[str]) -> None:
    """Stop if what is published comes from another tier: numbers of two would be mixed."""
    for study in studies:
        path = PLACE / study / "provenance.json"
        there = json.loads(path.read_text(encoding="utf-8"))["tier"] if path.exists() else tier
        if there != tier:
            sys.exit(
                f"{path.parent} has the tier {there}, not {tier}. "
                f"Remedy: make publish TIER={there}, or delete it first"
            )


def publish(results: Path, study: str, stage: Path, jobs: list[Job], arguments: list[str]) -> None:
    """Prepare all files of a study in a folder, then put them in their places."""
    place, metrics = PLACE / study, results / study / "metrics"
    for file in sorted(place.glob("*.parquet")):
        shutil.copy(file, folder_of(stage / metrics / file.name))
    for file in sorted(metrics.glob("*.parquet")):
        merge(place / file.name, file, folder_of(stage / metrics / file.name))
    tables = sorted((stage / metrics).glob("*.parquet"))
    drawn = [job for job in jobs if folders(job) - {REPORTED} == {metrics}]
    missing = draw(drawn, stage, arguments)
    files = {place / file.name: file for file in tables}
    for job in jobs:
        for file in map(Path, job.output):
            source = stage / file if job in drawn else file
            if study_of(file, results) == study and source.exists():
                files[place / file.relative_to(results)] = source
    explorer = results / study / EXPLORER
    if explorer.exists():
        files[place / EXPLORER] = explorer
    old = sorted(name for name in missing if any(place.glob(f"*/{name}.*")))
    record = {"tier": results.name, "outdated": old, **facts(tables), "cost": cost(tables)}
    files[place / "provenance.json"] = stage / "provenance.json"
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    (stage / "provenance.json").write_text(text, encoding="utf-8")
    for target, source in files.items():
        with atomic(target) as temporary:
            shutil.copyfile(source, temporary)
    print(f"{place}: {len(files)} files")
    for name, why in missing.items():
        print(f"  {name} could not be drawn{', the old one stays' * (name in old)}: {why}")


def folders(job: Job) -> set[Path]:
    """Where the inputs of a job are."""
    return {Path(file).parent for file in job.input}


def folder_of(path: Path) -> Path:
    """The path, after its folder was made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def study_of(file: Path, results: Path) -> str | None:
    """The study for whose readers a file is, None if it is not for them."""
    if file.parent.parent != results or file.suffix not in SUFFIXES or file.stem in OF_ALL:
        return None
    first = file.name.partition("_")[0]
    return first if first in NAMED else "synthetic"


def draw(jobs: list[Job], stage: Path, arguments: list[str]) -> dict[str, str]:
    """Run jobs in a folder that has nothing but metrics; what could not be drawn, and why."""
    missing = {}
    ready = []
    for job in jobs:
        tables = [Path(file) for file in job.input if Path(file).parent != REPORTED]
        lacking = [file.name for file in tables if not (stage / file).exists()]
        if lacking:
            missing[Path(job.output[0]).stem] = f"there is no {', '.join(lacking)}"
        else:
            ready.append(job)
    if not ready:
        return missing
    (stage / "config").symlink_to(Path("config").resolve())
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(Path("Snakefile").resolve())]
    command += ["--directory", str(stage), "--keep-going", *arguments]
    command += ["--allowed-rules", *{job.rule for job in ready}]
    command += ["--", *(job.output[0] for job in ready)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for job in ready:
        log = stage / job.log[0]
        if not log.exists():
            sys.exit(f"nothing was published, as Snakemake failed:\n{done.stderr}")
        if not (stage / job.output[0]).exists():
            missing[Path(job.output[0]).stem] = log.read_text().strip().rpartition("\n")[-1]
    return missing


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--debug"]
    if len(words) < 2:
        sys.exit(__doc__)
    tables = map(str, Path("results", words[0]).glob("*/metrics/*.parquet"))
    with explained("publish", inputs=tables, debug="--debug" in sys.argv or debugging()):
        main(words[0], words[1], words[2:])
