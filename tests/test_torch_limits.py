"""Input made to fill the machine is refused or counted, by limits that the environment raises."""

import gzip
import io
import json
import sys
import tracemalloc
from pathlib import Path

import polars as pl
import pytest

from tests.selection import every, only
from tests.torch_files import codes, read, rows, span, write
from tracelens.collectors import torch
from tracelens.errors import SourceError, UsageError
from tracelens.native import LIBRARY
from tracelens.storage import limits
from tracelens.trace.capture import Capture

EVENT = json.dumps(span("first", 1, 1)).encode()


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two events, and between them 72 MiB of an event that says nothing.

    It is less than 100 kB on disk.
    """
    path = tmp_path_factory.mktemp("bomb") / "bomb.json.gz"
    with gzip.open(path, "wb", compresslevel=9) as stream:
        stream.write(b'{"traceEvents": [' + EVENT + b",")
        for _ in range(72 * 64):
            stream.write(b'{"ph": "M"},'.rjust(1 << 14))
        stream.write(EVENT.replace(b"first", b"last") + b"]}")
    return path


def test_a_gzip_bomb_is_refused_and_the_limit_can_be_raised(
    bomb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        SourceError,
        match=r"bomb\.json\.gz: expected a trace, .*set TRACELENS_MAX_EXPANSION above 200",
    ):
        read(bomb)
    monkeypatch.setenv("TRACELENS_MAX_EXPANSION", "1100")
    assert rows(read(bomb), "spans", "name") == [("first",), ("last",)]


def test_what_the_memory_holds_many_times_over_is_no_bomb(
    bomb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SHARE_OF_MEMORY", 8)
    monkeypatch.setattr(limits, "memory_bytes", lambda: 1 << 30)
    assert rows(read(bomb), "spans", "name") == [("first",), ("last",)]
    monkeypatch.setattr(limits, "memory_bytes", lambda: 1 << 29)
    with pytest.raises(SourceError, match="TRACELENS_MAX_EXPANSION"):
        read(bomb)


def test_a_gzip_bomb_on_standard_input(bomb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bomb.read_bytes())))
    with pytest.raises(SourceError, match="TRACELENS_MAX_EXPANSION"):
        read(Path("-"))


def test_a_small_file_may_shrink_a_lot(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json.gz", b"[" + b",".join([EVENT] * 10_000) + b"]")
    assert path.stat().st_size * 200 < len(EVENT) * 10_000
    assert len(rows(read(path), "spans", "name")) == 10_000


@pytest.mark.parametrize("said", ["many", "-1", "0", "1e3", "9" * 40])
def test_a_limit_that_is_no_number(bomb: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("TRACELENS_MAX_EXPANSION", said)
    with pytest.raises(
        UsageError, match=f"TRACELENS_MAX_EXPANSION='{said}': expected a whole number above 0"
    ):
        read(bomb)


# --- nesting and length ---

DEEP = 200_000
"""Far above Python's limit, and above the room that recursion has in C."""
LAST = EVENT.replace(b"first", b"last")


def read_either(path: Path, monkeypatch: pytest.MonkeyPatch, *, fast: bool) -> Capture:
    """Read by the compiled kernels, or without them."""
    if fast and LIBRARY is None:
        pytest.skip("the native library was not compiled or is off: both ways would be the same")
    if not fast:
        monkeypatch.setattr("tracelens.collectors.torch.reading.read_native", lambda *_: None)
    return read(path)


@pytest.mark.parametrize("fast", only([True], [True, False]))
@pytest.mark.parametrize("where", every(2, ["args", "name", "between", "unclosed", "objects"]))
def test_absurd_nesting_costs_one_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, fast: bool
) -> None:
    deep = b"[" * DEEP + b"]" * DEEP
    event = EVENT.replace(b"first", b"deep")
    bad = {
        "args": event[:-1] + b', "args": {"x": ' + deep + b"}}",
        "name": event.replace(b'"deep"', deep),
        "between": deep,
        "unclosed": event[:-1] + b', "args": {"x": ' + b"[" * DEEP,
        "objects": event[:-1] + b', "args": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    }[where]
    path = write(tmp_path / "t.json", b"[" + EVENT + b",\n" + bad + b",\n" + LAST + b"]")
    capture = read_either(path, monkeypatch, fast=fast)
    assert rows(capture, "spans", "name") == [("first",), ("last",)]
    losses = {code: n for code, n in codes(capture).items() if code != "trace_cut"}
    assert sum(losses.values()) == 1, losses


@pytest.mark.parametrize("fast", [True, False])
def test_the_limit_of_nesting_can_be_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast: bool
) -> None:
    deep = (
        EVENT[:-1] + b', "args": {"External id": 7, "x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}}"
    )
    path = write(tmp_path / "t.json", b"[" + deep + b",\n" + LAST + b"]")
    capture = read_either(path, monkeypatch, fast=fast)
    assert (rows(capture, "spans", "name"), codes(capture)) == ([("last",)], {"event_too_deep": 1})
    assert "TRACELENS_MAX_NESTING" in capture.diagnostics.texts["loss", "event_too_deep"]
    monkeypatch.setenv("TRACELENS_MAX_NESTING", "30000")
    capture = read_either(path, monkeypatch, fast=fast)
    assert rows(capture, "spans", "name", "external_id") == [("first", 7), ("last", None)]
    assert codes(capture) == {}


