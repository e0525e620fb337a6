"""Files and folders: tensors and tables with metadata, written completely or not at all."""

from __future__ import annotations

__all__ = [
    "atomic",
    "atomic_folder",
    "below",
    "check_space",
    "full_disk",
    "in_chunks",
    "key",
    "read_array",
    "read_metadata",
    "read_table",
    "read_tensors",
    "sha256",
    "size",
    "write_table",
    "write_tensors",
]

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vwta.io.errors import (
    DISK_FULL,
    FREE_SPACE,
    Damaged,
    NoSpace,
    is_memory,
    system_number,
)

if TYPE_CHECKING:  # these take a second to import, and not every job needs all of them
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from torch import Tensor

OTHER_FOLDER = "Remedy: free some space, or use a folder on a larger disk"
OTHER_DISK = "Remedy: free some space, or set data.cache to a folder on a larger disk"
DIGEST = "sha256"  # names the hash among the metadata of tensors
MARGIN = 200 * 10**6  # bytes that stay free on the disk


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yields a temporary path to write to, and then renames that file to `path`.

    Readers see the old file or the new one, never a part of it, even after a crash. If the body
    raises, `path` is untouched and the temporary file is removed. A full disk raises
    :class:`~.errors.NoSpace`.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with full_disk(path, FREE_SPACE):
            path.parent.mkdir(parents=True, exist_ok=True)
            for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
                left.unlink(missing_ok=True)  # a process was killed while it wrote
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: Path, needed: int = 0) -> Iterator[Path]:
    """Yields a temporary folder to fill, and then renames it to `folder`.

    If the body raises, the temporary folder is removed. So is one that a killed process left.

    Arguments:
        folder: must not exist, or be empty.
        needed: about how many bytes the folder will take, if that is known.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty. Remedy: remove it, or choose another")
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{folder.name}.*.tmp"):
        shutil.rmtree(left, ignore_errors=True)
    if needed:
        check_space(folder.parent, needed, MARGIN, OTHER_FOLDER)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    temporary.mkdir()
    try:
        with full_disk(folder.parent, OTHER_FOLDER):
            yield temporary
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def size(number: float) -> str:
    """A number of bytes of a file in a unit that is easy to read.

    Example:
        >>> size(512), size(448_576_698)
        ('512 B', '448.6 MB')
    """
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def check_space(folder: Path, needed: int, margin: int, remedy: str = OTHER_DISK) -> None:
    """Raises :class:`NoSpace` unless the bytes fit on the disk and leave a margin free."""
    free = shutil.disk_usage(folder).free
    if needed + margin > free:
        raise NoSpace(
            f"{folder}: {size(needed)} and a margin of {size(margin)} are needed, "
            f"{size(free)} are free. {remedy}"
        )


@contextmanager
def full_disk(folder: Path, remedy: str = OTHER_DISK) -> Iterator[None]:
    """Turns the system's error about a full disk into :class:`NoSpace` with a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL:
            raise NoSpace(f"{folder}: {os.strerror(error.errno)}. {remedy}") from error
        raise


