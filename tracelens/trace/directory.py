"""A trace's directory: whether it may be written, building it so that it is whole or absent, and what lies in it."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracelens.errors import SchemaError, SourceError, first_line
from tracelens.schemas import SCHEMA_VERSION
from tracelens.storage.reading import read_columns
from tracelens.storage.table import Table
from tracelens.trace.capture import Manifest

PART = "part-0.parquet"
_ABANDONED_S = 3600
_RANK_DIGITS = 9


@contextmanager
def build_folder(target: Path) -> Iterator[Path]:
    """A folder beside the target to build it in, which is removed with what is left in it.

    One that a killed process left behind is removed when the same trace is written again. Raises SourceError.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_abandoned(target)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.{os.getpid()}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise SourceError(f"{target}: cannot be written: {error}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_target(target: Path, *, force: bool) -> None:
    """Raise SourceError when the trace may not or cannot be written there: a capture of hours is not lost for that."""
    if os.path.lexists(target):
        if not force:
            raise SourceError(f"{target}: exists already; give another --out, or --force to replace it")
        if not _is_trace(target):
            raise SourceError(f"{target}: exists and is not a tracelens trace, so --force does not replace it")
    above = next(folder for folder in target.absolute().parents if os.path.lexists(folder))
    try:
        Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=above)).rmdir()
    except OSError as error:
        raise SourceError(f"{target}: cannot be written: {above}: {error.strerror or error}") from error


def _is_trace(folder: Path) -> bool:
    """Whether the directory is a trace: other programs have a manifest.json too, and --force deletes."""
    try:
        data = json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and {"schema_version", "tracelens_version"} <= set(data)


class Part(NamedTuple):
    """A file of a table, its rank, how many rows and which columns it has."""

    rank: int
    file: Path
    n_rows: int
    columns: Sequence[str]


def scanned(part: Part, table: Table) -> pl.LazyFrame:
    """The part's rows with the table's columns; one that was declared after they were written is null."""
    own = table.without("rank").columns
    known: list[pl.Expr] = [pl.all()]
    if all(column.nullable or column.name in part.columns for column in own):
        known = [pl.col(c.name) if c.name in part.columns else pl.lit(None, c.dtype).alias(c.name) for c in own]
    return pl.scan_parquet(part.file, glob=False).select(pl.lit(part.rank, pl.Int32).alias("rank"), *known)


def read_part(part: Part, table: Table, columns: Sequence[str]) -> pl.DataFrame:
    """These columns of the part, which has them; strings as Categorical."""
    strings = [column for column in columns if table.schema[column] == pl.String]
    found = read_columns(part.file, [column for column in columns if column != "rank"], strings)
    ranks = pl.repeat(part.rank, part.n_rows, dtype=pl.Int32, eager=True)
    return pl.DataFrame([ranks.alias("rank") if column == "rank" else found[column] for column in columns])


def parts_of(folder: Path, table: str, manifest: Manifest) -> list[Part]:
    """The parts of a table by rank, none of them missing, damaged or added.

    Raises SourceError for one that is. Only the footers are read here.
    """
    footers: dict[Path, Any] = {}
    found = sorted(folder.glob(f"{table}/rank=*/*.parquet"))
    expected = {folder / table / f"rank={rank}" / PART: n for rank, n in manifest.n_rows.get(table, {}).items()}
    for file in [*expected, *(file for file in found if file not in expected)]:
        try:
            about = pq.read_metadata(file)
        except (OSError, pa.ArrowException) as error:
            what = "is missing" if not file.exists() else f"cannot be read as Parquet ({first_line(error)})"
            raise SourceError(f"{file}: {what}; collect the trace again") from error
        # A trace written by hand may have no counts; then whatever lies there counts.
        told = expected.get(file, 0)
        if manifest.n_rows and about.num_rows != told:
            raise SourceError(f"{file}: {told} rows by manifest.json, found {about.num_rows}; collect the trace again")
        footers[file] = about
    parts = []
    for file in found:
        digits = file.parent.name.removeprefix("rank=")
        if not digits.isascii() or not digits.isdecimal() or len(digits) > _RANK_DIGITS:
            raise SourceError(f"{file}: expected a folder rank=N, found {file.parent.name}; collect the trace again")
        parts.append(Part(int(digits), file, footers[file].num_rows, footers[file].schema.names))
    return sorted(parts)


def _clear_abandoned(target: Path) -> None:
    """Remove what a killed writer of the same trace left: its process is gone and nothing has moved for an hour.

    The hour is for folders that several machines write to: a process of another one looks gone from here.
    """
    for folder in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        writer = re.fullmatch(r"([0-9]+)\..*", folder.name.removeprefix(f".{target.name}."))
        if writer and not _is_running(int(writer[1])) and time.time() - folder.stat().st_mtime > _ABANDONED_S:
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def swap_in(build: Path, target: Path) -> None:
    """Rename the finished directory into place; an old trace is moved aside first and removed last."""
    if not target.exists():
        build.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
    target.rename(old / "trace")
    try:
        build.rename(target)
    except OSError:
        (old / "trace").rename(target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a trace directory, checked."""
    if not folder.exists():
        raise SourceError(f"{folder}: no such file or directory")
    file = folder / "manifest.json"
    try:
        data: Any = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(
            f"{folder}: expected a trace directory with a manifest.json, found none that can be read "
            f"({first_line(error)}); make one with tracelens collect files"
        ) from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is not int:
        raise SourceError(f"{file}: expected the key schema_version, found none; collect the trace again")
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{folder}: schema version {version}, this tracelens reads up to {SCHEMA_VERSION}; "
            "upgrade with pip install -U tracelens-toolkit"
        )
    try:
        return Manifest.from_dict(data)
    except ValueError as error:
        raise SourceError(f"{file}: is damaged: {error}; collect the trace again") from error