def nested(n: int) -> bytes:
    """A trace of so many modules, each called by the one before."""
    events = [
        {
            "ph": "X",
            "cat": "python_function",
            "name": f"nn.Module: M_{i}",
            "ts": i,
            "dur": 10 * n - 2 * i,
            "pid": 1,
            "tid": 1,
            "args": {"Python id": i + 1, "Python parent id": i or None, "Python module id": 0},
        }
        for i in range(n)
    ]
    return json.dumps({"traceEvents": events}).encode()


def test_paths_of_modules_take_no_more_than_in_proportion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACELENS_MAX_MODULES", "20")
    lengths = []
    for n in (200, 2_000):
        (capture,) = torch.read(write(tmp_path / "t.json", nested(n)))
        paths = capture.tables["spans"]["module_path"].cast(pl.String)
        lengths.append(sum(map(len, paths.unique())))
        assert paths[0] == "M_0"
        assert paths[2] == "M_0.M_1.M_2"
        assert paths[n - 1] == paths[19], "what lies deeper counts to the last one above"
        assert codes(capture)["modules_too_deep"] == n - 20
        assert "TRACELENS_MAX_MODULES" in capture.diagnostics.texts["loss", "modules_too_deep"]
    assert lengths[1] <= 10 * lengths[0]


def test_a_file_of_more_traces_than_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t.json", (b"[" + EVENT + b"]\n") * 3)
    assert len(torch.read(path)) == 3
    monkeypatch.setenv("TRACELENS_MAX_TRACES", "2")
    with pytest.raises(
        SourceError, match="holds more than 2 traces; set TRACELENS_MAX_TRACES above 2"
    ):
        torch.read(path)


@pytest.mark.parametrize("fast", only([True], [True, False]))
@pytest.mark.parametrize(
    "filling", every(3, [b"x", b'{"a": 1}, ', b"[1, 2], ", b'"', b" ", b'{"name": '])
)
def test_an_event_that_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filling: bytes, fast: bool
) -> None:
    """A value of 2.5 MiB, where 1 MiB may be held. What stands before and after it is read."""
    monkeypatch.setenv("TRACELENS_MAX_EVENT_MIB", "1")
    long = (
        EVENT[:-1].replace(b"first", b"long")
        + b', "args": {"x": "'
        + filling * (5 * (1 << 19) // len(filling))
    )
    path = write(
        tmp_path / "t.json", b"[" + EVENT + b",\n" + long + b"},\n" + EVENT + b",\n" + LAST + b"]"
    )
    tracemalloc.start()
    capture = read_either(path, monkeypatch, fast=fast)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    found = [name for (name,) in rows(capture, "spans", "name")]
    assert (found[0], found[-1]) == ("first", "last")
    assert sum(n for code, n in codes(capture).items() if code.startswith("event_")) > 0
    assert peak < 19 << 20


@pytest.mark.parametrize("fast", [True, False])
def test_the_limit_of_an_events_size_can_be_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast: bool
) -> None:
    long = EVENT[:-1] + b', "args": {"x": "' + b"x" * (17 << 20) + b'"}}'
    path = write(tmp_path / "t.json", b"[" + long + b",\n" + LAST + b"]")
    capture = read_either(path, monkeypatch, fast=fast)
    assert (rows(capture, "spans", "name"), codes(capture)) == ([("last",)], {"event_too_long": 1})
    assert "TRACELENS_MAX_EVENT_MIB" in capture.diagnostics.texts["loss", "event_too_long"]
    monkeypatch.setenv("TRACELENS_MAX_EVENT_MIB", "20")
    assert rows(read_either(path, monkeypatch, fast=fast), "spans", "name") == [
        ("first",),
        ("last",),
    ]
