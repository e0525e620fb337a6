"""Files: verdicts for programs and for readers."""

from __future__ import annotations

__all__ = ["READERS", "write"]

from pathlib import Path

from vwta.io.provenance import provenance
from vwta.io.storage import atomic, write_table
from vwta.paper.tables import to_markdown
from vwta.paper.verdicts import tolerances
from vwta.paper.verdicts.summary import differences_for_readers, markdown
from vwta.paper.verdicts.table import Verdicts

NAMES = ("verdicts", "differences", "tolerances")
READERS = tuple(f"{name}.{suffix}" for name in NAMES for suffix in ("csv", "md"))


def write(verdicts: Verdicts, path: Path, folder: Path, code: str) -> None:
    """Writes the table of verdicts, and :data:`READERS`.

    Arguments:
        verdicts: what to write.
        path: parquet file, with every case of every claim.
        folder: where the files for readers go.
        code: digest of the code.
    """
    facts = {
        "tiers": dict(verdicts.tiers),
        "headline": verdicts.headline,
        "provenance": provenance(code=code),
    }
    write_table(path, verdicts.table, facts)
    texts = (
        verdicts.table.drop(columns="cases").to_csv(index=False),
        markdown(verdicts),
        verdicts.differences.to_csv(index=False),
        to_markdown(differences_for_readers(verdicts.differences)),
        verdicts.tolerances.to_csv(index=False),
        to_markdown(tolerances.for_readers(verdicts.tolerances)),
    )
    for name, text in zip(READERS, texts, strict=True):
        with atomic(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
