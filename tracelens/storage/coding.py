"""Strings as numbers: columns of few distinct words, as their places in a list of these words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

_FEW = 8
_FIRST_ROWS = 1 << 17


def coded(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """A column's codes (null where it is null) and its words."""
    categories = values.cast(pl.Categorical)
    # Mostly the first rows have all words; looking up a code is far cheaper than looking for distinct words.
    for rows in (categories.head(_FIRST_ROWS), categories):
        words = rows.unique().cast(pl.String).drop_nulls().sort()
        codes = _codes(categories.to_physical(), words)
        if codes.null_count() == values.null_count():
            break
    return codes.alias(values.name), words


def _codes(numbers: pl.Series, words: pl.Series) -> pl.Series:
    """The places of words in their list by number of category; null where it is none of them."""
    place = pl.DataFrame({"number": words.cast(pl.Categorical).to_physical()}).with_row_index("code")
    width = int(numbers.max() or 0) + 1  # type: ignore[arg-type]
    codes = pl.repeat(None, width, dtype=pl.UInt32, eager=True).scatter(place["number"], place["code"])
    return _narrow(codes, words).gather(numbers)


def read_columns(
    files: Sequence[Path], strings: Sequence[str], others: Sequence[str]
) -> tuple[dict[str, tuple[pl.Series, pl.Series]], dict[str, pl.Series]]:
    """Columns of Parquet files, one file after the other: of strings the codes and words, the others as they are.

    The files' own dictionaries are taken: of 5 million spans the strings need a third of a second and 86 MB a column,
    and numbering them as much again; their codes need 0.02 s and 10 MB. Numbers come from Arrow's reader too, which
    needs half the time of Polars' for them.
    """
    names = [*strings, *others]
    parts = []
    for file in files:
        with pq.ParquetFile(file, read_dictionary=list(strings), pre_buffer=False) as opened:
            parts.append(opened.read(columns=names).select(names))
    table = pa.concat_tables(parts, promote_options="permissive").unify_dictionaries()
    words = {name: _words(table.column(name)) for name in strings}
    for place, name in enumerate(strings):
        chunks = [chunk.indices for chunk in table.column(name).chunks]
        table = table.set_column(place, name, pa.chunked_array(chunks, pa.int32()))
    frame = pl.from_arrow(table, rechunk=False)
    assert isinstance(frame, pl.DataFrame)
    coded = {name: (_narrow(frame[name], own), own) for name, own in words.items()}
    return coded, {name: frame[name] for name in others}


def read_groups(file: Path, columns: Sequence[str], *, use_threads: bool) -> Iterator[pa.Table]:
    """Columns of a Parquet file, a group of rows after the other; strings are dictionaries.

    Threads, one a column, are no help to one of several that read at the same time. Raises ArrowInvalid for strings
    that are no Unicode.
    """
    with pq.ParquetFile(file, read_dictionary=list(columns), pre_buffer=False) as opened:
        for k in range(opened.num_row_groups):
            rows = opened.read_row_group(k, columns=list(columns), use_threads=use_threads)
            for column in rows.columns:
                for words in (chunk.dictionary for chunk in column.chunks if pa.types.is_dictionary(column.type)):
                    words.validate(full=True)
            yield rows


def rows_of(file: Path) -> int:
    """How many rows a Parquet file has."""
    found: int = pq.read_metadata(file).num_rows
    return found


def has_values(file: Path, column: str) -> bool:
    """Whether a column of a Parquet file is there and not all null: mostly its first rows tell."""
    with pq.ParquetFile(file, pre_buffer=False) as opened:
        if column not in opened.schema.names:
            return False
        groups = (opened.read_row_group(k, columns=[column]).column(0) for k in range(opened.num_row_groups))
        return any(len(group) > group.null_count for group in groups)


def _words(column: pa.ChunkedArray) -> pl.Series:
    """The one dictionary that all chunks of the column have. Raises ArrowInvalid where it is no Unicode."""
    dictionary = column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string())
    dictionary.validate(full=True)
    found = pl.from_arrow(pa.table({"word": dictionary}))
    assert isinstance(found, pl.DataFrame)
    return found["word"]


def _narrow(codes: pl.Series, words: pl.Series) -> pl.Series:
    """The codes in the fewest bytes that hold all of them."""
    n_words = words.len()
    fitting = pl.UInt8 if n_words <= 1 << 8 else pl.UInt16 if n_words <= 1 << 16 else pl.UInt32
    return codes.cast(fitting, wrap_numerical=True)  # a checked cast takes ten times as long


def is_word(codes: pl.Series, words: pl.Series, *wanted: str) -> pl.Series:
    """Whether a coded value is one of those words; of a null, not."""
    is_wanted = words.is_in(wanted)
    places = is_wanted.arg_true()
    if not places.len():
        return pl.repeat(False, codes.len(), dtype=pl.Boolean, eager=True).alias(codes.name)
    if places.len() > _FEW:
        return is_wanted.gather(codes).alias(codes.name).fill_null(value=False)
    flags = codes.to_frame("code").select(pl.any_horizontal(pl.col("code") == place for place in places))
    return flags.to_series().fill_null(value=False).alias(codes.name)


def spelled(codes: pl.Series, words: pl.Series) -> pl.Series:
    """The words again."""
    return words.gather(codes).alias(codes.name)
