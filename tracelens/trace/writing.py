"""Write a trace atomically, so that readers see it complete or not at all."""

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import polars as pl
from msgspec.structs import replace

from tracelens.errors import SourceError
from tracelens.schemas import TABLES
from tracelens.storage.addresses import url_of
from tracelens.storage.folders import locked
from tracelens.storage.table import Stored, n_names
from tracelens.trace.capture import Manifest
from tracelens.trace.directory import PART
from tracelens.trace.objects import write_objects
from tracelens.trace.target_folder import build_folder, check_target, swap_in

RankPart: TypeAlias = tuple[int, pl.DataFrame | Stored]
"""A rank, and rows of a table without the rank."""

_WRITERS = 2  # tables written at a time: for each, some rows are in memory in their full width


def write_trace(
    target: Path,
    manifest: Manifest,
    parts_of: Callable[[str], Iterable[RankPart]],
    *,
    force: bool = False,
) -> None:
    """Write a trace to a directory, or to the URL of an object store.

    `parts_of(table)` yields the table's rows by rank. Raises SourceError if the target exists. With
    `force`, an existing trace is replaced, but no other file or folder.
    """
    check_target(target, force=force)
    url = url_of(target)
    try:
        # A directory is built beside the target and then renamed. In an object store, the manifest
        # is written last.
        with build_folder(target) as build:
            _fill(build, manifest, parts_of)
            if url is not None:
                write_objects(url, build, force=force)
                return
            with locked(target.parent):
                swap_in(build, target, force=force)
    except OSError as error:
        raise SourceError(
            f"{target}: cannot be written: {error}; free space, or name another place with --out"
        ) from error


def _fill(
    folder: Path,
    manifest: Manifest,
    parts_of: Callable[[str], Iterable[RankPart]],
) -> None:
    n_rows: dict[str, dict[str, int]] = {}
    names: dict[str, dict[str, int]] = {}
    with ThreadPoolExecutor(_WRITERS) as pool:
        done = []
        for name in TABLES:
            for rank, frame in parts_of(name):
                file = folder / name / f"rank={rank}" / PART
                file.parent.mkdir(parents=True)
                if isinstance(frame, Stored):
                    frame.path.rename(file)
                else:
                    done.append(pool.submit(TABLES[name].write, frame, file))
                n_rows.setdefault(name, {})[str(rank)] = frame.height
                if (found := n_names(frame)) is not None:
                    names.setdefault(name, {})[str(rank)] = found
        try:
            for future in done:
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    about = replace(manifest, n_rows=n_rows, n_names=names).as_dict()
    (folder / "manifest.json").write_text(json.dumps(about, indent=1) + "\n")
    folder.chmod(0o755)
