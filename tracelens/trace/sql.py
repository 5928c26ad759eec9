"""Run one SQL query that reads only a trace's tables and writes nothing.

Some functions of Polars, such as read_csv, read a file or an address, even before the query's plan
can be examined. So only functions that compute columns are allowed, and Polars gets the query only
after this check.
"""

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import polars as pl

from tracelens.errors import UsageError, first_line, near
from tracelens.storage.limits import QUERY_MIB

_BEGINNINGS = ("SELECT", "WITH", "VALUES")
"""First words of statements that return rows and change nothing."""
_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*(?:(?!\*/|/\*).)*\*/)"""
    r"""|(?P<text>'(?:[^'\\]|''|\\(?!'))*')"""
    r"""|(?P<quoted>"(?:[^"]|"")*"|`[^`]*`)|(?P<word>[^\W\d]\w*)|(?P<space>\s+)"""
    r"""|(?P<unclear>/\*|['"`$])|(?P<other>.)""",
    re.DOTALL,
)
"""Matches one token of a query.

The group `unclear` matches what SQL dialects read differently: nested comments, a quote after a
backslash, $$, or an unclosed quote.
"""
_BEFORE_PARENTHESES = frozenset(
    """
    ALL AND ANTI ANY ARRAY AS BETWEEN BY CASE CAST CHAR CHARACTER CROSS DATE DATETIME DEC DECIMAL
    DISTINCT DOUBLE ELSE EXCEPT EXCLUDE EXISTS EXTRACT FILTER FLOAT FROM FULL HAVING ILIKE IN INNER
    INTERSECT IS JOIN LATERAL LEFT LIKE LIMIT MATERIALIZED NOT NUMERIC OFFSET ON OR OUTER OVER
    PARTITION POSITION REAL RECURSIVE REGEXP RENAME REPLACE RIGHT RLIKE SAFE_CAST SELECT SEMI SETS
    SOME STRING THEN TIME TIMESTAMP TRY_CAST UNION USING VALUES VARCHAR WHEN WHERE WINDOW WITH
    WITHIN XOR
    """.split()  # noqa: SIM905 - a list would take fifty lines
)
"""SQL keywords that may precede a parenthesis. They are no function names."""
_BEFORE_ALIAS = ("AS", "WITH", "RECURSIVE", ")")
"""Words before a new table name, as in `AS sums(name, ns)`. Such a name is no function."""
_LOOK_S = 0.02
"""Seconds between two checks of the memory that a query takes."""
_SCAN = " SCAN ["
"""Lines of a query plan with this text are about files."""


def ask(tables: Mapping[str, pl.LazyFrame], sql: str) -> pl.DataFrame:
    """Return the rows that a query in Polars' SQL selects from the tables.

    Raises UsageError if the query is invalid or cannot be answered. It also raises UsageError,
    before any file is opened, if the query reads other files.
    """
    statement = sql.strip().rstrip(";").strip()
    first = statement.lstrip("( \n\t").split(None, 1)[0].upper() if statement else "nothing"
    if first not in _BEGINNINGS:
        raise UsageError(
            f"query: expected SELECT, found {first[:40]}; a trace is only read, see tracelens"
            " schema"
        )
    _refuse_other_functions(statement)
    named = {name: frame for name, frame in tables.items() if name in statement.lower()}
    with _explaining(tables, named):
        query = pl.SQLContext(frames=named, register_globals=False, eager=False).execute(statement)
        plan = query.explain(optimized=False)
    own = (
        {line for frame in named.values() for line in _scans(frame.explain(optimized=False))}
        if _SCAN in plan
        else set()
    )
    foreign = [line for line in _scans(plan) if line not in own]
    if foreign:
        raise UsageError(
            f"query: reads other files than the trace's ({foreign[0][:200]}); ask its tables only"
        )
    with _explaining(tables, named):
        return _collect(query)


