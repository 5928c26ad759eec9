"""A trace on disk: whole or absent, read back as written, refused where it is something else."""

import gc
import json
import math
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import make_trace
from tests.conftest import examples
from tests.selection import every
from tracelens.errors import MissingTableError, SchemaError, SourceError
from tracelens.schemas import SCHEMA_VERSION, TABLES
from tracelens.storage.table import Column
from tracelens.trace import Trace
from tracelens.trace.capture import Manifest
from tracelens.trace.target_folder import check_target

NUMBERS: dict[Any, st.SearchStrategy[Any]] = {
    pl.Int32: st.integers(-(2**31), 2**31 - 1),
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.Float64: st.floats(allow_nan=False),
    pl.Boolean: st.booleans(),
    pl.String: st.text(st.characters(exclude_categories=["Cs"])),
}


def values(column: Column) -> st.SearchStrategy[Any]:
    """Whatever the column may hold."""
    if column.name == "rank":
        return st.integers(0, 3)
    held = st.sampled_from(column.values) if column.values else NUMBERS[column.dtype]
    return st.none() | held if column.nullable else held


def filled(name: str, data: st.DataObject) -> pl.DataFrame:
    """A few rows of a table, in rank order as a trace holds them."""
    rows = data.draw(
        st.lists(st.fixed_dictionaries({c.name: values(c) for c in TABLES[name]}), max_size=4)
    )
    return (
        TABLES[name]
        .check(pl.DataFrame(rows, schema=TABLES[name].schema))
        .sort("rank", maintain_order=True)
    )


