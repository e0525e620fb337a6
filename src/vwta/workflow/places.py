"""Places of files, as the jobs of the workflow see them."""

from __future__ import annotations

__all__ = ["cache_of", "is_folder", "root_of"]

import sys
from pathlib import Path
from typing import Any

from vwta.workflow.checkout import keep_checkout


def root_of(workflow: Any) -> Path:
    """The folder of the workflow's sources, by the folder of the Snakefile that is being read.

    Where Snakemake reads the Snakefile out of a repository, as that of a module at an address, they
    are written into a folder beside its own copy of the repository, once for each revision.

    Arguments:
        workflow: Snakemake's.
    """
    from snakemake.sourcecache import HostingProviderFile, LocalGitFile

    place = workflow.current_basedir
    if is_folder(workflow):
        return Path(place.get_path_or_uri(secret_free=False)).parent
    if isinstance(place, HostingProviderFile):
        place.fetch_if_required()
        repository = place.hosted_repo.repo_clone
    elif isinstance(place, LocalGitFile):
        repository = place.repo_path
    else:
        sys.exit(
            f"The workflow is at {place}, which is no repository, and needs its other files. "
            "Nothing was run. Remedy: name a clone, or a repository, such as "
            'github("OWNER/NAME", path="workflow/Snakefile", tag="v1")'
        )
    cache = Path(workflow.sourcecache.cache_path, "vwta")
    return Path(keep_checkout(Path(repository), place.ref, cache), place.path).parent


def is_folder(workflow: Any) -> bool:
    """Whether the Snakefile that is being read is in a folder of the user's, such as a clone."""
    from snakemake.sourcecache import LocalSourceFile

    return isinstance(workflow.current_basedir, LocalSourceFile)


def cache_of(output: str, path: str) -> Path:
    """The folder of downloads in which a job's output is.

    It is the configuration's `data.cache`, unless the workflow is a module with a prefix, or the
    output goes to a storage.

    Arguments:
        output: the output.
        path: its path below that folder.

    Example:
        >>> cache_of("nested/data/uci/housing.data", "uci/housing.data").as_posix()
        'nested/data'
    """
    folder = output.removesuffix(path)
    if folder == output:
        raise ValueError(f"{output}: is not at {path} below a folder")
    return Path(folder)