def joins_without_rank(sql: str) -> bool:
    """Return whether some join of the query ignores the rank, and so pairs rows of all ranks."""
    words = [
        match[0].strip('"`').upper()
        for match in _TOKEN.finditer(sql)
        if match.lastgroup in {"word", "quoted"}
    ]
    ends = [at for at, word in enumerate(words) if word == "JOIN"] + [len(words)]
    return any("RANK" not in words[begin:end] for begin, end in pairwise(ends))


def _refuse_other_functions(statement: str) -> None:
    """Raise UsageError if the query calls a function that does more than compute columns.

    No part of the query has run yet.
    """
    tokens = [
        (match.lastgroup, match[0])
        for match in _TOKEN.finditer(statement)
        if match.lastgroup not in {"comment", "space"}
    ]
    unclear = [text for kind, text in tokens if kind == "unclear"]
    if unclear:
        raise UsageError(
            f"query: cannot tell where a text or comment ends ({unclear[0]}); write texts in single"
            " quotes, without a backslash at their end, and comments without others in them"
        )
    following = [text for _, text in tokens[1:]]
    before = ["", *(text.upper() for _, text in tokens)]
    for (kind, text), after, previous in zip(tokens, following, before, strict=False):
        if after != "(" or kind not in {"quoted", "word"} or previous in _BEFORE_ALIAS:
            continue
        if kind == "word" and text.upper() in _BEFORE_PARENTHESES:
            continue
        name = text.strip('"`')
        if not _is_of_columns(name):
            raise UsageError(
                f"query: no function of columns is called {name[:40]}; a query reads nothing but the"
                " trace's tables, see tracelens schema"
            )


def _is_of_columns(name: str) -> bool:
    """Return whether the function can be part of a Polars expression.

    Such a function only reads columns.
    """
    if re.fullmatch(r"\w+", name) is None:
        return False
    try:
        pl.sql_expr(f"{name}(0)")
    except pl.exceptions.SQLInterfaceError as error:
        return "unsupported function" not in str(error)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return True  # the function exists and wants other arguments
    return True


def _collect(query: pl.LazyFrame) -> pl.DataFrame:
    """Return the rows of a query. Ctrl-C ends the wait at once.

    Raises UsageError as soon as the process has grown by more than QUERY_MIB.
    """
    most = _held_bytes() + (QUERY_MIB.value << 20)
    rows: list[pl.DataFrame] = []
    errors: list[BaseException] = []

    def collect() -> None:
        try:
            rows.append(query.collect())
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread that asked
            errors.append(error)

    # Polars cannot be stopped within a join. After an error, the thread continues until it or the
    # process ends.
    worker = threading.Thread(target=collect, name="query", daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(_LOOK_S)
        if _held_bytes() > most:
            raise UsageError(
                f"query: takes more than {QUERY_MIB.value:,} MiB of memory; select fewer rows, or join"
                f" by more columns (or set {QUERY_MIB.variable} higher)"
            )
    if errors:
        raise errors[0]
    return rows[0]


def _held_bytes() -> int:
    """Return this process's resident memory in bytes, 0 on systems without /proc."""
    try:
        n_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return n_pages * os.sysconf("SC_PAGE_SIZE")


def _scans(plan: str) -> Iterator[str]:
    return (line.strip() for line in plan.splitlines() if _SCAN in line)


@contextmanager
def _explaining(
    tables: Mapping[str, pl.LazyFrame],
    named: Mapping[str, pl.LazyFrame],
) -> Iterator[None]:
    """Turn an error of a query into UsageError with Polars' message.

    For an unknown name, the message suggests similar names.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, ValueError, pl.exceptions.PanicException) as error:
        message = first_line(error)
        unknown = re.search(r"""(?:relation|column(?: named)?):? ["'`]([^"'`]*)["'`]""", message)
        if unknown is None:
            raise UsageError(f"query: {message[:300]}") from error
        name = unknown[1]
        if message.startswith("relation"):
            raise UsageError(f"query: no table is called {name}; {near(name, tables)}") from error
        columns = [column for frame in named.values() for column in frame.collect_schema()]
        raise UsageError(f"query: no column is called {name}; {near(name, columns)}") from error
