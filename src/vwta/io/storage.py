"""Files and folders: tensors and tables with metadata, written whole or not at all."""

from __future__ import annotations

__all__ = [
    "atomic",
    "atomic_folder",
    "below",
    "check_space",
    "full_disk",
    "in_pieces",
    "key",
    "read_metadata",
    "read_table",
    "read_tensors",
    "sha256",
    "write_table",
    "write_tensors",
]

import errno
import glob
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vwta.io.errors import NoSpace
from vwta.io.progress import size

if TYPE_CHECKING:  # these take a second to import, and not every job needs all of them
    import pandas as pd
    from torch import Tensor

REMEDY = "Remedy: free some space and run again; what was finished is kept"
OTHER_FOLDER = "Remedy: free some space, or use a folder on a larger disk"
OTHER_DISK = "Remedy: free some space, or set data.cache to a folder on a larger disk"
MARGIN = 200 * 10**6  # bytes of the disk that stay free


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Gives a temporary name to write to; what was written there then takes the place of `path`.

    Whoever looks sees the old file or the new one, after a crash too. If the body raises, `path` is
    untouched and the temporary file is gone. A full disk is named as such
    (:class:`~.errors.NoSpace`).
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with full_disk(path, REMEDY):
            path.parent.mkdir(parents=True, exist_ok=True)
            for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
                left.unlink(missing_ok=True)  # by a process that was killed in this place
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: Path, needed: int = 0) -> Iterator[Path]:
    """Gives a new folder to fill, which then takes the place of `folder`.

    If the body raises, nothing is left of it; what a process left here that was killed while it
    filled the same folder goes first.

    Arguments:
        folder: must not exist, or be empty.
        needed: about how many bytes it takes, if that is known.
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


def check_space(folder: Path, needed: int, margin: int, remedy: str = OTHER_DISK) -> None:
    """Raises :class:`NoSpace` unless so many bytes fit, with a margin left."""
    free = shutil.disk_usage(folder).free
    if needed + margin > free:
        raise NoSpace(
            f"{folder}: {size(needed)} and a margin of {size(margin)} are needed, "
            f"{size(free)} are free. {remedy}"
        )


@contextmanager
def full_disk(folder: Path, remedy: str = OTHER_DISK) -> Iterator[None]:
    """Turns the system's error about a full disk into :class:`NoSpace`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpace(f"{folder}: {os.strerror(error.errno)}. {remedy}") from error
        raise


def below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names start with a prefix, under the rest of their names."""
    return {k.removeprefix(prefix): value for k, value in tensors.items() if k.startswith(prefix)}


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
    """Writes tensors as safetensors, with metadata (any JSON) beside them."""
    from safetensors.torch import save

    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(whole, {name: json.dumps(value) for name, value in metadata.items()})
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and metadata of a file of :func:`write_tensors`."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = {name: json.loads(text) for name, text in (file.metadata() or {}).items()}
    return tensors, metadata


def write_table(path: Path, table: pd.DataFrame, metadata: Mapping[str, Any]) -> None:
    """Writes a table as parquet, with metadata (any JSON) beside it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    extra = {name.encode(): json.dumps(value).encode() for name, value in metadata.items()}
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **extra})
    with atomic(path) as temporary:
        pq.write_table(arrow, temporary)


def read_table(path: Path) -> pd.DataFrame:
    """Table of a file of :func:`write_table`."""
    import pandas as pd

    return pd.read_parquet(path)


def read_metadata(path: Path) -> dict[str, Any]:
    """Metadata of a file of :func:`write_table`."""
    import pyarrow.parquet as pq

    stored = pq.read_schema(path).metadata or {}
    return {
        name.decode(): json.loads(text)
        for name, text in stored.items()
        if name not in {b"pandas", b"ARROW:schema"}
    }


def key(**settings: Any) -> str:
    """Short name for a combination of settings (any JSON)."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sha256(path: Path) -> str:
    """Hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def in_pieces(outputs: Mapping[int, Path], make: Callable[[int, Path], None], folder: Path) -> None:
    """Makes several outputs such that what is done outlives a failure.

    Whoever runs the job may delete all its outputs when one fails. So each is first made below
    `folder`, where the next attempt finds it, and linked to its place once all are there.

    Arguments:
        outputs: where each piece goes, by seed (or split).
        make: writes the piece of a seed to a path, whole or not at all.
        folder: keeps the unfinished work of just these settings and code; it is removed at the end.
    """
    pieces = {seed: folder / f"seed{seed}{path.suffix}" for seed, path in outputs.items()}
    for seed, piece in pieces.items():
        if not piece.exists():
            make(seed, piece)
    for seed, piece in pieces.items():
        _link(piece, outputs[seed])
    shutil.rmtree(folder)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        with atomic(target) as temporary:
            shutil.copyfile(source, temporary)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
