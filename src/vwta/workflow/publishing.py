"""What is published of a tier's results: which files are there, and which are to be drawn."""

from __future__ import annotations

__all__ = ["Publication", "Sheet"]

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from snakemake.ioflags import before_update

from vwta.paper.studies import STUDIES, study_of
from vwta.workflow.configuration import refuse
from vwta.workflow.figures import Figure, Files

SUFFIXES = (".png", ".csv", ".md", ".tex")  # of figures and tables for readers
METRICS = "{study}/metrics/{table}.parquet"
EXPLORER = "explorer.safetensors"  # predictions for the page


class Sheet(NamedTuple):
    """Figures or tables of one job in the results of a tier.

    Arguments:
        inputs: files that the job needs.
        outputs: files that it makes, all for the same study.
    """

    inputs: list[str]
    outputs: list[str]

    @property
    def study(self) -> str:
        """The study that it belongs to."""
        return study_of(Path(self.outputs[0]).name)

    @property
    def shown(self) -> list[str]:
        """Those of its files that are published."""
        return [file for file in self.outputs if file.endswith(SUFFIXES)]


class Publication:
    """What is published of a tier's results.

    Metrics of this run and pictures of its networks are taken as they are: publishing trains
    nothing, whatever the configuration says. All else is prepared in the folder `stage`, in which
    files have the places that they have in the results.

    Arguments:
        results: folder of the tier's results.
        place: folder of all that is published.
        records: those of the published studies.
        sheets: figures and tables of all studies, by the names of their jobs.
    """

    def __init__(
        self,
        results: str,
        place: str,
        records: Mapping[str, Mapping[str, Any]],
        sheets: Mapping[str, Sheet],
    ) -> None:
        self.results, self.place, self.records = results, place, records
        self.stage = f"{results}/published"
        self.tier = Path(results).name
        self.drawn = {name: one for name, one in sheets.items() if self._is_drawn(one)}
        self.copied = {name: one for name, one in sheets.items() if name not in self.drawn}

    def staged(self, path: str) -> str:
        """The file that takes the place of one of the results; any other stays what it is."""
        inner = path.removeprefix(f"{self.results}/")
        return path if inner == path else f"{self.stage}/{inner}"

    def inputs(self, figure: Figure) -> dict[str, Files]:
        """The files of a figure, where it is drawn to be published."""
        return {
            name: self.staged(own) if isinstance(own, str) else [*map(self.staged, own)]
            for name, own in figure.inputs.items()
        }

    def note(self, name: str) -> str:
        """Where a job that draws says what it lacks."""
        return f"{self.stage}/notes/{name}.json"

    def sources(self, wildcards: Any) -> list[str]:
        """Input function: a table of metrics as it is published, and that of this run."""
        patterns = f"{self.place}/{{study}}/{{table}}.parquet", f"{self.results}/{METRICS}"
        paths = (pattern.format(**wildcards) for pattern in patterns)
        return [before_update(path) for path in paths if Path(path).exists()]

    def files(self, *studies: str) -> dict[str, list[str]]:
        """All that a publication of studies needs: files for their places, and notes.

        Ends the run with a message if there is nothing to publish, or numbers of two tiers would
        be mixed.

        Arguments:
            studies: names of studies, all that have metrics if there are none.
        """
        chosen = studies or [study for study in STUDIES if self._run(study)]
        self._check(chosen, studies)
        metrics = [path for study in chosen for path in self._tables(study).values()]
        drawn = {
            name: one
            for name, one in self.drawn.items()
            if one.study in chosen and not self._lacks(one)
        }
        copied = [
            file for one in self.copied.values() if one.study in chosen for file in one.shown
        ] + [f"{self.results}/{study}/{EXPLORER}" for study in chosen]
        there = [before_update(path) for path in copied if Path(path).exists()]
        return {
            "metrics": metrics,
            "drawn": [self.staged(file) for one in drawn.values() for file in one.shown],
            "copied": there,
            "notes": [self.note(name) for name in drawn],
        }

    def lacking(self, *studies: str) -> dict[str, str]:
        """Why figures and tables of studies are not drawn, by names such as `figures/cells`.

        Arguments:
            studies: names of studies, all that have metrics if there are none.
        """
        return {
            f"{Path(file).parent.name}/{Path(file).stem}": f"there is no {', '.join(lacks)}"
            for one in self.drawn.values()
            if one.study in studies or (not studies and self._run(one.study))
            for lacks in [self._lacks(one)]
            if lacks
            for file in one.shown
        }

    def _is_drawn(self, sheet: Sheet) -> bool:
        """Whether metrics of the own study suffice, with files that are always there."""
        folders = {Path(file).parent for file in sheet.inputs if self.staged(file) != file}
        return folders == {Path(self.results, sheet.study, "metrics")}

    def _run(self, study: str) -> dict[str, Path]:
        """Tables of metrics of this run, by name."""
        return _by_name(Path(self.results, study, "metrics").glob("*.parquet"))

    def _tables(self, study: str) -> dict[str, str]:
        """Merged tables of metrics, by name."""
        names = _by_name(Path(self.place, study).glob("*.parquet")) | self._run(study)
        return {name: f"{self.stage}/{study}/metrics/{name}.parquet" for name in sorted(names)}

    def _lacks(self, sheet: Sheet) -> list[str]:
        """Tables that are neither published nor of this run."""
        there = self._tables(sheet.study)
        tables = [Path(file) for file in sheet.inputs if self.staged(file) != file]
        return [path.name for path in tables if path.stem not in there]

    def _check(self, studies: Iterable[str], asked: Iterable[str]) -> None:
        """Ends the run unless all studies can be published."""
        empty = [study for study in asked if not self._run(study)] or ["*"] * (not studies)
        refuse(
            [
                f"{self.results}/{study}/metrics has no tables. "
                f"Remedy: make reproduce TIER={self.tier}"
                for study in empty
            ],
            "The results",
        )
        others = {study: self.records.get(study, {}).get("tier", self.tier) for study in studies}
        refuse(
            [
                f"{self.place}/{study} has the tier {tier}, not {self.tier}. "
                f"Remedy: make publish TIER={tier}, or delete it first"
                for study, tier in others.items()
                if tier != self.tier
            ],
            "The published results",
        )


def _by_name(paths: Iterable[Path]) -> dict[str, Path]:
    return {path.stem: path for path in paths}
