"""Read a trace's directory on disk: its manifest and its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tracelens.errors import SourceError, first_line
from tracelens.storage.limits import EXPANSION, may_become
from tracelens.storage.pages import page_bytes
from tracelens.storage.reading import check_texts, long_bytes, read_columns, read_groups
from tracelens.storage.swap import restore
from tracelens.storage.table import Table
from tracelens.trace.capture import Manifest, manifest_of, no_manifest, rank_of

if TYPE_CHECKING:
    import pyarrow as pa

PART = "part-0.parquet"
_STORED_AS: dict[Any, tuple[str, ...]] = {
    pl.Int32: ("int32",),
    pl.Int64: ("int64",),
    pl.Float64: ("double",),
    pl.Boolean: ("bool",),
    pl.String: ("string", "large_string", "string_view"),
}
"""Names of the Arrow types that a stored column may have, by its Polars type."""
_ANEW = "collect the trace again"
_FILE = "_file"
_MANY = 1 << 20
"""Small files with at most this many rows in total are read by one query."""


def is_stored_trace(folder: Path) -> bool:
    """Return whether the folder is a trace, by the content of its manifest.json.

    The file's name is not enough: other programs also write a manifest.json, and `--force` may
    delete any folder that counts as a trace.
    """
    try:
        data = json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and {"schema_version", "tracelens_version"} <= set(data)


class Part(NamedTuple):
    """A file of a table: its rank, row count, columns, and size in memory."""

    rank: int
    file: Path
    n_rows: int
    columns: Sequence[str]
    n_bytes: int


def version_of(file: Path) -> tuple[int, ...]:
    """Return a value that changes if the file is replaced; empty if there is no file."""
    try:
        about = file.stat()
    except OSError:
        return ()
    return about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size


def scanned(parts: Sequence[Part], table: Table) -> pl.LazyFrame:
    """Return the parts' rows with all columns of the table.

    Columns that older files lack are None.
    """
    if not parts:
        return table.empty().lazy()
    columns_of_file = table.without("rank")
    files = [part.file for part in parts]
    if not all(
        column.nullable or column.name in part.columns
        for part in parts
        for column in columns_of_file
    ):
        # A missing column is noticed when a frame is made of it.
        return pl.concat(
            [
                pl.scan_parquet(part.file, glob=False).with_columns(_rank(part.rank))
                for part in parts
            ]
        )
    # Polars takes 0.2 s for 1,024 files in one scan, but 6 s for 1,024 scans.
    rows = pl.scan_parquet(
        files,
        glob=False,
        schema=columns_of_file.schema,
        missing_columns="insert",
        extra_columns="ignore",
        include_file_paths=_FILE,
    )
    several = pl.col(_FILE).str.extract(r"rank=(\d+)[/\\][^/\\]*$").cast(pl.Int32).alias("rank")
    return rows.select(
        _rank(parts[0].rank) if len(parts) == 1 else several,
        *columns_of_file.names,
    )


def _rank(rank: int) -> pl.Expr:
    return pl.lit(rank, pl.Int32).alias("rank")


def read_parts(
    parts: Sequence[Part],
    table: Table,
    columns: Sequence[str],
    change: Callable[[pa.Table], pa.Table] | None = None,
) -> pl.DataFrame:
    """Return these columns of the parts, strings as Categorical.

    If `change` is given, it gets each row group of the files and returns the rows to use instead.
    """
    if change is not None:
        groups = (_changed_groups(part, columns, change) for part in parts)
        return pl.concat([rows for part in groups for rows in part], rechunk=True)
    frames = []
    for batch in gathered(parts):
        if len(batch) > 1:
            frame = scanned(batch, table).select(columns).collect()
            size = sum(part.file.stat().st_size for part in batch)
            check_texts(sum(map(long_bytes, frame.select(pl.selectors.string()))), size)
            frames.append(frame.with_columns(pl.col(pl.String).cast(pl.Categorical)))
        else:
            frames.append(_read_part(batch[0], table, columns))
    return pl.concat(frames, rechunk=len(parts) > 1)


def _changed_groups(
    part: Part,
    columns: Sequence[str],
    change: Callable[[pa.Table], pa.Table],
) -> Iterator[pl.DataFrame]:
    """Yield these columns of each row group of the part, as changed by `change`."""
    columns_of_file = [column for column in columns if column != "rank"]
    for rows in read_groups(part.file, columns_of_file, use_threads=True):
        changed = pl.DataFrame(pl.from_arrow(change(rows)))
        yield changed.select(
            pl.lit(part.rank, pl.Int32).alias("rank"),
            pl.all(),
        ).select(columns)


def gathered(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Yield the parts in groups of up to a million rows; a larger part is a group of its own."""
    # One query of a hundred files takes a tenth of the time of a hundred queries.
    batch: list[Part] = []
    n_rows = 0
    for part in parts:
        n_rows += part.n_rows
        if batch and n_rows > _MANY:
            yield batch
            batch, n_rows = [], part.n_rows
        batch.append(part)
    yield batch


