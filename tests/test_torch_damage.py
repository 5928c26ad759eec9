"""Damage costs the events it touches and nothing else, and what must not be kept never is."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torch_files import CAPTURES, call, codes, kernel, needs_captures, read, rows, span, write
from tracelens.collectors import collect
from tracelens.errors import SourceError, TracelensError
from tracelens.schemas import TABLES

FIRST, LAST = (json.dumps(span(name, ts, 1)) for name, ts in (("first", 1), ("last", 9)))


def around(*damaged: str | bytes) -> bytes:
    """A trace of a good event, what is given, and another good event."""
    parts = [part if isinstance(part, bytes) else part.encode() for part in damaged]
    return b'{"traceEvents": [\n' + b",\n".join([FIRST.encode(), *parts, LAST.encode()]) + b'\n], "traceName": "t"}'


def names(path: Path) -> list[str]:
    """Names of the spans read."""
    return [name for (name,) in rows(read(path), "spans", "name")]


def op(name: str, rest: str = "") -> str:
    """An op at 5 µs, its name and further keys written just so."""
    return f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": 5, "dur": 1{rest}}}'


REPAIRED: dict[str, tuple[str | bytes, str]] = {
    "inf": (op("a", ', "args": {"x": inf, "y": -inf, "z": [Infinity]}'), "a"),
    "nan": (op("a", ', "args": {"x": NaN, "y": -nan, "z": -nan(ind), "w": 1.#INF}'), "a"),
    "not available": (op("a", ', "args": {"memory bandwidth (GB/s)": N/A, "bytes": 1}'), "a"),
    "word in a name": (op("a, nan, b", ', "args": {"x": nan}'), "a, nan, b"),
    "stray backslash": (op(r"C:\quick\sum"), r"C:\quick\sum"),
    "stray beside escaped": (op(r"a\\\q"), "a\\\\q"),
    "bad unicode escape": (op(r"a\u12"), r"a\u12"),
    "half a surrogate pair": (op(r"a\ud83db"), "a\ufffdb"),
    "whole surrogate pair": (op(r"a\ud83d\ude00b", ', "args": {"x": nan}'), "a😀b"),
    "backslash before the closing quote": (op("dir\\"), "dir\\"),
    "quotes": (op('say "hi" twice'), 'say "hi" twice'),
    "quotes around all": (op('"quoted"'), '"quoted"'),
    "control characters": (op("a\tb\x01c"), "a b c"),
    "bytes that are not UTF-8": (op("caf").encode().replace(b"caf", b"caf\xe9"), "caf\ufffd"),
    "number beyond a float": (op("a", ', "args": {"External id": 1e999}'), "a"),
}


@pytest.mark.parametrize("damage", REPAIRED)
def test_damage_that_can_be_repaired(tmp_path: Path, damage: str) -> None:
    event, name = REPAIRED[damage]
    path = write(tmp_path / "t.json", around(event))
    assert names(path) == ["first", name, "last"]
    assert codes(read(path)) == {"event_repaired": 1}
    assert read(path).complete


LOST: dict[str, tuple[str | bytes, int]] = {
    "no closing brace": ('{"ph": "X", "name": "a", "args": {"x": 1}', 1),
    "nothing but a word": ("null", 1),
    "a string": ('"a, b"', 1),
    "a list": ("[1, 2]", 1),
    "empty between commas": ("", 0),
    "half an event with nested objects": (
        '{"ph": "X", "args": {"l": [{"name": "x"}, {"id": 1}, {"name": "y"}], "x": ',
        1,
    ),
    "half an event, then a whole one": ('{"ph": "X", "name": "a", ' + op("whole"), 1),
}


@pytest.mark.parametrize("damage", LOST)
def test_damage_that_cannot_be_repaired(tmp_path: Path, damage: str) -> None:
    event, n_lost = LOST[damage]
    path = write(tmp_path / "t.json", around(event))
    assert names(path) == ["first", *(["whole"] if "whole" in damage else []), "last"]
    assert codes(read(path)).get("event_damaged", 0) == n_lost
    assert read(path).complete


def test_events_without_a_comma_between(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", f'{{"traceEvents": [{FIRST} {op("a")}\n{LAST}]}}')
    assert names(path) == ["first", "a", "last"]
    assert codes(read(path)) == {}


def test_a_cut_between_events_may_stand_in_a_name_or_in_nested_data(tmp_path: Path) -> None:
    inside = op('}, {"ph": "X"').replace('"ph": "X"", ', '\\"ph\\": \\"X\\"", ')
    nested = op("nested", ', "args": {"stack": [{"name": "f"}, {"name": "g"}], "x": nan}')
    path = write(tmp_path / "t.json", around(inside, nested))
    assert names(path) == ["first", '}, {"ph": "X"', "nested", "last"]


@pytest.mark.parametrize("args", ["null", '"text"', "[1]", "5", "true"])
def test_args_that_are_no_object(tmp_path: Path, args: str) -> None:
    path = write(tmp_path / "t.json", around(op("a", f', "args": {args}')))
    assert names(path) == ["first", "a", "last"]
    assert codes(read(path)) == ({} if args == "null" else {"args_damaged": 1})


def test_strange_values_in_the_right_places(tmp_path: Path) -> None:
    huge = 2**70
    events = [
        span("pid is a word", 1, 1, pid="Spans", tid="PyTorch Profiler"),
        span("negative thread", 2, 1, tid=-17),
        span("thread in words", 3, 1, tid="thread 12 (main)"),
        span("huge", 4, 1, pid=huge, args={"External id": huge, "Sequence number": -huge}),
        {"ph": "X", "cat": "cpu_op", "name": "bare", "ts": 5, "dur": 1},
        span("lists", 6, 1, pid=[1], tid={"a": 1}, args={"External id": [3], "Input Dims": 7}),
        {"ph": "X", "cat": "cpu_op", "ts": 7, "dur": 1, "pid": 1, "tid": 1},
        span("no phase", 8, 1, ph={"a": 1}),
        span("no category", 9, 1, cat=["cpu_op"]),
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "spans", "name", "process_id", "thread_id", "external_id") == [
        ("pid is a word", -1, -1, None),
        ("negative thread", 1, -17, None),
        ("thread in words", 1, 12, None),
        ("huge", -1, 1, None),
        ("bare", -1, -1, None),
        ("lists", -1, -1, None),
        ("", 1, 1, None),
    ]
    assert codes(capture) == {"category_cpu_op (ph none)": 1, "category_none": 1}


def test_numbers_too_large_for_their_column_cost_no_other(tmp_path: Path) -> None:
    odd = kernel("odd", 1, 1, 1, args={"device": 2**40, "stream": 7, "grid": [2**40, 1, 1], "block": [1, "x", 1],
                                       "registers per thread": 2**33, "Collective name": "c", "Group size": 2**50,
                                       "dtype": "Float", "In msg nelems": 2**62})  # fmt: skip
    devices = [{"id": 2**40, "name": "d"}, {"id": 0, "name": "H", "numSms": 2**40, "computeMajor": 9}]
    capture = read(write(tmp_path / "t.json", [odd, kernel("good", 2, 1, 2)], deviceProperties=devices))
    wanted = ("name", "device_id", "grid_x", "block_x", "registers_per_thread")
    assert rows(capture, "kernels", *wanted) == [("odd", -1, None, None, None), ("good", 0, None, None, None)]
    assert rows(capture, "collectives", "name", "group_size", "size_in_bytes") == [("c", None, None)]
    assert rows(capture, "devices", "device_id", "sm_count", "compute_capability") == [
        (0, None, None), (-1, None, None)
    ]  # fmt: skip


def test_duplicate_ids_and_unsorted_events(tmp_path: Path) -> None:
    events = [
        kernel("k", 9, 1, 5), kernel("k", 9, 1, 5), span("late", 6, 1, args={"External id": 1}),
        call("cudaLaunchKernel", 2, 1, 5), span("early", 1, 4, args={"External id": 1}),
    ]  # fmt: skip
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "spans", "name", "span_id", "external_id") == [("early", 0, 1), ("late", 1, 1)]
    assert rows(capture, "kernels", "kernel_id", "api_call_id", "span_id") == [(0, 0, 0), (1, 0, 0)]


def test_a_damaged_last_event_does_not_hide_the_end(tmp_path: Path) -> None:
    for event in (op("a]}, b", ', "args": {"x": nan}'), op('a "b] c'), op('a "b}], c"')):
        path = write(tmp_path / "t.json", f'{{"traceEvents": [{FIRST}, {event}], "baseTimeNanoseconds": 1000}}')
        capture = read(path)
        assert rows(capture, "spans", "name", "start_ns")[0] == ("first", 2000)


def test_thousands_of_damaged_events_take_linear_time(tmp_path: Path) -> None:
    n = 4000
    bad = '{"ph": "X", "cat": "cpu_op", "name": "lost", "args": {"x": [1, {"name": 2}, {"name": 3'
    path = write(tmp_path / "t.json", around(*[bad, op("kept")] * n))
    capture = read(path)
    assert capture.tables["spans"].filter(pl.col("name") == "kept").height == n
    assert codes(capture)["event_damaged"] == n


@pytest.mark.parametrize("content", [b"x", b'"\\"', b"{}}", b"  ", b'{"name": [', b'\\"'])
def test_megabytes_without_an_event_take_linear_time(tmp_path: Path, content: bytes) -> None:
    megabytes = content * (3_000_000 // len(content))
    path = write(tmp_path / "t.json", b'{"traceEvents": [' + FIRST.encode() + b"," + megabytes)
    assert names(path) == ["first"]
    assert not read(path).complete


@pytest.mark.parametrize("place", [b'"Input Dims": [1]', b'"Input type": ["float"]'])
def test_bytes_that_are_no_text_in_shapes_cost_only_the_shapes(tmp_path: Path, place: bytes) -> None:
    whole = op("op", ', "args": {"Input Dims": [1], "Input type": ["float"]}').encode()
    path = write(tmp_path / "t.json", around(whole.replace(place, place.replace(b"]", b', "\xff"]'))))
    assert names(path) == ["first", "op", "last"]


def test_a_time_that_is_no_text_costs_the_event(tmp_path: Path) -> None:
    event = op("op").encode().replace(b'"ts": ', b'"ts": "\xff", "was": ')
    path = write(tmp_path / "t.json", around(event))
    assert names(path) == ["first", "last"]
    assert codes(read(path))["event_without_time"] == 1


# --- traces cut short ---


def cuts(content: bytes, n: int) -> list[int]:
    """Places to cut at, after the first few events; always the same ones."""
    return sorted(random.Random(20240517).sample(range(len(content) // 50, len(content) - 1), n))  # noqa: S311


def whole_events(content: bytes, intact: list[dict[str, Any]]) -> int:
    """How many of the intact file's events end within the content, told by json alone."""
    text = content.decode("utf-8", "ignore")
    at = text.index("[", text.index('"traceEvents"')) + 1
    decoder, n = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at] in ", \n\r\t":
            at += 1
        try:
            event, at = decoder.raw_decode(text, at)
        except ValueError:
            return n
        assert event == intact[n]
        n += 1


