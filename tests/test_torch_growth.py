"""Shapes that once took the square of their size: ten times the input is ten times the work.

Nothing is timed. Work is what is looked at: bytes that searches and decoders are given, and how
often one of them begins anew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.selection import every
from tests.test_torch_limits import EVENT
from tests.torch_files import write
from tracelens.collectors import torch
from tracelens.collectors.torch import damage, document, events, reading, text
from tracelens.errors import SourceError


class CountedPattern:
    """A pattern that counts the bytes it is led over.

    They go up to each match, or to the end of where it looks.
    """

    def __init__(self, pattern: re.Pattern[bytes], work: Counter[str]) -> None:
        self._pattern, self._work = pattern, work

    def search(self, data: bytes, begin: int = 0, end: int | None = None) -> re.Match[bytes] | None:
        """As of a pattern."""
        self._work["begun"] += 1
        found = self._pattern.search(data, begin, len(data) if end is None else end)
        self._count(begin, found.end() if found else end or len(data))
        return found

    def match(self, data: bytes, begin: int = 0) -> re.Match[bytes] | None:
        """Match like a pattern, and count only the bytes at this place."""
        return self._pattern.match(data, begin)

    def finditer(
        self, data: bytes, begin: int = 0, end: int | None = None
    ) -> Iterator[re.Match[bytes]]:
        """As of a pattern."""
        self._work["begun"] += 1
        done = begin
        for found in self._pattern.finditer(data, begin, len(data) if end is None else end):
            self._count(done, found.end())
            done = found.end()
            yield found
        self._count(done, end or len(data))

    def _count(self, begin: int, end: int) -> None:
        self._work["bytes"] += max(0, end - begin)


def counting(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count from here on."""
    work: Counter[str] = Counter()
    modules: tuple[ModuleType, ...] = (damage, document, events, text)
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                monkeypatch.setattr(module, name, CountedPattern(value, work))

    def counted(module: ModuleType, name: str) -> None:
        """Count the bytes that a decoder is given."""
        decode = getattr(module, name)

        def call(piece: bytes, *more: Any) -> Any:
            work["bytes"] += len(piece)
            work["begun"] += 1
            return decode(piece, *more)

        monkeypatch.setattr(module, name, call)

    counted(document, "decode_whole")
    counted(document, "decode_lines")
    counted(damage, "repaired_event")
    counted(damage, "_SCAN")
    parse = reading._Parser.parse

    def parsed(parser: reading._Parser, text: memoryview) -> reading._Parsed:
        found = parse(parser, text)
        work["bytes"] += found.stopped_at
        work["begun"] += 1
        return found

    monkeypatch.setattr(reading._Parser, "parse", parsed)
    return work


def work_of(content: bytes, folder: Path, *, fast: bool) -> Counter[str]:
    """Return the work of reading the content."""
    with pytest.MonkeyPatch.context() as patch:
        if not fast:
            patch.setattr("tracelens.collectors.torch.reading.read_native", lambda *_: None)
        patch.setattr(
            damage, "_VAIN_BYTES", 0
        )  # this and the next would hide what a small file takes
        patch.setattr(reading, "_MOST_REFUSED", 100)
        patch.setattr(
            document, "LONG", 8 << 10
        )  # of megabytes: what comes after a first look counts
        work = counting(patch)
        try:
            captures = torch.read(write(folder / "t.json", content))
            work["rows"] = sum(
                frame.height for capture in captures for frame in capture.tables.values()
            )
        except SourceError:
            work["rows"] = 0
    return work


MOST = 15
"""How much more work ten times the input may take: beginnings and ends count too.

The square would be 100.
"""
AT_MOST = 200
"""How often a byte is looked at, also beside an end that is tried again after each event."""
HEAD, LAST = b'{"traceEvents": [' + EVENT + b",", EVENT + b"]}"
# Each shape is as many bytes: what it repeats is two or nine of them long.
SHAPES = {
    "empty objects": lambda n: HEAD + b"{}," * n + LAST,
    "empty objects alone": lambda n: b"[" + b"{}," * n,
    "events that begin": lambda n: HEAD + b'{"ph":' * (n // 3) + LAST,
    "events that begin, and no more": lambda n: b"[" + b'{"ph":' * (n // 3),
    "ends of lists": lambda n: HEAD + b'{"ph":]} ,' * (n // 3) + LAST,
}


@pytest.mark.parametrize("fast", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("shape", every(2, SHAPES))
def test_damage_takes_work_in_proportion(tmp_path: Path, shape: str, fast: bool) -> None:
    small, large = (work_of(SHAPES[shape](n), tmp_path, fast=fast) for n in (4_000, 40_000))
    assert small["bytes"] >= len(SHAPES[shape](4_000)) - len(LAST)
    assert all(large[what] <= MOST * small[what] for what in large), (small, large)
    assert large["bytes"] <= AT_MOST * len(SHAPES[shape](40_000)), large


@pytest.mark.parametrize("fast", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_traces_one_after_another_begin_in_proportion(tmp_path: Path, fast: bool) -> None:
    trace = HEAD + (EVENT + b",") * 100 + LAST + b"\n"
    small, large = (work_of(trace * n, tmp_path, fast=fast) for n in (4, 40))
    assert small["rows"] > 400
    assert large["rows"] == 10 * small["rows"]
    assert all(large[what] <= MOST * small[what] for what in large), (small, large)


def test_traces_without_an_event_count_as_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACELENS_MAX_TRACES", "20")
    path = write(tmp_path / "t.json", HEAD + LAST + b"\n" + b"[]\n" * 20)
    with pytest.raises(
        SourceError, match="holds more than 20 traces; set TRACELENS_MAX_TRACES above 20"
    ):
        torch.read(path)
