"""Publishes studies, and says what it did."""

from pathlib import Path

from vwta.paper.publish import publish, read_notes
from vwta.paper.verdicts.folder import judge_folder
from vwta.paper.verdicts.overview import pages
from vwta.workflow.job import job
from vwta.workflow.verify import answer


def judged(folder: Path) -> dict[str, str]:
    """Pages about what is published in a folder, as this repository judges and verifies it."""
    config = Path(snakemake.params.config)
    return pages(judge_folder(folder, config), folder, answer(folder, config.parent))


with job(snakemake):
    given, params = snakemake.input, snakemake.params
    told = publish(
        [Path(file) for file in (*given.metrics, *given.drawn, *given.copied)],
        params.lacking | read_notes(map(Path, given.notes)),
        Path(params.place),
        params.tier,
        judged,
    )
    print("\n".join(told))