def n_read(path: Path) -> tuple[int, bool, dict[str, int]]:
    """Complete events that found a place or were counted, whether the trace is complete, and the diagnostics."""
    capture = read(path)
    counted = codes(capture)
    tables = ("spans", "api_calls", "kernels", "memcpys", "memsets", "synchronizations")
    n = sum(capture.tables[name].height for name in tables if name in capture.tables)
    n += sum(count for code, count in counted.items() if code.startswith("category_") and "(ph" not in code)
    return n, capture.complete, counted


def completes(events: list[dict[str, Any]]) -> int:
    return sum(event["ph"] == "X" for event in events)


@needs_captures
@pytest.mark.parametrize("name", ["resnet50_cudagraph", "alexnet_eager"])
def test_a_real_trace_cut_anywhere_keeps_its_whole_events(tmp_path: Path, name: str) -> None:
    content = gzip.decompress((CAPTURES / f"{name}.pt.trace.json.gz").read_bytes())
    intact = json.loads(content)["traceEvents"]
    for cut in cuts(content, 20):
        n, complete, counted = n_read(write(tmp_path / "cut.json", content[:cut]))
        assert n == completes(intact[: whole_events(content[:cut], intact)]), cut
        assert not complete
        assert counted["trace_cut"] == 1


@needs_captures
def test_a_gzip_stream_cut_or_damaged_anywhere(tmp_path: Path) -> None:
    packed = (CAPTURES / "resnet50_cudagraph.pt.trace.json.gz").read_bytes()
    intact = json.loads(gzip.decompress(packed))["traceEvents"]
    path = tmp_path / "cut.json.gz"
    for cut in cuts(packed, 20):
        path.write_bytes(packed[:cut])
        with gzip.open(path) as stream:
            content = b""
            try:
                while piece := stream.read1(1):
                    content += piece + stream.read1(100_000)
            except EOFError:
                pass
        n, complete, counted = n_read(path)
        assert n >= completes(intact[: whole_events(content, intact)]) > 0, cut
        assert not complete
        assert (counted["trace_cut"], counted["gzip_truncated"]) == (1, 1)
    path.write_bytes(packed[:-8] + bytes(8))
    n, complete, counted = n_read(path)
    assert n == completes(intact)
    assert (complete, counted["gzip_damaged"]) == (False, 1)


