"""Fetches a deposit of trained networks and checks it by its manifest."""

import logging
import shutil
from pathlib import Path

from vwta.io.errors import DataError
from vwta.paper.downloads.deposits import fetch_deposit
from vwta.workflow.deposit import ARCHIVE, check
from vwta.workflow.job import job

with job(snakemake):
    params, folder = snakemake.params, Path(snakemake.output[0])
    if params.source is None:
        raise DataError(
            "networks.source is null. Remedy: set it to a DOI of Zenodo, an address or a folder"
        )
    fetch_deposit(params.source, ARCHIVE, params.sha256, folder, Path(params.cache))
    try:
        logging.info("%d files", check(folder))
    except DataError:
        shutil.rmtree(folder)
        raise
