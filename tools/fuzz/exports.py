"""Damage nsys exports: cells, columns and tables of SQLite, and columns of Parquet and Arrow."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

_INTEGERS = (
    None,
    0,
    -1,
    1,
    7,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    -(2**63),
)
_CELLS: tuple[Any, ...] = (
    *_INTEGERS,
    1.5,
    1e300,
    float("inf"),
    "",
    "x",
    "12",
    "\x1b[31m",
    "\u202e",
    "y" * 300,
    b"\xff\xfe",
    b"",
)
_TYPES: tuple[pa.DataType, ...] = (
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.float64(),
    pa.float16(),
    pa.bool_(),
    pa.int8(),
    pa.uint64(),
    pa.int32(),
    pa.null(),
    pa.timestamp("ns"),
    pa.duration("ns"),
    pa.date32(),
    pa.decimal128(38, 2),
    pa.dictionary(pa.int8(), pa.string()),
    pa.list_(pa.int64()),
    pa.struct([("a", pa.int64())]),
    pa.string_view(),
)


def change_database(path: Path, chance: random.Random) -> str:
    """Change cells, columns or whole tables of a SQLite export."""
    with closing(sqlite3.connect(path)) as database, suppress(sqlite3.Error):
        database.text_factory = bytes
        database.create_function(
            "chance",
            0,
            lambda: chance.getrandbits(64) - 2**63,
        )  # random() cannot be repeated
        changes = [_change_table(database, chance) for _ in range(chance.choice([1, 1, 3, 10]))]
        database.commit()
        return "; ".join(changes)
    return "a change that SQLite refuses"


def _change_table(database: sqlite3.Connection, chance: random.Random) -> str:
    names = [
        name.decode()
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    table, other = chance.choice(names), chance.choice(names)
    column = chance.choice(
        [row[1].decode() for row in database.execute(f'PRAGMA table_info("{table}")')]
    )
    value = chance.choice(_CELLS)
    some = chance.choice(["1", "chance() % 5 = 0", "rowid = 1"])
    statement, given = chance.choice(  # names come from the file itself
        [
            (f'UPDATE "{table}" SET "{column}" = ? WHERE {some}', (value,)),  # noqa: S608
            (f'UPDATE "{table}" SET "{column}" = ? WHERE {some}', (value,)),  # noqa: S608
            (f'UPDATE "{table}" SET "{column}" = chance() WHERE {some}', ()),  # noqa: S608
            (
                f'UPDATE "{table}" SET "{column}" = "{column}" + ? WHERE {some}',  # noqa: S608
                (chance.choice(_INTEGERS),),
            ),
            (f'ALTER TABLE "{table}" DROP COLUMN "{column}"', ()),
            (f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column.upper()}"', ()),
            (f'DROP TABLE "{table}"', ()),
            (f'DELETE FROM "{table}" WHERE {some}', ()),  # noqa: S608
            (f'INSERT INTO "{table}" SELECT * FROM "{table}"', ()),  # noqa: S608
            (f'ALTER TABLE "{table}" RENAME TO "{other}2"', ()),
            (f'CREATE TABLE "{other}3" AS SELECT * FROM "{table}"', ()),  # noqa: S608
        ]
    )
    database.execute(statement, given)
    return f"{statement} {given}"


def change_columns(path: Path, chance: random.Random) -> str:
    """Change values, types or names of columns of a Parquet or Arrow file, or its encoding."""
    file = chance.choice(sorted(path.iterdir()))
    table = _read(file)
    changes = []
    for _ in range(chance.choice([1, 1, 3])):
        if not table.column_names:
            break
        place = chance.randrange(table.num_columns)
        name = table.column_names[place]
        how = chance.choice(["values", "values", "type", "name", "drop", "twice", "rows", "order"])
        if how == "values":
            table = table.set_column(
                place,
                name,
                _other_values(table.column(place).combine_chunks(), chance),
            )
        elif how == "type":
            table = table.set_column(
                place,
                name,
                _other_type(table.column(place).combine_chunks(), chance),
            )
        elif how == "name":
            table = table.rename_columns(
                [
                    *table.column_names[:place],
                    name.upper(),
                    *table.column_names[place + 1 :],
                ]
            )
        elif how == "drop":
            table = table.remove_column(place)
        elif how == "twice":
            table = table.append_column(
                name,
                table.column(chance.randrange(table.num_columns)),
            )
        elif how == "rows":
            table = table.slice(0, chance.randrange(table.num_rows + 1))
        elif pa.string_view() not in table.schema.types:  # which cannot be taken from (pyarrow 26)
            table = table.take(
                pa.array(
                    chance.sample(range(table.num_rows), table.num_rows),
                    pa.int64(),
                )
            )
        changes.append(f"{how} of {file.name} {name}")
    _write(file, table, chance)
    return "; ".join(changes)


def _other_values(column: pa.Array, chance: random.Random) -> pa.Array:
    values = (
        column.to_pylist() if not pa.types.is_large_string(column.type) else [None] * len(column)
    )
    is_text = pa.types.is_large_string(column.type) or pa.types.is_string(column.type)
    odd = ("", "x", None, "\x1b[31m", "y" * 300) if is_text else _INTEGERS
    for _ in range(chance.choice([1, 1, 5, len(values)])):
        if values:
            values[chance.randrange(len(values))] = chance.choice(odd)
    for dtype in (
        column.type,
        pa.int64(),
        pa.float64(),
        pa.string(),
    ):
        with suppress(pa.ArrowException, OverflowError, TypeError):
            return pa.array(values, dtype)
    return column


def _other_type(column: pa.Array, chance: random.Random) -> pa.Array:
    dtype = chance.choice(_TYPES)
    with suppress(pa.ArrowException):
        return column.cast(dtype, safe=False)
    return pa.nulls(len(column), dtype)


def _read(file: Path) -> pa.Table:
    if file.suffix == ".parquet":
        return pq.ParquetFile(file).read()
    with ipc.open_stream(
        file.read_bytes()
    ) as stream:  # a mapped file would change as it is written anew
        return stream.read_all()


def _write(file: Path, table: pa.Table, chance: random.Random) -> None:
    if file.suffix == ".parquet":
        with suppress(pa.ArrowException):
            rows = chance.choice([1 << 20, 7])
            pq.write_table(
                table,
                file,
                row_group_size=rows,
                compression=chance.choice(["zstd", "snappy", "none"]),
            )
        return
    options = ipc.IpcWriteOptions(compression=chance.choice([None, "zstd", "lz4"]))
    with ipc.new_stream(file, table.schema, options=options) as stream:
        stream.write_table(table, max_chunksize=chance.choice([None, 7]))


def change_pages(path: Path, chance: random.Random) -> str:
    """Change bytes in the page headers of a Parquet column, such as the pages' sizes."""
    file = chance.choice(sorted(path.rglob("*.parquet")))
    about = pq.read_metadata(file)
    starts = [
        place
        for group in range(about.num_row_groups)
        for column in range(about.num_columns)
        for place in (
            about.row_group(group).column(column).data_page_offset,
            about.row_group(group).column(column).dictionary_page_offset,
        )
        if place
    ]
    if not starts:
        return "nothing: the file has no pages"
    content = bytearray(file.read_bytes())
    header = chance.choice(starts)
    for _ in range(chance.choice([1, 1, 3])):
        content[header + chance.randrange(24)] = chance.choice(
            [chance.randrange(256), 0xFF, 0x7F, 0]
        )
    file.write_bytes(content)
    return f"page headers of {file.name}"


def change_end(path: Path, chance: random.Random) -> str:
    """Change bytes of a Parquet file's footer, or of an Arrow stream's beginning."""
    file = chance.choice(
        sorted(file for file in path.rglob("*.*") if file.suffix in {".parquet", ".arrow"})
    )
    content = bytearray(file.read_bytes())
    begin, end = 0, min(len(content), 2000)
    if file.suffix == ".parquet":
        begin, end = (
            max(
                0,
                len(content) - 8 - int.from_bytes(content[-8:-4], "little"),
            ),
            len(content),
        )
    for _ in range(chance.choice([1, 1, 3, 10])):
        content[chance.randrange(begin, end)] = chance.randrange(256)
    file.write_bytes(content)
    return f"the schema of {file.name}"
