"""Checkpoints: unfinished work that is checked before it is taken up again."""

from __future__ import annotations

__all__ = ["Keeper", "read_checkpoint", "write_checkpoint"]

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from vwta.io.errors import Interrupted
from vwta.io.storage import read_tensors, write_tensors
from vwta.training.signals import Interruption

logger = logging.getLogger(__name__)

DIGEST = "sha256"
SAVE_EVERY = 60.0  # seconds between checkpoints


class Keeper:
    """Has unfinished work saved once a minute, and when the process is asked to stop.

    Arguments:
        path: where to, if anywhere.
        save: writes the work to a path.
    """

    def __init__(self, path: Path | None, save: Callable[[Path], None]) -> None:
        self.path, self.save = path, save
        self._saved = time.monotonic()

    def heed(self, interruption: Interruption, epoch: int, batch: int) -> None:
        """Saves if it is time to; raises :class:`~.signals.Interrupted` if asked to stop.

        Arguments:
            interruption: whether and why to stop.
            epoch: the epoch that is under way, counted from 0.
            batch: the next batch, counted from 0.
        """
        due = time.monotonic() - self._saved > SAVE_EVERY
        if self.path is not None and (due or interruption.reason):
            self.save(self.path)
            self._saved = time.monotonic()
        if interruption.reason:
            where = f"epoch {epoch + 1}, batch {batch + 1}"
            saved = f"saved in {self.path}" if self.path else "nothing was saved"
            raise Interrupted(f"{interruption.reason} at {where}: {saved}; run again to go on")


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
    """Writes tensors and a place (any JSON) with their hash; the file that was there is kept too.

    Whatever happens in between, one of the two is whole.
    """
    if path.exists():
        path.replace(_previous(path))
    write_tensors(path, tensors, {**place, DIGEST: _digest(tensors, place)})


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Tensors and place of the newest file of :func:`write_checkpoint` that is whole.

    A file that is damaged is named in the log and removed, so that it never takes the place of the
    one before it, which is read then. None if there is no whole one.
    """
    for file in (path, _previous(path)):
        if not file.exists():
            continue
        try:
            tensors, place = read_tensors(file)
        except OSError as error:
            logger.warning("%s cannot be read (%s): it is not used", file, error)
            continue
        except (SafetensorError, ValueError) as error:
            why = str(error)
        else:
            if place.pop(DIGEST, None) == _digest(tensors, place):
                return tensors, place
            why = "its hash is another"
        logger.warning("%s is damaged (%s): it is not used", file, why)
        file.unlink(missing_ok=True)
    return None


def _previous(path: Path) -> Path:
    return path.with_name(f"{path.name}.previous")


def _digest(tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> str:
    total = hashlib.sha256(json.dumps(place, sort_keys=True).encode())
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
