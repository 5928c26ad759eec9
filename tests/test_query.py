"""SQL over a trace: rows in every format, near names for unknown ones, nothing else touched."""

import contextlib
import csv
import io
import itertools
import json
import os
import re
import signal
import threading
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.cases import make_trace
from tests.command_line import command_line
from tests.sample_reports import ESCAPES, SCRIPT
from tracelens.analyses import ANALYSES
from tracelens.errors import UsageError
from tracelens.trace import Trace
from tracelens.trace.sql import _held_bytes
from tracelens.views.formats import FORMATS

KERNELS = [
    {"name": "k", "start_ns": 10, "duration_ns": 5, "step": 1},
    {"name": "k", "start_ns": 20, "duration_ns": 0, "step": 2},
    {"name": "=cmd()", "start_ns": 30, "duration_ns": 7, "step": 2},
]
SUMS = (
    "SELECT rank, name, COUNT(*) AS n, SUM(duration_ns) AS sum_ns FROM kernels GROUP BY rank, name"
    " ORDER BY sum_ns"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_trace(kernels=KERNELS).write(tmp_path / "run.tracelens")
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "secret.parquet")
    return tmp_path


def test_rows_are_those_that_sql_selects(folder: Path) -> None:
    expected = [(0, "k", 2, 5), (0, "=cmd()", 1, 7)]
    for trace in (make_trace(kernels=KERNELS), Trace.open(folder / "run.tracelens")):
        assert trace.sql(SUMS).rows() == expected
        assert trace.sql(
            "WITH sums AS (" + SUMS + ") SELECT name FROM sums WHERE n > 1;"  # noqa: S608
        ).rows() == [("k",)]
        assert (
            trace.sql(
                "SELECT k.name FROM kernels k JOIN kernels o ON k.start_ns = o.start_ns + 10"
            ).height
            == 2
        )


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM read_csv('secret.csv')", "no function of columns is called read_csv; .*"),
        ("SELECT * FROM READ_PARQUET('*.parquet')", "is called READ_PARQUET;"),
        ("SELECT * FROM read_parquet('s3://bucket/key')", "is called read_parquet;"),
        ("SELECT * FROM read_csv\n('http://example.test/x')", "is called read_csv;"),
        ("SELECT * FROM \"read_csv\"('secret.csv')", "is called read_csv;"),
        ("SELECT * FROM `read_ipc`('secret.ipc')", "is called read_ipc;"),
        ("SELECT * FROM kernels, read_json('secret.json')", "is called read_json;"),
        ("SELECT * FROM read_csv/* a */('secret.csv')", "is called read_csv;"),
        ("SELECT /* /* */ ' */ 1 FROM read_csv('secret.csv') --'", "where a text or comment"),
        ("SELECT 'a\\' FROM read_csv('secret.csv')", "where a text or comment ends"),
        ("SELECT $$'$$ FROM read_csv('secret.csv')", "where a text or comment ends"),
        ("WITH a AS (SELECT * FROM read_csv('none.csv')) SELECT * FROM a", "called read_csv;"),
        (
            "SELECT COUNT(*) FROM kernels k JOIN read_csv('secret.csv') s ON k.rank = s.a",
            "is called read_csv;",
        ),
        (
            "SELECT name FROM kernels WHERE rank IN (SELECT a FROM read_csv('secret.csv'))",
            "is called read_csv;",
        ),
        ("SELECT scan_delta('x') FROM kernels", "is called scan_delta;"),
        ("SELECT * FROM 'secret.csv'", "no table is called secret.csv"),
        ("CREATE TABLE x AS SELECT * FROM kernels", "expected SELECT, found CREATE"),
        ("DROP TABLE kernels", "found DROP"),
        ("DELETE FROM kernels", "found DELETE"),
        ("WITH a AS (SELECT 1) DELETE FROM kernels", "query: "),
        ("SELECT * INTO x FROM kernels", "query: "),
        ("COPY kernels TO 'x.csv'", "found COPY"),
        ("SELECT 1; DROP TABLE kernels", "query: "),
        ("", "found nothing"),
        ("SELECT * FROM kernel", "no table is called kernel; near: kernels"),
        ("SELECT duration FROM kernels", "no column is called duration; near: duration_ns"),
        ("SELECT k.nam FROM kernels k", "no column is called nam; near: name"),
        ("SELECT 1 +", "query: "),
    ],
)
def test_what_is_no_question_to_the_trace_is_refused(
    query: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    with pytest.raises(UsageError, match=said) as error:
        Trace.open("run.tracelens").sql(query)
    assert "\n" not in str(error.value)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT COUNT(*) AS n FROM kernels WHERE name LIKE 'read_csv(%'", [(0,)]),
        ("SELECT COUNT(*) /* read_csv('x') */ AS n FROM kernels -- read_csv('x')", [(3,)]),
        ("WITH a(n) AS (SELECT rank FROM kernels) SELECT COUNT(*) AS n FROM a", [(3,)]),
        ("SELECT a FROM (VALUES (1), (2)) AS v(a) WHERE (a) IN (2, 3)", [(2,)]),
        ("SELECT COALESCE(MAX(step), 0) AS n FROM kernels WHERE NOT (rank = 1)", [(2,)]),
        ("SELECT CAST(ROUND(AVG(duration_ns), 1) AS DECIMAL(4, 1)) AS n FROM kernels", [(4.0,)]),
        (
            "SELECT SUM(duration_ns) OVER (PARTITION BY name) AS n FROM kernels ORDER BY n LIMIT 1",
            [(5,)],
        ),
    ],
)
def test_functions_of_columns_may_be_called(query: str, expected: list[tuple[int]]) -> None:
    assert make_trace(kernels=KERNELS).sql(query).rows() == expected


