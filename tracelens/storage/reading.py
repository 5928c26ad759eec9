"""Read columns from the Parquet files that `Table.write` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tracelens.storage.limits import EXPANSION, may_become

if TYPE_CHECKING:
    import pyarrow as pa

_MANY = 1 << 20
_LONG = 1 << 13
"""Texts up to this number of bytes are not limited, because a kernel name can have this length."""


def read_columns(
    file: Path,
    columns: Sequence[str],
    strings: Sequence[str],
) -> pl.DataFrame:
    """Return these columns of a file as a DataFrame, the columns in `strings` as Categorical.

    Raises ArrowInvalid for strings that are not valid UTF-8, and ValueError for texts that take too
    much memory.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which only files need
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes 0.02 s, which only files need

    # Arrow's reader keeps the dictionaries of the file, unlike Polars' reader. So a string column
    # of 5 million spans takes 0.02 s and 22 MB instead of 0.3 s and 86 MB.
    with pq.ParquetFile(file, read_dictionary=[*strings], pre_buffer=False) as opened:
        rows = pl.from_arrow(_valid(file, opened.read(columns=[*columns])), rechunk=False)
    assert isinstance(rows, pl.DataFrame)
    if strings and rows.height > _MANY:  # Polars has copied the dictionaries that Arrow still holds
        pa.default_memory_pool().release_unused()
    return rows.select(columns)


def read_groups(file: Path, columns: Sequence[str], *, use_threads: bool) -> Iterator[pa.Table]:
    """Yield one Arrow table of these columns per row group, strings dictionary-encoded.

    Raises ArrowInvalid for strings that are not valid UTF-8, and ValueError for texts that take too
    much memory.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes 0.02 s, which only files need

    with pq.ParquetFile(file, read_dictionary=[*columns], pre_buffer=False) as opened:
        for group in range(opened.num_row_groups):
            yield _valid(
                file,
                opened.read_row_group(group, columns=[*columns], use_threads=use_threads),
            )


def _valid(file: Path, rows: pa.Table) -> pa.Table:
    """Return the same rows, after a check of their dictionary-encoded strings.

    Raises ArrowInvalid for strings that are not valid UTF-8, and ValueError as `check_texts` does.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which only files need

    n_bytes = 0
    for column in rows.columns:
        if pa.types.is_dictionary(column.type):
            for chunk in column.chunks:
                chunk.dictionary.validate(full=True)
                if chunk.dictionary.nbytes > _LONG:
                    n_bytes += _long_bytes(chunk)
    check_texts(n_bytes, file.stat().st_size)
    return rows


def _long_bytes(texts: pa.DictionaryArray) -> int:
    """Return the size in bytes of the texts of all rows together, or 0 if no text is long.

    A text of more than _LONG bytes is long.
    """
    lengths = _series(texts.dictionary).str.len_bytes()
    if not bool((lengths > _LONG).any()):
        return 0
    return int(lengths.gather(_series(texts.indices)).sum())


def _series(array: pa.Array) -> pl.Series:
    """Return an Arrow array as a Series."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which only files need

    # For a bare array, Polars would import pyarrow.compute, in 0.04 s.
    return pl.DataFrame(pa.table({"values": array}))["values"]


def long_bytes(texts: pl.Series) -> int:
    """Return the size in bytes of all texts together, or 0 if no text is long.

    A text of more than _LONG bytes is long.
    """
    lengths = texts.str.len_bytes()
    return int(lengths.sum()) if bool((lengths > _LONG).any()) else 0


def check_texts(n_bytes: int, size_bytes: int) -> None:
    """Raise ValueError if texts of `n_bytes` in all are too large for a file of `size_bytes`.

    A file stores a long text once for many rows, but results hold one copy per row.
    """
    if n_bytes > may_become(size_bytes):
        raise ValueError(
            f"rows share texts that are {n_bytes:,} bytes in all; {EXPANSION.how_to_raise}"
        )
