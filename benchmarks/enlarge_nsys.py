"""Make a real Nsight Systems export larger: SQLite, and the same rows as a directory of Parquet.

    python -m benchmarks.enlarge_nsys OUT.sqlite|OUT_pqtdir --kernels 1000000 [EXPORT.sqlite]

Kernels, copies, fills, API calls, synchronizations and NVTX ranges are repeated, one repetition
after the other, each with new correlation ids. Numbers of ranges `step N` continue. About one
kernel in sixteen gets another name, with another number among its template arguments or tile sizes.
All other rows occur once.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import polars as pl

SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "nsys" / "train_f64_resnet50.sqlite"
KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
REPEATED = (
    KERNEL,
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "NVTX_EVENTS",
)
_GAP_NS = 1_000_000
_VARIANTS = 32
_FIRST_VARIANT = 1_000_000
_NUMBER = re.compile(r"(?<=[<, _x])\d{1,3}(?=[>, _x])")
_STEP = "step "
_BATCH_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class _Plan:
    """The repetitions: their number, what each one adds, and each table's columns."""

    n: int
    time_ns: int
    correlation: int
    steps: int
    columns: dict[str, list[str]]

    def moved_on(self, column: str) -> int:
        """Return by how much a column grows from one repetition to the next."""
        return {"start": self.time_ns, "end": self.time_ns, "correlationId": self.correlation}.get(
            column, 0
        )


def write_sqlite(out: Path, n_kernels: int, source: Path = SAMPLE) -> dict[str, int]:
    """Write a SQLite export of at least `n_kernels` kernels; return what it holds."""
    shutil.copyfile(source, out)
    out.chmod(0o644)
    with closing(sqlite3.connect(out)) as database:
        plan = _planned(database, n_kernels)
        database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        database.executemany("INSERT INTO StringIds (id, value) VALUES (?, ?)", _variants(database))
        for table, columns in plan.columns.items():
            values = ", ".join(_sql_value(plan, table, column) for column in columns)
            database.execute(
                f'INSERT INTO "{table}" ({", ".join(map(_quoted, columns))}) '  # noqa: S608 - names from the sample
                "WITH RECURSIVE turn(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM turn WHERE n + 1"
                f" < {plan.n}) "
                f'SELECT {values} FROM turn CROSS JOIN "{table}" AS row '
                f'WHERE {plan.n} > 1 AND row.rowid <= (SELECT max(rowid) FROM "{table}")'
            )
        database.commit()
        (kernels,) = database.execute(f"SELECT count(*) FROM {KERNEL}").fetchone()  # noqa: S608
    return {"bytes": out.stat().st_size, "kernels": int(kernels), "repetitions": plan.n}


def write_directory(out: Path, n_kernels: int, source: Path = SAMPLE) -> dict[str, int]:
    """Write the rows of `write_sqlite` as a directory with one Parquet file per table.

    Integers are as narrow as nsys writes them.
    """
    out.mkdir()
    kernels = 0
    with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as database:
        plan = _planned(database, n_kernels)
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for name in names:
            frame = _frame(database, name)
            if name == "StringIds":
                new = pl.DataFrame(
                    _variants(database), schema={"id": pl.Int64, "value": pl.String}, orient="row"
                )
                frame = pl.concat([frame.cast({"id": pl.Int64}), new])
            if name in plan.columns:
                frame = _repeated(plan, name, frame)
            kernels = frame.height if name == KERNEL else kernels
            # SQLite knows no unsigned integers: nsys stores those above its range wrapped.
            narrow = [
                pl.col(c).cast(_narrow(c), wrap_numerical=True)
                for c, kind in frame.schema.items()
                if kind.is_integer()
            ]
            frame.with_columns(narrow).write_parquet(
                out / f"{name}.parquet", compression="snappy", row_group_size=_BATCH_ROWS
            )
    size = sum(file.stat().st_size for file in out.iterdir())
    return {"bytes": size, "kernels": kernels, "repetitions": plan.n}