def below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of a file's tensors, those whose names start with a prefix, named without it."""
    return {k.removeprefix(prefix): value for k, value in tensors.items() if k.startswith(prefix)}


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
    """Writes tensors as safetensors, with metadata (any JSON) and a hash of all in the same file.

    Arguments:
        path: file to write.
        tensors: tensors by name.
        metadata: values by name; `sha256` is the name of the hash.
    """
    from safetensors.torch import save

    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    texts = {name: json.dumps(value) for name, value in metadata.items()}
    content = save(whole, {**texts, DIGEST: json.dumps(_digest(whole, texts))})
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def read_tensors(path: Path, hashed: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and metadata of a file that :func:`write_tensors` wrote.

    Raises :class:`~.errors.Damaged` if it is not the same any more.

    Arguments:
        path: file to read.
        hashed: whether a file without a hash counts as damaged.
    """
    from safetensors import safe_open

    with _undamaged(path):
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            texts = file.metadata() or {}
        found = texts.pop(DIGEST, None)
        if (found or hashed) and found != json.dumps(_digest(tensors, texts)):
            raise Damaged(path, "its hash does not match")
        return tensors, {name: json.loads(text) for name, text in texts.items()}


def _digest(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> str:
    """SHA-256 of tensors on the CPU and of the texts of their metadata, by name."""
    import torch

    total = hashlib.sha256(json.dumps(texts, sort_keys=True).encode())
    for name in sorted(tensors):
        value = tensors[name]
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def write_table(path: Path, table: pd.DataFrame, metadata: Mapping[str, Any]) -> None:
    """Writes a table as parquet, with metadata (any JSON) and their hash in the same file.

    Its pages have checksums.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    extra = {name.encode(): json.dumps(value).encode() for name, value in metadata.items()}
    schema = arrow.schema.with_metadata({**(arrow.schema.metadata or {}), **extra})
    digest = json.dumps([arrow.num_rows, _schema_digest(schema, arrow.num_rows)]).encode()
    schema = schema.with_metadata({**schema.metadata, DIGEST.encode(): digest})
    with atomic(path) as temporary:
        pq.write_table(arrow.cast(schema), temporary, write_page_checksum=True)


def read_table(path: Path) -> pd.DataFrame:
    """The table of a file that :func:`write_table` wrote; a damaged one raises `Damaged`."""
    import pandas as pd

    rows = _facts(path).get(DIGEST, [None])[0]
    with _undamaged(path):
        table = pd.read_parquet(path, page_checksum_verification=True)
        if rows not in (None, len(table)):
            raise Damaged(path, f"it has {len(table)} rows in place of {rows}")
        return table


def read_metadata(path: Path) -> dict[str, Any]:
    """Metadata of a file that :func:`write_table` wrote; damaged ones raise `Damaged`."""
    return {name: value for name, value in _facts(path).items() if name not in (DIGEST, "pandas")}


def _facts(path: Path) -> dict[str, Any]:
    """All metadata of a table, with the number of its rows and the hash, if it has them."""
    import pyarrow.parquet as pq

    with _undamaged(path):
        schema = pq.read_schema(path)
        facts = {name.decode(): json.loads(text) for name, text in _metadata(schema).items()}
        if DIGEST in facts:
            rows, found = facts[DIGEST]
            if found != _schema_digest(schema, rows):
                raise Damaged(path, "its hash does not match")
        return facts


def _schema_digest(schema: pa.Schema, rows: int) -> str:
    """SHA-256 of the columns of a table, of its metadata and of the number of its rows."""
    texts = {name.decode(): text.decode() for name, text in _metadata(schema).items()}
    texts.pop(DIGEST, None)
    columns = [[field.name, str(field.type)] for field in schema]
    return hashlib.sha256(json.dumps([columns, texts, rows], sort_keys=True).encode()).hexdigest()


def _metadata(schema: pa.Schema) -> dict[bytes, bytes]:
    """Metadata of a table without Arrow's own."""
    stored = schema.metadata or {}
    return {name: text for name, text in stored.items() if name != b"ARROW:schema"}


def read_array(path: Path) -> np.ndarray:
    """The array of a `.npy` file, mapped into memory."""
    import numpy as np

    with _undamaged(path):
        array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
        return array


@contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Turns whatever a reader raises on wrong bytes into :class:`~.errors.Damaged`."""
    try:
        yield
    except Exception as error:
        known = isinstance(error, Damaged | FileNotFoundError | PermissionError)
        if known or is_memory(error) or system_number(error):
            raise
        raise Damaged(path, str(error) or type(error).__name__) from error


def key(**settings: Any) -> str:
    """A hash of settings (any JSON) of 16 characters, to name files by."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sha256(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def in_chunks(outputs: Mapping[int, Path], make: Callable[[int, Path], None], folder: Path) -> None:
    """Writes the files of a job in resumable chunks: finished ones survive a failure.

    A workflow manager may delete all outputs of a job that fails. So each chunk is first made in
    `folder`, where the next attempt finds it, and all are linked to their places at the end.

    Arguments:
        outputs: file of each chunk, by seed (or split).
        make: writes the chunk of a seed to a path, completely or not at all.
        folder: holds the chunks of these settings and this code; it is removed at the end.
    """
    chunks = {seed: folder / f"seed{seed}{path.suffix}" for seed, path in outputs.items()}
    for seed, chunk in chunks.items():
        if not chunk.exists():
            make(seed, chunk)
    for seed, chunk in chunks.items():
        _link(chunk, outputs[seed])
    shutil.rmtree(folder)


def _link(source: Path, target: Path) -> None:
    """Links or copies a file to its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        with atomic(target) as temporary:
            shutil.copyfile(source, temporary)


def _sync_folder(folder: Path) -> None:
    """Writes the names in a folder to the disk, so that a renamed file survives a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
