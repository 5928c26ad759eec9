"""Damage costs the events it touches and nothing else, and what must not be kept never is."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.fast_beside_slow import read_by_both  # noqa: F401 - a fixture of every test here
from tests.selection import every
from tests.torch_files import call, codes, kernel, read, rows, span, write
from tracelens.collectors import collect
from tracelens.errors import TracelensError

FIRST, LAST = (json.dumps(span(name, ts, 1)) for name, ts in (("first", 1), ("last", 9)))


def around(*damaged: str | bytes) -> bytes:
    """A trace of a good event, the given text, and another good event."""
    parts = [part if isinstance(part, bytes) else part.encode() for part in damaged]
    return (
        b'{"traceEvents": [\n'
        + b",\n".join([FIRST.encode(), *parts, LAST.encode()])
        + b'\n], "traceName": "t"}'
    )


def names(path: Path) -> list[str]:
    """Names of the spans read."""
    return [name for (name,) in rows(read(path), "spans", "name")]


def op(name: str, rest: str = "") -> str:
    """An op at 5 µs. Its name and further keys are written exactly so."""
    return (
        f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": 5, "dur":'
        f" 1{rest}}}"
    )


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


def test_damage_that_can_be_repaired(tmp_path: Path) -> None:
    events, names = zip(*REPAIRED.values(), strict=True)
    capture = read(write(tmp_path / "t.json", around(*events)))
    assert [name for (name,) in rows(capture, "spans", "name")] == ["first", *names, "last"]
    assert codes(capture) == {"event_repaired": len(REPAIRED)}
    assert capture.complete


@pytest.mark.exhaustive
@pytest.mark.parametrize("damage", REPAIRED)
def test_one_damage_alone_can_be_repaired(tmp_path: Path, damage: str) -> None:
    event, name = REPAIRED[damage]
    capture = read(write(tmp_path / "t.json", around(event)))
    assert rows(capture, "spans", "name") == [("first",), (name,), ("last",)]
    assert codes(capture) == {"event_repaired": 1}
    assert capture.complete


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
    capture = read(write(tmp_path / "t.json", around(event)))
    whole = [("whole",)] if "whole" in damage else []
    assert rows(capture, "spans", "name") == [("first",), *whole, ("last",)]
    assert codes(capture).get("event_damaged", 0) == n_lost
    assert capture.complete


def test_events_without_a_comma_between(tmp_path: Path) -> None:
    capture = read(write(tmp_path / "t.json", f'{{"traceEvents": [{FIRST} {op("a")}\n{LAST}]}}'))
    assert rows(capture, "spans", "name") == [("first",), ("a",), ("last",)]
    assert codes(capture) == {}


def test_a_boundary_may_stand_in_a_name_or_nested_data(tmp_path: Path) -> None:
    inside = op('}, {"ph": "X"').replace('"ph": "X"", ', '\\"ph\\": \\"X\\"", ')
    nested = op("nested", ', "args": {"stack": [{"name": "f"}, {"name": "g"}], "x": nan}')
    path = write(tmp_path / "t.json", around(inside, nested))
    assert names(path) == ["first", '}, {"ph": "X"', "nested", "last"]


@pytest.mark.parametrize("args", ["null", '"text"', "[1]", "5", "true"])
def test_args_that_are_no_object(tmp_path: Path, args: str) -> None:
    capture = read(write(tmp_path / "t.json", around(op("a", f', "args": {args}'))))
    assert rows(capture, "spans", "name") == [("first",), ("a",), ("last",)]
    assert codes(capture) == ({} if args == "null" else {"args_damaged": 1})


HUGE = 2**70
STRANGE: dict[str, tuple[dict[str, Any], tuple[str, int, int, int | None]]] = {
    "string pid": (span("a", 5, 1, pid="Spans", tid="PyTorch Profiler"), ("a", -1, -1, None)),
    "negative tid": (span("a", 5, 1, tid=-17), ("a", 1, -17, None)),
    "tid in words": (span("a", 5, 1, tid="thread 12 (main)"), ("a", 1, 12, None)),
    "huge integers": (
        span("a", 5, 1, pid=HUGE, args={"External id": HUGE, "Sequence number": -HUGE}),
        ("a", -1, 1, None),
    ),
    "no pid, tid and args": (
        {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 5, "dur": 1},
        ("a", -1, -1, None),
    ),
    "no name": (
        {"ph": "X", "cat": "cpu_op", "ts": 5, "dur": 1, "pid": 1, "tid": 1},
        ("", 1, 1, None),
    ),
    "lists and objects for numbers": (
        span("a", 5, 1, pid=[1], tid={"a": 1}, args={"External id": [3], "Input Dims": 7}),
        ("a", -1, -1, None),
    ),
}


@pytest.mark.parametrize("value", STRANGE)
def test_strange_values_in_the_right_places(tmp_path: Path, value: str) -> None:
    event, expected = STRANGE[value]
    capture = read(write(tmp_path / "t.json", around(json.dumps(event))))
    assert rows(capture, "spans", "name", "process_id", "thread_id", "external_id")[1:-1] == [
        expected
    ]
    assert codes(capture) == {}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"ph": {"a": 1}}, "category_cpu_op (ph none)"), ({"cat": ["cpu_op"]}, "category_none")],
)
def test_an_event_of_no_known_sort_is_counted(
    tmp_path: Path, wrong: dict[str, Any], code: str
) -> None:
    capture = read(write(tmp_path / "t.json", around(json.dumps(span("a", 5, 1) | wrong))))
    assert rows(capture, "spans", "name") == [("first",), ("last",)]
    assert codes(capture) == {code: 1}


def test_numbers_too_large_for_their_column_cost_no_other(tmp_path: Path) -> None:
    odd = kernel(
        "odd",
        1,
        1,
        1,
        args={
            "device": 2**40,
            "stream": 7,
            "grid": [2**40, 1, 1],
            "block": [1, "x", 1],
            "registers per thread": 2**33,
            "Collective name": "c",
            "Group size": 2**50,
            "dtype": "Float",
            "In msg nelems": 2**62,
        },
    )
    devices = [
        {"id": 2**40, "name": "d"},
        {"id": 0, "name": "H", "numSms": 2**40, "computeMajor": 9},
    ]
    capture = read(
        write(tmp_path / "t.json", [odd, kernel("good", 2, 1, 2)], deviceProperties=devices)
    )
    wanted = ("name", "device_id", "grid_x", "block_x", "registers_per_thread")
    assert rows(capture, "kernels", *wanted) == [
        ("odd", -1, None, None, None),
        ("good", 0, None, None, None),
    ]
    assert rows(capture, "collectives", "name", "group_size", "size_in_bytes") == [
        ("c", None, None)
    ]
    assert rows(capture, "devices", "device_id", "sm_count", "compute_capability") == [
        (0, None, None),
        (-1, None, None),
    ]


def test_duplicate_ids_and_unsorted_events(tmp_path: Path) -> None:
    events = [
        kernel("k", 9, 1, 5),
        kernel("k", 9, 1, 5),
        span("late", 6, 1, args={"External id": 1}),
        call("cudaLaunchKernel", 2, 1, 5),
        span("early", 1, 4, args={"External id": 1}),
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "spans", "name", "span_id", "external_id") == [
        ("early", 0, 1),
        ("late", 1, 1),
    ]
    assert rows(capture, "kernels", "kernel_id", "api_call_id", "span_id") == [(0, 0, 0), (1, 0, 0)]


def test_a_damaged_last_event_does_not_hide_the_end(tmp_path: Path) -> None:
    for event in (op("a]}, b", ', "args": {"x": nan}'), op('a "b] c'), op('a "b}], c"')):
        path = write(
            tmp_path / "t.json",
            f'{{"traceEvents": [{FIRST}, {event}], "baseTimeNanoseconds": 1000}}',
        )
        capture = read(path)
        assert rows(capture, "spans", "name", "start_ns")[0] == ("first", 2000)


def test_thousands_of_damaged_events_take_linear_time(tmp_path: Path) -> None:
    n = 4000
    bad = '{"ph": "X", "cat": "cpu_op", "name": "lost", "args": {"x": [1, {"name": 2}, {"name": 3'
    path = write(tmp_path / "t.json", around(*[bad, op("kept")] * n))
    capture = read(path)
    assert capture.tables["spans"].filter(pl.col("name") == "kept").height == n
    assert codes(capture)["event_damaged"] == n


@pytest.mark.parametrize("content", every(3, [b"x", b'"\\"', b"{}}", b"  ", b'{"name": [', b'\\"']))
def test_megabytes_without_an_event_take_linear_time(tmp_path: Path, content: bytes) -> None:
    megabytes = content * (3_000_000 // len(content))
    capture = read(
        write(tmp_path / "t.json", b'{"traceEvents": [' + FIRST.encode() + b"," + megabytes)
    )
    assert rows(capture, "spans", "name") == [("first",)]
    assert not capture.complete


@pytest.mark.parametrize("place", [b'"Input Dims": [1]', b'"Input type": ["float"]'])
def test_bytes_that_are_no_text_in_shapes_cost_only_the_shapes(
    tmp_path: Path, place: bytes
) -> None:
    whole = op("op", ', "args": {"Input Dims": [1], "Input type": ["float"]}').encode()
    path = write(
        tmp_path / "t.json", around(whole.replace(place, place.replace(b"]", b', "\xff"]')))
    )
    assert names(path) == ["first", "op", "last"]


def test_a_time_that_is_no_text_costs_the_event(tmp_path: Path) -> None:
    event = op("op").encode().replace(b'"ts": ', b'"ts": "\xff", "was": ')
    capture = read(write(tmp_path / "t.json", around(event)))
    assert rows(capture, "spans", "name") == [("first",), ("last",)]
    assert codes(capture)["event_without_time"] == 1


# --- whatever bytes ---

SEED = around(
    op("a", ', "args": {"External id": 1, "Input Dims": [[1]]}'), json.dumps(kernel("k", 2, 1, 1))
)


@settings(max_examples=examples(80), deadline=30_000)
@given(st.binary(max_size=300))
def test_any_bytes_give_a_trace_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    for start in (
        b"",
        b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", ',
        b"[{",
        b"\x1f\x8b\x08\x00",
    ):
        path.write_bytes(start + content)
        try:
            collect(path, kind="torch")
        except TracelensError:
            continue


@settings(max_examples=examples(60), deadline=30_000)
@given(
    st.lists(
        st.tuples(st.integers(0, len(SEED)), st.integers(0, 12), st.binary(max_size=6)), max_size=4
    )
)
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