@pytest.mark.parametrize("name", every(3, TABLES))
@settings(
    max_examples=examples(8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_every_table_comes_back_as_it_was_written(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    frame = filled(name, data)
    tables = {other: table.empty().lazy() for other, table in TABLES.items()} | {name: frame.lazy()}
    written = Trace(Manifest(ranks=[0, 1, 2, 3]), tables).write(
        tmp_path / "t.tracelens", force=True
    )
    assert written.frame(name).equals(frame)
    assert written.scan(name).collect().equals(frame)
    assert written.has(name) == bool(frame.height)
    assert all(not written.has(other) for other in TABLES if other != name)


def a_trace(**more: Any) -> Trace:
    """Two ranks of spans, one of kernels."""
    return make_trace(spans=[{"rank": 0}, {"rank": 1}, {"rank": 1}], kernels=[{"rank": 0}], **more)


def part(folder: Path, table: str = "spans", rank: int = 0) -> Path:
    return folder / table / f"rank={rank}" / "part-0.parquet"


def test_layout_and_manifest_on_disk(tmp_path: Path) -> None:
    written = a_trace().write(tmp_path / "run.tracelens")
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert files == [
        "run.tracelens/kernels/rank=0/part-0.parquet",
        "run.tracelens/manifest.json",
        "run.tracelens/spans/rank=0/part-0.parquet",
        "run.tracelens/spans/rank=1/part-0.parquet",
    ]
    manifest = json.loads((tmp_path / "run.tracelens" / "manifest.json").read_text())
    assert manifest["schema_version"] == SCHEMA_VERSION
    assert manifest["n_rows"] == {"spans": {"0": 1, "1": 2}, "kernels": {"0": 1}}
    assert (written.name, written.path) == ("run", tmp_path / "run.tracelens")


def test_columns_carry_their_meaning_and_unit(tmp_path: Path) -> None:
    a_trace().write(tmp_path / "t.tracelens")
    # Read as a single file: a reader that sees the folder would add the rank from its name.
    schema = pq.ParquetFile(part(tmp_path / "t.tracelens", "kernels")).schema_arrow
    assert schema.metadata[b"table"] == b"kernels"
    assert schema.metadata[b"description"] == b"An execution of a kernel on a device."
    duration, library = schema.field("duration_ns"), schema.field("library")
    assert (duration.metadata[b"description"], duration.metadata[b"unit"]) == (
        b"End minus start.",
        b"ns",
    )
    assert "triton" in json.loads(library.metadata[b"values"])
    assert all(field.metadata[b"description"] for field in schema)
    assert (duration.nullable, schema.field("step").nullable) == (False, True)


def test_only_an_existing_trace_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "t.tracelens"
    a_trace().write(target)
    with pytest.raises(SourceError, match=r"t\.tracelens: exists already; .*--force"):
        make_trace().write(target)
    replaced = make_trace(memsets=[{}]).write(target, force=True)
    assert (replaced.spans.height, replaced.memsets.height) == (0, 1)
    assert [p.name for p in tmp_path.iterdir()] == ["t.tracelens"]


@pytest.mark.parametrize(
    "manifest",
    [
        None,
        "{}",
        "not JSON",
        '{"name": "my app", "version": 3}',
        '{"schema_version": 1}',
        pytest.param("[" * 200_000, id="deep"),
    ],
)
def test_force_deletes_nothing_but_a_trace(tmp_path: Path, manifest: str | None) -> None:
    target = tmp_path / "work"
    target.mkdir()
    (target / "thesis.txt").write_text("years")
    if manifest is not None:
        (target / "manifest.json").write_text(manifest)
    with pytest.raises(
        SourceError,
        match="work: exists and is not a tracelens trace, so --force does not replace it",
    ):
        a_trace().write(target, force=True)
    assert (target / "thesis.txt").read_text() == "years"


def test_a_file_or_a_dangling_link_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with pytest.raises(SourceError, match=name):
            a_trace().write(tmp_path / name, force=True)


def test_an_unwritable_target_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        SourceError, match=r"t\.tracelens: cannot be written: .*file: Not a directory"
    ):
        check_target(tmp_path / "file" / "t.tracelens", force=False)
    check_target(tmp_path / "not" / "yet" / "t.tracelens", force=False)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "t.tracelens"
    make_trace(memsets=[{}]).write(target)
    count = iter(range(100))

    def full(*_: object, **__: object) -> None:
        if next(count) > 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with pytest.raises(SourceError, match=r"t\.tracelens: cannot be written: .*No space left"):
        a_trace().write(target, force=True)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["t.tracelens"]
    assert Trace.open(target).memsets.height == 1


def test_the_old_trace_comes_back_when_the_last_rename_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "t.tracelens"
    make_trace(memsets=[{}]).write(target)
    rename = Path.rename

    def refuse_the_new(self: Path, to: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(5, "Input/output error")
        return rename(self, to)

    monkeypatch.setattr("tracelens.storage.swap.exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", refuse_the_new)
    with pytest.raises(SourceError, match="Input/output error"):
        a_trace().write(target, force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["t.tracelens"]
    assert Trace.open(target).memsets.height == 1


def test_a_folder_that_cannot_be_made_is_a_source_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError, match="cannot be written"):
        a_trace().write(tmp_path / "file" / "t.tracelens")


def test_a_frame_that_breaks_its_schema_is_not_written(tmp_path: Path) -> None:
    trace = make_trace(kernels=[{}])
    trace._frames["kernels"] = trace.kernels.with_columns(library=pl.lit("cuda"))
    with pytest.raises(SchemaError, match=r"kernels\.library: \['cuda'\]"):
        trace.write(tmp_path / "t.tracelens")
    assert list(tmp_path.iterdir()) == []


def test_a_newer_version_is_refused_with_the_way_out(tmp_path: Path) -> None:
    target = tmp_path / "t.tracelens"
    a_trace().write(target)
    manifest = json.loads((target / "manifest.json").read_text())
    (target / "manifest.json").write_text(
        json.dumps(manifest | {"schema_version": SCHEMA_VERSION + 1})
    )
    with pytest.raises(
        SchemaError, match=rf"schema version {SCHEMA_VERSION + 1}, .*install a newer"
    ):
        Trace.open(target)
    (target / "manifest.json").write_text(
        json.dumps(manifest | {"a_key_of_a_later_minor_version": 1})
    )
    assert Trace.open(target).spans.height == 3


DAMAGED_MANIFESTS: dict[str, tuple[str, str]] = {
    "not JSON": ("{", r"expected a trace directory.*tracelens collect files"),
    "nested beyond reason": ("[" * 100_000, "expected a trace directory"),
    "a list": ("[]", "expected the key schema_version"),
    "no version": ("{}", "expected the key schema_version"),
    "version in words": ('{"schema_version": "1"}', "expected the key schema_version"),
    "version true": ('{"schema_version": true}', "expected the key schema_version"),
    "ranks in words": (
        '{"schema_version": 1, "ranks": "all"}',
        r"is damaged: .*`str` - at `\$\.ranks`",
    ),
    "ranks of words": (
        '{"schema_version": 1, "ranks": ["<b>"]}',
        r"is damaged: .*`str` - at `\$\.ranks\[",
    ),
    "sources of words": (
        '{"schema_version": 1, "sources": ["a"]}',
        r"is damaged: .*`str` - at `\$\.sources\[",
    ),
    "complete in words": (
        '{"schema_version": 1, "complete": "<b>"}',
        r"is damaged: .*`str` - at `\$\.complete`",
    ),
    "reasons in numbers": (
        '{"schema_version": 1, "empty_tables": {"spans": 3}}',
        r"is damaged: .* - at `\$\.empty_",
    ),
    "counts in words": (
        '{"schema_version": 1, "n_rows": {"spans": 3}}',
        r"is damaged: .* - at `\$\.n_rows",
    ),
}


@pytest.mark.parametrize("what", DAMAGED_MANIFESTS)
def test_a_damaged_manifest(tmp_path: Path, what: str) -> None:
    content, message = DAMAGED_MANIFESTS[what]
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(SourceError, match=message):
        Trace.open(tmp_path)


def test_what_is_no_trace_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError, match="no such file"):
        Trace.open(tmp_path / "gone")
    with pytest.raises(SourceError, match=r"expected a trace directory with a manifest\.json"):
        Trace.open(tmp_path)
    with pytest.raises(SourceError, match=r"file: .*found a file; tl\.collect\(path\)"):
        Trace.open(tmp_path / "file")


@pytest.mark.parametrize("remove", ["file", "folder", "table"])
def test_a_deleted_part_does_not_look_empty(tmp_path: Path, remove: str) -> None:
    target = tmp_path / "t.tracelens"
    a_trace().write(target)
    file = part(target, rank=1)
    file.unlink()
    if remove != "file":
        file.parent.rmdir()
    if remove == "table":
        part(target).unlink()
        part(target).parent.rmdir()
        (target / "spans").rmdir()
    with pytest.raises(SourceError, match=r"part-0\.parquet: is missing; collect the trace again"):
        Trace.open(target)


def test_a_part_cut_short_replaced_or_added(tmp_path: Path) -> None:
    target = tmp_path / "t.tracelens"
    a_trace().write(target)
    file, content = part(target), part(target).read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"cannot be read as Parquet.*collect the trace again"):
        Trace.open(target)
    file.write_bytes(part(target, rank=1).read_bytes())
    with pytest.raises(SourceError, match=r"1 rows by manifest\.json, found 2"):
        Trace.open(target)
    file.write_bytes(content)
    for name in ("rank=7", "rank=x"):
        extra = target / "spans" / name
        extra.mkdir()
        (extra / "part-0.parquet").write_bytes(content)
        with pytest.raises(SourceError, match=name):
            Trace.open(target)
        (extra / "part-0.parquet").unlink()
    assert Trace.open(target).spans.height == 3


def test_a_part_with_damaged_pages_is_an_error_when_it_is_read(tmp_path: Path) -> None:
    target = tmp_path / "t.tracelens"
    make_trace(spans=[{"name": f"span {i}"} for i in range(2000)]).write(target)
    content = bytearray(part(target).read_bytes())
    middle = len(content) // 4
    content[4:middle] = bytes(middle - 4)
    part(target).write_bytes(content)
    ways: list[Callable[[Trace], object]] = [
        lambda trace: trace.spans,
        lambda trace: trace.select("spans", "name"),
        lambda trace: trace.select("spans", "name", where=pl.col("rank") == 0),
        lambda trace: [*trace.batches("spans", "name")],
    ]
    for read in ways:
        with pytest.raises(SourceError, match=r"t\.tracelens/spans.*: cannot be read as Parquet"):
            read(Trace.open(target))


@pytest.mark.parametrize(
    "name", ["run[1].tracelens", "run*.tracelens", "run {a,b} é.tracelens", "{rank}.tracelens"]
)
def test_any_folder_name_will_do(tmp_path: Path, name: str) -> None:
    assert a_trace().write(tmp_path / name).spans.height == 3


def test_a_trace_without_counts_opens(tmp_path: Path) -> None:
    target = tmp_path / "t.tracelens"
    a_trace().write(target)
    manifest = json.loads((target / "manifest.json").read_text())
    del manifest["n_rows"]
    (target / "manifest.json").write_text(json.dumps(manifest))
    assert Trace.open(target).spans["rank"].to_list() == [0, 1, 1]


def test_names_for_show() -> None:
    empty = {name: table.empty().lazy() for name, table in TABLES.items()}
    sources = [{"name": name} for name in ("rank0.json.gz", "rank1.json.gz", "stacks.txt")]
    assert [Trace(Manifest(sources=sources[:n]), empty).name for n in range(4)] == [
        "trace",
        "rank0.json.gz",
        "rank0.json.gz and 1 more",
        "rank0.json.gz and 2 more",
    ]
    assert Trace(Manifest(), empty, Path("runs/eager.tracelens")).name == "eager"


def test_a_notebook_shows_hostile_names_as_text() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    manifest = Manifest(sources=[{"name": hostile}], ranks=[0], empty_tables={"spans": hostile})
    trace = Trace(manifest, {name: table.empty().lazy() for name, table in TABLES.items()})
    html = trace._repr_html_()
    assert hostile not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 2
    assert hostile in repr(trace)


def test_summary_attributes_and_what_is_missing() -> None:
    trace = a_trace()
    assert trace.summary().filter(pl.col("n_rows") > 0).select("table", "n_rows").rows() == [
        ("spans", 3),
        ("kernels", 1),
    ]
    assert set(TABLES) <= set(dir(trace))
    with pytest.raises(AttributeError, match=r"no attribute 'reprot'; near: report"):
        _ = trace.reprot
    with pytest.raises(AttributeError, match=r"no attribute 'kernel'; near: kernels"):
        _ = trace.kernel
    with pytest.raises(SchemaError, match="no table is called 'kernel'"):
        trace.scan("kernel")
    with pytest.raises(
        MissingTableError, match=r"depth needs the table stacks, .*tracelens collect gdb"
    ):
        trace.require("depth", "spans", "stacks")


@pytest.mark.parametrize("has_dictionary", [True, False])
def test_selected_columns_have_categories(tmp_path: Path, *, has_dictionary: bool) -> None:
    paths = ["b", None, "a", "a", "", "a path that is longer than a view holds", "b", "Z", "é"]
    rows = [
        {"rank": r, "start_ns": n, "module_path": path}
        for r in (0, 3)
        for n, path in enumerate(paths)
    ]
    memory = make_trace(spans=rows)
    memory.write(tmp_path / "t.tracelens")
    for file in (tmp_path / "t.tracelens").rglob("*.parquet"):
        table = pq.read_table(file, partitioning=None)
        pq.write_table(table, file, row_group_size=4, use_dictionary=has_dictionary)
    disk = Trace.open(tmp_path / "t.tracelens")
    for trace in (memory, disk):
        trace.select("spans", "start_ns")
        found = trace.select("spans", "module_path", "rank", "start_ns")
        assert found.schema == {
            "module_path": pl.Categorical(),
            "rank": pl.Int32(),
            "start_ns": pl.Int64(),
        }
        assert found.rows() == [(row["module_path"], row["rank"], row["start_ns"]) for row in rows]
        few = trace.select("spans", "module_path", "rank", where=pl.col("module_path") == "b")
        assert few.rows() == [("b", 0)] * 2 + [("b", 3)] * 2
        assert few.schema["module_path"] == pl.Categorical
    assert disk.spans.equals(memory.spans)  # what was read in part is read whole


def test_a_column_declared_after_the_trace_was_written_is_null(tmp_path: Path) -> None:
    make_trace(kernels=[{"name": "a", "node_span_id": 3}, {"name": "b", "rank": 1}]).write(
        tmp_path / "a.tracelens"
    )
    part = tmp_path / "a.tracelens" / "kernels" / "rank=0" / "part-0.parquet"
    pl.read_parquet(part).drop("node_span_id").write_parquet(part)
    trace = Trace.open(tmp_path / "a.tracelens")
    for found in (trace.kernels, trace.select("kernels", "rank", "node_span_id", "duration_ns")):
        assert found["node_span_id"].to_list() == [None, None]
        assert found["rank"].to_list() == [0, 1]


def test_infinities_survive(tmp_path: Path) -> None:
    rows = [{"name": "a", "value": value} for value in (math.inf, -math.inf, 0.1)]
    written = make_trace(counters=rows).write(tmp_path / "t.tracelens")
    assert written.counters["value"].to_list() == [math.inf, -math.inf, 0.1]


def test_derived_data_is_computed_once_by_any_thread() -> None:
    trace, begun = make_trace(kernels=[{}]), Barrier(4)
    calls: list[int] = []

    def count(of: Trace, rank: int) -> int:
        calls.append(rank)
        return of.height("kernels") + rank

    def ask(_: int) -> int:
        begun.wait()
        return trace.derived(count, 1)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {2}
    assert calls == [1]
    assert trace.derived(count, 2) == 3
    assert calls == [1, 2]


def test_derived_data_is_released_with_the_trace() -> None:
    trace = make_trace(kernels=[{}])
    kept = weakref.ref(trace.derived(lambda of: of.kernels.clone()))
    assert kept() is not None
    del trace
    gc.collect()
    assert kept() is None