def test_a_cut_at_every_byte(tmp_path: Path) -> None:
    events = [span("a", 1, 1), span("b", 2, 1, args={"External id": 1, "l": [{"name": 1}]}), span("c", 3, 1)]
    content = json.dumps({"baseTimeNanoseconds": 1000, "traceEvents": events, "traceName": "x"}).encode()
    ends = [content.index(json.dumps(event).encode()) + len(json.dumps(event)) for event in events]
    inside = {
        cut for event, end in zip(events, ends, strict=True) for cut in range(end - len(json.dumps(event)) + 1, end)
    }
    for cut in range(ends[0], len(content)):
        capture = read(write(tmp_path / "t.json", content[:cut]))
        assert capture.tables["spans"].height == whole_events(content[:cut], events), content[:cut]
        assert capture.tables["spans"]["start_ns"][0] == 2000
        assert not capture.complete
        assert codes(capture)["trace_cut"] == 1
        # Only a cut inside an event loses one.
        assert ("event_cut" in codes(capture)) == (cut in inside)


def test_bytes_flipped_inside_a_gzip_stream(tmp_path: Path) -> None:
    events = [span(f"op {i} {random.Random(i).random()}", i, 1) for i in range(3000)]  # noqa: S311
    packed = bytearray(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    at = len(packed) * 3 // 4
    packed[at : at + 40] = bytes(40)
    path = tmp_path / "t.json.gz"
    path.write_bytes(packed)
    capture = read(path)
    assert capture.tables["spans"].height > 3000 * 0.6
    assert not capture.complete


# --- what must not be kept ---

TOKEN = "ghp_thisIsATokenThatNobodyMayKeep"  # noqa: S105
ENVIRONMENT = {
    "env": {"GITHUB_TOKEN": TOKEN, "HOME": "/home/alice.secret", "USER": "alice.secret"},
    "environ": json.dumps({"GITHUB_TOKEN": TOKEN, "traceEvents": [{"ph": "X", "name": TOKEN}]}),
    "argv": [{"name": TOKEN, "cat": TOKEN}, {"id": TOKEN, "pid": TOKEN}],
    "host_name": "alice.secret-laptop",
    "cuda_runtime_version": 12040,
}
PYTHON_CALLS = (
    "/home/alice.secret/my project (v2)/train.py(10): main",
    "/home/alice.secret/.venv/lib/python3.12/site-packages/torch/nn/modules/module.py(1783): _call_impl",
    r"C:\Users\alice.secret\work\train.py(3): step",
    "<built-in method run of alice object at 0x7fb2c14fb510>",
    "<module 'x' from '/home/alice.secret/x.py'>",
    "//home//alice.secret//deep/x.py(1): <lambda>",
    "torch/nn/functional.py(20): relu",
)


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_metadata_and_paths_are_not_kept(tmp_path: Path, last: bool, damaged: bool) -> None:
    events = [span(name, 1 + i, 1, cat="python_function") for i, name in enumerate(PYTHON_CALLS)]
    events[0]["args"] = {"Call stack": f"/home/alice.secret/x.py(1): f {TOKEN}"}
    content = json.dumps({"traceEvents": events, **ENVIRONMENT} if last else {**ENVIRONMENT, "traceEvents": events})
    if damaged:
        content = content.replace('"ts": 3', '"x": nan, "ts": 3').replace('"USER"', 'nan: "USER"')
    path = write(tmp_path / "t.json", content)
    trace = collect(path).write(tmp_path / "t.tracelens")
    assert rows(trace, "spans", "name") == [
        ("train.py(10): main",),
        ("torch/nn/modules/module.py(1783): _call_impl",),
        ("train.py(3): step",),
        ("<built-in method run of alice object>",),
        ("<module 'x' from 'x.py'>",),
        ("x.py(1): <lambda>",),
        ("torch/nn/functional.py(20): relu",),
    ]
    assert trace.manifest.sources[0]["versions"] == {"cuda_runtime_version": "12040"}
    written = (tmp_path / "t.tracelens" / "manifest.json").read_text()
    for name in TABLES:
        written += trace.scan(name).select(pl.selectors.string()).collect().write_csv()
    assert "train.py(10)" in written
    for secret in (TOKEN, "alice.secret", "/home", "Users"):
        assert secret not in written


# --- input that is no trace ---

WORDS = "expected .*found .*"
NO_TRACE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "found an empty file.*export again"),
    "blank": (b" \n\n", "found an empty file.*export again"),
    "text": (b"hello", "found something that is not JSON"),
    "binary": (bytes(range(256)) * 10, "found something that is not JSON"),
    "JSON": (b'{"loss": [1, 2]}', "found JSON without a traceEvents list.*export again"),
    "a list of numbers": (b"[1, 2]", "found JSON without a traceEvents list"),
    "traceEvents of another sort": (b'{"traceEvents": null}', "found JSON without a traceEvents list"),
    "execution trace": (
        b'{"schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": "2024", "start_ts": 1, "nodes": [{"id": 1}]}',
        "found an ExecutionTraceObserver file; collect the trace that prof.export_chrome_trace wrote",
    ),
    "gzip of nothing": (gzip.compress(b""), "found an empty file"),
    "gzip of text": (gzip.compress(b"hello"), "found something that is not JSON"),
    "gzip cut in its header": (gzip.compress(b"{}")[:5], "found an empty file"),
}


