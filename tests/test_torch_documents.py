"""Several JSON documents in one file: each is read as its own file; nothing is lost silently."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.selection import only
from tests.torch_files import codes, rows, span, write
from tracelens.collectors import collect, torch
from tracelens.errors import SourceError
from tracelens.trace.capture import Capture

Read = Callable[[Path], list[Capture]]


@pytest.fixture(params=["compiled", "msgspec"])
def read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Read:
    if request.param == "msgspec":
        monkeypatch.setattr("tracelens.collectors.torch.reading.read_native", lambda *_: None)
    return torch.read


def trace(name: str, **facts: Any) -> bytes:
    """A trace of one event, with facts before it and a scalar after it."""
    return json.dumps({**facts, "traceEvents": [span(name, 1, 1)], "traceName": "t.json"}).encode()


BETWEEN = {
    "nothing": b"",
    "a line": b"\n",
    "white space": b" \r\n\t\n ",
    "a record separator": b"\x1e",
    "zeros": b"\0\0",
}


@pytest.mark.parametrize("between", only(["nothing", "a record separator", "zeros"], BETWEEN))
def test_two_traces_one_after_the_other(tmp_path: Path, read: Read, between: str) -> None:
    one = trace("one", baseTimeNanoseconds=1000, distributedInfo={"rank": 3})
    two = trace("two", baseTimeNanoseconds=5000, distributedInfo={"rank": 1}, with_stack=1)
    captures = read(write(tmp_path / "t.json", one + BETWEEN[between] + two))
    # Each on its own base, with its own rank and settings.
    assert [rows(c, "spans", "name", "start_ns") for c in captures] == [
        [("one", 2000)],
        [("two", 6000)],
    ]
    assert [(c.rank, c.complete, "with_stack" in c.settings) for c in captures] == [
        (3, True, False),
        (1, True, True),
    ]
    assert [codes(c) for c in captures] == [{"several_traces": 1}] * 2
    assert [c.source.name for c in captures] == ["t.json (trace 1 of 2)", "t.json (trace 2 of 2)"]


def test_lists_and_objects_in_any_order(tmp_path: Path, read: Read) -> None:
    listed = json.dumps([span("a", 1, 1), span("b", 2, 1)]).encode()
    captures = read(
        write(tmp_path / "t.json", listed + trace("c") + b"\n" + listed + b"[]" + trace("d"))
    )
    assert [[n for (n,) in rows(c, "spans", "name")] for c in captures] == [
        ["a", "b"],
        ["c"],
        ["a", "b"],
        ["d"],
    ]
    assert codes(captures[0]) == {"several_traces": 1, "empty_trace": 1}


def test_ranks_of_a_file_of_traces(tmp_path: Path) -> None:
    path = write(tmp_path / "rank7.json", trace("one") + trace("two"))
    both = collect(path)
    assert rows(both, "spans", "rank", "name") == [(0, "one"), (1, "two")]
    assert codes(both)["rank_assumed"] == 1
    same = write(
        tmp_path / "t.json",
        trace("one", distributedInfo={"rank": 2}) + trace("two", distributedInfo={"rank": 2}),
    )
    with pytest.raises(
        SourceError, match=r"trace 2 of 2.* and t\.json \(trace 1 of 2\) both claim rank 2.*--rank"
    ):
        collect(same)
    assert collect(same, ranks=[0, 1]).manifest.ranks == [0, 1]


def test_members_of_gzip_with_a_trace_each(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(trace("one")) + gzip.compress(trace("two")))
    assert [rows(c, "spans", "name") for c in read(path)] == [[("one",)], [("two",)]]


@pytest.mark.parametrize(
    "after", [b"garbage", b'{"loss": [1, 2]}', b"}", b"]", b'"text"', b'{"traceEvents": 5}']
)
def test_text_after_the_trace_that_is_no_trace(tmp_path: Path, read: Read, after: bytes) -> None:
    (capture,) = read(write(tmp_path / "t.json", trace("one") + b"\n" + after))
    assert rows(capture, "spans", "name") == [("one",)]
    assert codes(capture) == {"text_after_trace": 1}


def test_the_second_of_two_traces_is_cut(tmp_path: Path, read: Read) -> None:
    two = json.dumps({"traceEvents": [span("two", 1, 1), span("cut", 2, 1)]}).encode()
    first, second = read(write(tmp_path / "t.json", trace("one") + two[:-20]))
    assert (first.complete, codes(first)) == (True, {"several_traces": 1})
    assert (second.complete, codes(second)["event_cut"], codes(second)["trace_cut"]) == (
        False,
        1,
        1,
    )
    assert rows(second, "spans", "name") == [("two",)]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_an_event_a_line_without_a_list(tmp_path: Path, read: Read, end: bytes) -> None:
    lines = b"\n".join(json.dumps(span(f"op {i}", i, 1)).encode() for i in range(5000)) + end
    (capture,) = read(write(tmp_path / "t.json", lines))
    assert [name for (name,) in rows(capture, "spans", "name")] == [f"op {i}" for i in range(5000)]
    assert (capture.complete, codes(capture)) == (True, {})
    (capture,) = read(
        write(
            tmp_path / "t.json",
            lines.replace(b'"op 7"', b'"op 7').replace(b'"op 9"', b'"say "op" 9"'),
        )
    )
    assert len(rows(capture, "spans", "name")) == 4999
    assert codes(capture) == {"event_damaged": 1, "event_repaired": 1}