def _read_part(part: Part, table: Table, columns: Sequence[str]) -> pl.DataFrame:
    """Return these columns of the part, strings as Categorical."""
    strings = [column for column in columns if table.schema[column] == pl.String]
    frame = read_columns(
        part.file,
        [column for column in columns if column != "rank"],
        strings,
    )
    ranks = pl.Series([part.rank], dtype=pl.Int32).new_from_index(0, part.n_rows)
    return pl.DataFrame(
        [ranks.alias("rank") if column == "rank" else frame[column] for column in columns]
    )


def parts_of(folder: Path, table: Table, manifest: Manifest) -> list[Part]:
    """Return the files of a table in order of ranks, after checking their footers.

    Raises SourceError if a file is missing, damaged or unknown, or has a column of another type.
    """
    parts = {}
    expected = {
        folder / manifest.key_of(table.name, rank): n
        for rank, n in manifest.n_rows.get(table.name, {}).items()
    }
    # Files of a job's unfinished attempts may lie beside those that its manifest names.
    files = sorted(expected if manifest.attempts else folder.glob(f"{table.name}/rank=*/*.parquet"))
    for file in [*expected, *(file for file in files if file not in expected)]:
        if (rank := rank_of(file.parent.name.removeprefix("rank="))) is None:
            raise SourceError(
                f"{file}: expected a folder rank=N, found {file.parent.name}; {_ANEW}"
            )
        if any(map(Path.is_symlink, (file, file.parent, file.parent.parent))):
            raise SourceError(f"{file}: is a link, or in a linked folder; {_ANEW}")
        if not file.is_file():
            raise SourceError(f"{file}: is {'no file' if file.exists() else 'missing'}; {_ANEW}")
        part = _part(rank, file, table)
        # A trace written by hand may have no counts; all files that are there then count.
        if manifest.n_rows and part.n_rows != expected.get(file, 0):
            raise SourceError(
                f"{file}: {expected.get(file, 0)} rows by manifest.json, found {part.n_rows};"
                f" {_ANEW}"
            )
        parts[file] = part
    return sorted(parts[file] for file in files)


def _part(rank: int, file: Path, table: Table) -> Part:
    """Return a file's row count, columns and size, from its footer.

    Raises SourceError if the footer is damaged, or if a column has the wrong type.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which only files need
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes 0.02 s, which only files need

    try:
        about = pq.read_metadata(file)
        types = {field.name: field.type for field in about.schema.to_arrow_schema()}
        groups = [about.row_group(k) for k in range(about.num_row_groups)]
        in_pages = page_bytes(file)
        counts = [
            about.num_rows,
            *(group.num_rows for group in groups),
            *(group.total_byte_size for group in groups),
        ]
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise SourceError(
            f"{file}: cannot be read as Parquet ({first_line(error)}); {_ANEW}"
        ) from error
    for column in table:
        dtype = types.get(column.name)
        if dtype is not None and str(dtype) not in _STORED_AS[column.dtype]:
            raise SourceError(
                f"{file}: column {column.name} should be {_STORED_AS[column.dtype][0]}, is {dtype};"
                f" {_ANEW}"
            )
    if min(counts) < 0 or counts[0] != sum(group.num_rows for group in groups):
        raise SourceError(
            f"{file}: cannot be read as Parquet (sizes that contradict each other); {_ANEW}"
        )
    n_bytes = max(
        8 * about.num_rows * len(table.columns),
        sum(group.total_byte_size for group in groups),
        in_pages,
    )
    return Part(rank, file, about.num_rows, list(types), n_bytes)


def refuse_expansion(folder: Path, parts: Sequence[Part]) -> None:
    """Raise SourceError if the tables would be far larger than files of this size usually become.

    Damaged or hostile files could otherwise exhaust the memory.
    """
    n_bytes, size = (
        sum(part.n_bytes for part in parts),
        sum(part.file.stat().st_size for part in parts),
    )
    if n_bytes > may_become(size):
        largest = max(parts, key=lambda part: part.n_bytes).file
        raise SourceError(
            f"{folder}: {size:,} bytes that become {n_bytes:,}, most of them in"
            f" {largest.relative_to(folder)}; {EXPANSION.how_to_raise}"
        )


def read_manifest(folder: Path) -> Manifest:
    """Read and check a trace directory's manifest.

    If a process was killed while it replaced the trace, the old trace is first put back.
    """
    if not folder.exists() and not restore(folder):
        raise SourceError(
            f"{folder}: no such file or directory; make a trace with tracelens collect"
        )
    if folder.is_file():
        raise SourceError(
            f"{folder}: expected a trace directory, found a file; tl.collect(path) and tracelens"
            " collect files read the files of profilers"
        )
    try:
        content = (folder / "manifest.json").read_bytes()
    except OSError as error:
        raise no_manifest(str(folder), error) from error
    return manifest_of(content, str(folder))