def test_nothing_is_opened_before_a_query_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars opens files of read_csv as soon as it gets the query, so it must not get it."""

    def told(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(pl.SQLContext, "execute", told)
    with pytest.raises(UsageError, match="read_parquet"):
        make_trace(kernels=KERNELS).sql("SELECT * FROM read_parquet('s3://bucket/key')")


def test_ctrl_c_ends_a_query_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars does not look at signals while it joins, which the query here stands for."""
    is_over = threading.Event()

    def deaf(_query: pl.LazyFrame) -> pl.DataFrame:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            is_over.wait(10)
        return pl.DataFrame()

    monkeypatch.setattr(pl.LazyFrame, "collect", deaf)
    monkeypatch.setattr(pl.LazyFrame, "explain", lambda _query, **_: "")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            make_trace(kernels=KERNELS).sql("SELECT COUNT(*) FROM kernels a CROSS JOIN kernels b")
    finally:
        signal.signal(signal.SIGINT, before)
        is_over.set()


def test_a_query_that_takes_too_much_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the memory of the process grows by 2 MiB each time that it is looked at."""
    monkeypatch.setenv("TRACELENS_MAX_QUERY_MIB", "5")
    held = itertools.count(100 << 20, 2 << 20)
    monkeypatch.setattr("tracelens.trace.sql._held_bytes", lambda: next(held))
    is_over = threading.Event()
    monkeypatch.setattr(pl.LazyFrame, "collect", lambda *_, **__: is_over.wait(10))
    monkeypatch.setattr(pl.LazyFrame, "explain", lambda _query, **_: "")
    with pytest.raises(UsageError, match=r"takes more than 5 MiB .*TRACELENS_MAX_QUERY_MIB"):
        make_trace(kernels=KERNELS).sql("SELECT * FROM kernels a CROSS JOIN kernels b")
    is_over.set()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc says what is held")
def test_what_a_process_holds_grows_with_what_it_writes() -> None:
    before = _held_bytes()
    block = b"x" * (64 << 20)
    assert _held_bytes() - before >= len(block) // 2


def test_the_command_writes_every_format(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    run = partial(command_line, capsys, "query", "run.tracelens")
    assert "sum_ns" in json.loads(run(SUMS, "--format", "json").out)["sections"]["query"]["rows"][0]
    rows = list(csv.reader(io.StringIO(run(SUMS, "--format", "csv").out)))
    assert rows == [
        ["rank", "name", "n", "sum_ns"],
        ["0", "k", "2", "5"],
        ["0", "'=cmd()", "1", "7"],
    ]
    shown = run("SELECT rank, name, correlation_id FROM kernels").out
    assert all(
        word in shown for word in ("rank", "correlation")
    )  # asked for, though it tells nothing
    for form in FORMATS.values():
        done = run(SUMS, "--out", f"x{form.endings[0]}")
        assert (done.code, done.out) == (0, ""), done.err
        assert Path(f"x{form.endings[0]}").stat().st_size
    assert pq.read_table("x.parquet").column("sum_ns").to_pylist() == [5, 7]
    refused = run("SELECT nope FROM kernels", "--out", "y.csv")
    assert (refused.code, Path("y.csv").exists()) == (2, False)
    assert refused.err.startswith("error: query: no column is called nope; near: ")


def test_a_report_in_a_notebook_has_escaped_names(tmp_path: Path) -> None:
    trace = make_trace(
        kernels=[{"name": SCRIPT, "duration_ns": 4}, {"name": ESCAPES, "duration_ns": 2}]
    )
    view = trace.report("top_kernels")
    assert view["top_kernels"]["name"].to_list() == [SCRIPT, ESCAPES]
    assert SCRIPT not in view._repr_html_()
    assert "&lt;/script&gt;" in view._repr_html_()
    assert r"\u202egnp.exe" in view._repr_html_()
    assert "top_kernels" in repr(view)
    assert view.to_html(tmp_path / "x.html") == (tmp_path / "x.html").read_text()
    assert "compare_kernels" in {
        one.analysis.name for one in trace.report(against=trace).report.sections
    }
    with pytest.raises(UsageError, match="no section is called top_kernel; near: top_kernels"):
        trace.report("top_kernel")
    with pytest.raises(
        UsageError, match="this report has no section verdict; there is, for example, "
    ):
        view["verdict"]


@pytest.mark.parametrize(
    ("on", "is_warned"),
    [
        ("a.span_id = b.span_id", True),
        ("a.span_id = b.span_id AND a.rank = b.rank", False),
        ('a.span_id = b.span_id AND a."rank" = b.rank', False),
        ("a.span_id = b.span_id -- not by rank", True),
    ],
)
def test_a_join_without_rank_is_warned_of(
    on: str, is_warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two ranks have one span each, and both the id 0: joined by it alone there are four rows."""
    spans = [{"rank": rank, "span_id": 0, "duration_ns": 1} for rank in (0, 1)]
    make_trace(spans=spans).write(tmp_path / "two.tracelens")
    query = f"SELECT a.duration_ns FROM spans a JOIN spans b ON {on}"  # noqa: S608
    asked = ("query", tmp_path / "two.tracelens", query, "--format", "json")
    done = command_line(capsys, *map(str, asked))
    (section,) = json.loads(done.out)["sections"].values()
    assert section["n_rows"] == (4 if is_warned else 2)
    assert ("warning: a join of this query does not mention rank" in done.err) == is_warned


def test_queries_and_sections_of_the_page_for_agents() -> None:
    """Each query of docs/agents.md runs, and each section that it names is there."""
    page = (Path(__file__).resolve().parents[1] / "docs" / "agents.md").read_text()
    table = page.partition("| --- |")[2].partition("\n\n")[0]
    queries = re.findall(r"`(SELECT [^`]*)`", table)
    assert len(queries) > 4
    assert all(make_trace().sql(query).height == 0 for query in queries)
    sections = [name for row in table.splitlines() for name in re.findall(r"`([a-z_]+)`", row)]
    assert {*sections} <= {*ANALYSES, "sql"}
