"""A trace cut short anywhere, plain or gzip, keeps every whole event before the cut."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import examples
from tests.fast_and_slow import Pieces
from tests.torch_files import codes, read, span, write
from tracelens.collectors.torch.reading import read_documents, read_either, read_plainly

SAMPLES = Path(__file__).parents[1] / "samples" / "torch"


def cuts(content: bytes, n: int) -> list[int]:
    """Places to cut at, after the first few events; always the same ones."""
    return sorted(random.Random(20240517).sample(range(len(content) // 50, len(content) - 1), n))  # noqa: S311


def whole_events(content: bytes) -> list[dict[str, Any]]:
    """Return the events that end within the content. They are found by json alone."""
    text = content.decode("utf-8", "ignore")
    at = text.index("[", text.index('"traceEvents"')) + 1
    decoder = json.JSONDecoder()
    events: list[dict[str, Any]] = []
    while True:
        while at < len(text) and text[at] in ", \n\r\t":
            at += 1
        try:
            event, at = decoder.raw_decode(text, at)
        except ValueError:
            return events
        events.append(event)


def n_read(path: Path) -> tuple[int, bool, dict[str, int]]:
    """Return complete events that were placed or counted, whether the trace is complete, notes.

    The notes are diagnostics.
    """
    capture = read(path)
    counted = codes(capture)
    tables = ("spans", "api_calls", "kernels", "memcpys", "memsets", "synchronizations")
    n = sum(capture.tables[name].height for name in tables if name in capture.tables)
    n += sum(
        count
        for code, count in counted.items()
        if code.startswith("category_") and "(ph" not in code
    )
    return n, capture.complete, counted


def completes(events: list[dict[str, Any]]) -> int:
    return sum(event["ph"] == "X" for event in events)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("alexnet_eager", examples(30)),
        pytest.param("resnet50_train_f32_pinned", examples(5), marks=pytest.mark.exhaustive),
    ],
)
def test_a_real_trace_cut_anywhere_keeps_its_whole_events(
    tmp_path: Path, name: str, n: int
) -> None:
    content = gzip.decompress((SAMPLES / f"{name}.pt.trace.json.gz").read_bytes())
    intact = json.loads(content)["traceEvents"]
    for cut in cuts(content, n):
        n_kept, complete, counted = n_read(write(tmp_path / "cut.json", content[:cut]))
        whole = whole_events(content[:cut])
        assert whole == intact[: len(whole)]
        assert n_kept == completes(whole), cut
        assert not complete
        assert counted["trace_cut"] == 1


def test_a_gzip_stream_cut_or_damaged_anywhere(tmp_path: Path) -> None:
    packed = (SAMPLES / "alexnet_eager.pt.trace.json.gz").read_bytes()
    intact = json.loads(gzip.decompress(packed))["traceEvents"]
    path = tmp_path / "cut.json.gz"
    for cut in cuts(packed, examples(20)):
        path.write_bytes(packed[:cut])
        with gzip.open(path) as stream:
            content = b""
            try:
                while piece := stream.read1(1):
                    content += piece + stream.read1(100_000)
            except EOFError:
                pass
        n, complete, counted = n_read(path)
        whole = whole_events(content)
        assert whole == intact[: len(whole)]
        assert n >= completes(whole) > 0, cut
        assert not complete
        assert (counted["trace_cut"], counted["gzip_truncated"]) == (1, 1)
    path.write_bytes(packed[:-8] + bytes(8))
    n, complete, counted = n_read(path)
    assert n == completes(intact)
    assert (complete, counted["gzip_damaged"]) == (False, 1)


def test_a_cut_at_every_byte(tmp_path: Path) -> None:
    events = [span("a", 1, 1), span("b", 2, 1, args={"External id": 1, "l": [{"name": 1}]})]
    content = json.dumps(
        {"baseTimeNanoseconds": 1000, "traceEvents": events, "traceName": "x"}
    ).encode()
    ends = [content.index(json.dumps(event).encode()) + len(json.dumps(event)) for event in events]
    inside = {
        cut
        for event, end in zip(events, ends, strict=True)
        for cut in range(end - len(json.dumps(event)) + 1, end)
    }
    for cut in range(ends[0], len(content)):
        n_whole = len(whole_events(content[:cut]))
        for reader in (read_either, read_plainly):
            source = Pieces(content[:cut], cut)
            ((found, said),) = read_documents(source, source.diagnostics, reader)
            assert found.frames["spans"].height == n_whole, content[:cut]
            assert not found.complete
            # Only a cut inside an event loses one.
            assert (("loss", "event_cut") in said.counts) == (cut in inside)
    for cut in (
        ends[0],
        ends[1] - 1,
        ends[1],
        len(content) - 1,
    ):  # what comes after the text is the same for each
        capture = read(write(tmp_path / "t.json", content[:cut]))
        assert capture.tables["spans"].height == len(whole_events(content[:cut])), content[:cut]
        assert capture.tables["spans"]["start_ns"][0] == 2000
        assert not capture.complete
        assert codes(capture)["trace_cut"] == 1


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
