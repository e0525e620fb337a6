"""Workbooks for tests, in the two formats of data sets."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import openpyxl

Rows = Iterable[Sequence[object]]


def xls(path: Path, rows: Rows) -> None:
    """A workbook of the oldest kind, BIFF2: a stream of records of cells, and nothing else."""

    def record(kind: int, content: bytes) -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    stream = record(0x0009, struct.pack("<HH", 2, 0x10))  # a sheet begins
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            head = struct.pack("<HH3x", row, column)
            if isinstance(cell, str):
                stream += record(0x0004, head + bytes([len(cell)]) + cell.encode("ascii"))
            else:
                stream += record(0x0003, head + struct.pack("<d", cell))
    path.write_bytes(stream + record(0x000A, b""))


def xlsx(path: Path, sheets: Mapping[str, Rows]) -> None:
    """A workbook of sheets by name."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