def _planned(database: sqlite3.Connection, n_kernels: int) -> _Plan:
    tables = {
        name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    columns = {
        table: [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
        for table in REPEATED
        if table in tables
    }
    times = " UNION ALL ".join(
        f'SELECT min(start) AS a, max("end") AS b FROM "{t}"'  # noqa: S608
        for t in columns
    )
    ids = " UNION ALL ".join(
        f'SELECT min(correlationId) AS a, max(correlationId) AS b FROM "{t}"'  # noqa: S608
        for t, names in columns.items()
        if "correlationId" in names
    )
    first, last = database.execute(f"SELECT min(a), max(b) FROM ({times})").fetchone()  # noqa: S608
    low, high = database.execute(f"SELECT min(a), max(b) FROM ({ids})").fetchone()  # noqa: S608
    (kernels,) = database.execute(f"SELECT count(*) FROM {KERNEL}").fetchone()  # noqa: S608
    (steps,) = database.execute(
        "SELECT count(*) FROM NVTX_EVENTS WHERE text LIKE ?", [f"{_STEP}%"]
    ).fetchone()
    return _Plan(-(-n_kernels // kernels), last - first + _GAP_NS, high - low + 1, steps, columns)


def _variants(database: sqlite3.Connection) -> list[tuple[int, str]]:
    """Add kernel names to StringIds: each name again, with another number, once per variant."""
    query = (
        f"SELECT DISTINCT id, value FROM StringIds JOIN {KERNEL} ON id = demangledName ORDER BY id"  # noqa: S608
    )
    rows = []
    for number, name in database.execute(query).fetchall():
        for variant in range(_VARIANTS):
            other = _NUMBER.sub(lambda match, v=variant: str(int(match[0]) + 1 + v), name, count=1)  # type: ignore[misc]
            rows.append((_FIRST_VARIANT + number * _VARIANTS + variant, other))
    return rows


def _sql_value(plan: _Plan, table: str, column: str) -> str:
    """Return SQL for a column's value in repetition `turn.n`; `_repeated` does so in Polars."""
    value = f"row.{_quoted(column)}"
    if add := plan.moved_on(column):
        return f"{value} + turn.n * {add}"
    if table == KERNEL and column == "demangledName":
        other = f"{_FIRST_VARIANT} + {value} * {_VARIANTS} + turn.n % {_VARIANTS}"
        return f"CASE WHEN (row.rowid * 7919 + turn.n) % 16 = 0 THEN {other} ELSE {value} END"
    if table == "NVTX_EVENTS" and column == "text":
        number = f"CAST(substr({value}, {len(_STEP) + 1}) AS INTEGER) + turn.n * {plan.steps}"
        return f"CASE WHEN {value} LIKE '{_STEP}%' THEN '{_STEP}' || ({number}) ELSE {value} END"
    return value


def _repeated(plan: _Plan, table: str, frame: pl.DataFrame) -> pl.DataFrame:
    n = pl.col("turn.n")
    changes = [
        (pl.col(c) + n * plan.moved_on(c)).alias(c) for c in frame.columns if plan.moved_on(c)
    ]
    if table == KERNEL:
        name, is_other = pl.col("demangledName"), (pl.col("row.rowid") * 7919 + n) % 16 == 0
        other = _FIRST_VARIANT + name * _VARIANTS + n % _VARIANTS
        changes.append(
            pl.when(is_other & (n > 0)).then(other).otherwise(name).alias("demangledName")
        )
    if table == "NVTX_EVENTS":
        text = pl.col("text")
        number = text.str.strip_prefix(_STEP).cast(pl.Int64, strict=False) + n * plan.steps
        counted = (
            pl.when(text.str.starts_with(_STEP))
            .then(_STEP + number.cast(pl.String))
            .otherwise(text)
        )
        changes.append(counted.alias("text"))
    turns = pl.DataFrame({"turn.n": pl.int_range(plan.n, eager=True)})
    return (
        turns.join(frame.with_row_index("row.rowid", 1).cast({"row.rowid": pl.Int64}), how="cross")
        .with_columns(changes)
        .select(frame.columns)
    )


def _frame(database: sqlite3.Connection, table: str) -> pl.DataFrame:
    """Read a whole table of the source."""
    cursor = database.execute(f'SELECT * FROM "{table}" ORDER BY rowid')  # noqa: S608
    columns = [column[0] for column in cursor.description]
    declared = {row[1]: row[2] for row in database.execute(f'PRAGMA table_info("{table}")')}
    kinds = {"INTEGER": pl.Int64, "REAL": pl.Float64}
    schema = {column: kinds.get(declared[column], pl.String) for column in columns}
    return pl.DataFrame(cursor.fetchall(), schema=schema, orient="row", strict=False)


def _narrow(column: str) -> type[pl.DataType]:
    """Return the integer type nsys gives a column. Ids of threads and processes need 64 bits."""
    if column == "correlationId":
        return pl.UInt32
    return (
        pl.UInt64
        if column in {"globalTid", "globalPid", "demangledName", "shortName"}
        else pl.Int64
    )


def _quoted(column: str) -> str:
    return f'"{column}"'


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("source", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    given = parser.parse_args()
    writer = write_sqlite if given.out.suffix == ".sqlite" else write_directory
    print(json.dumps(writer(given.out, given.kernels, given.source)))


if __name__ == "__main__":
    main()