@pytest.mark.parametrize("what", NO_TRACE)
def test_a_file_that_is_no_trace(tmp_path: Path, what: str) -> None:
    content, message = NO_TRACE[what]
    path = tmp_path / "input.json"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"input\.json: expected .*{message}"):
        collect(path, kind="torch")


@pytest.mark.parametrize("content", ['{"traceEvents": []}', "[]", '{"traceEvents": ['])
def test_a_trace_without_events(tmp_path: Path, content: str) -> None:
    with pytest.raises(SourceError, match=r"t\.json: .*no events.*profile at least one step"):
        collect(write(tmp_path / "t.json", content), kind="torch")


@pytest.mark.parametrize("content", ['{"traceEvents": [{"ph": "X", ', '{"traceEvents": [{"ph": X"}]}', "[{]"])
def test_a_trace_without_a_whole_event(tmp_path: Path, content: str) -> None:
    with pytest.raises(SourceError, match=r"t\.json: no event of the trace is whole; export it again"):
        collect(write(tmp_path / "t.json", content), kind="torch")


def test_a_file_nobody_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.json", around())

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    for kind in (None, "torch"):
        with pytest.raises(SourceError, match=r"t\.json: cannot be read: Permission denied"):
            collect(path, kind=kind)


def test_missing_files_and_empty_directories(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.json: no such file"):
        collect(tmp_path / "gone.json")
    for kind in (None, "torch"):
        with pytest.raises(SourceError, match=r"expected.*json|directory with nothing to collect"):
            collect(tmp_path, kind=kind)


# --- whatever bytes ---

SEED = around(op("a", ', "args": {"External id": 1, "Input Dims": [[1]]}'), json.dumps(kernel("k", 2, 1, 1)))


@settings(max_examples=80, deadline=30_000)
@given(st.binary(max_size=300))
def test_any_bytes_give_a_trace_or_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    for start in (b"", b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", ', b"[{", b"\x1f\x8b\x08\x00"):
        path.write_bytes(start + content)
        try:
            collect(path, kind="torch")
        except TracelensError:
            continue


@settings(max_examples=100, deadline=30_000)
@given(st.lists(st.tuples(st.integers(0, len(SEED)), st.integers(0, 12), st.binary(max_size=6)), max_size=4))
def test_a_trace_changed_here_and_there(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, bytes]]
) -> None:
    content = bytearray(SEED)
    for at, n, new in changes:
        content[at : at + n] = new
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    path.write_bytes(content)
    try:
        trace = collect(path, kind="torch")
    except TracelensError:
        return
    assert trace.spans.height + trace.kernels.height <= 4 + len(changes)
