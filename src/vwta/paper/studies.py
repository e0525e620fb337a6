"""The studies of the paper: what they are called, and which files belong to them.

The module imports nothing heavy: rules of the workflow read it too.
"""

from __future__ import annotations

__all__ = ["HEADLINE", "STUDIES", "Study", "study_of"]

from dataclasses import dataclass

HEADLINE = "paper"  # the protocol that follows the paper's text


@dataclass(frozen=True)
class Study:
    """Entry of the registry of studies: its title, metrics, tables and figures.

    Attributes:
        title: what readers call it.
        heading: the same, as a heading of its own.
        metrics: names of its tables of metrics.
        prefix: what names of its figures and tables begin with; empty for those of the first study.
        tables: tables that the overview shows, all others are linked.
        figures: figures that it shows, likewise.
    """

    title: str
    heading: str
    metrics: tuple[str, ...]
    prefix: str = ""
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()


# In the order in which they are told.
STUDIES: dict[str, Study] = {
    "synthetic": Study(
        title="Synthetic",
        heading="Synthetic problems",
        metrics=("evaluation", "emd", "theory", "properties", "curves"),
        figures=("quantitative_paper", "quantitative_literal", "nll_against_h_paper_K16"),
    ),
    "uci": Study(
        title="UCI",
        heading="UCI",
        metrics=("evaluation", "searches", "sizes"),
        prefix="uci",
        tables=("uci_headline", "uci_rivals", "uci_paired", "uci_ablations"),
        figures=("uci_nll_paper", "uci_nll_ours"),
    ),
    "audio": Study(
        title="Audio",
        heading="Sound sources on the sphere",
        metrics=("evaluation", "curves"),
        prefix="audio",
        tables=("audio_main", "audio_quantisation"),
        figures=("audio_nll_against_h", "audio_scenes", "audio_dispersion"),
    ),
}


def study_of(name: str) -> str:
    """The study of the registry that a figure or table belongs to, by its file's name.

    Example:
        >>> study_of("uci_main_paper.md"), study_of("quantitative_paper.png")
        ('uci', 'synthetic')
    """
    first = name.partition("_")[0]
    named = {study.prefix: key for key, study in STUDIES.items() if study.prefix}
    return named.get(first, next(iter(STUDIES)))
