"""Input made to fill the machine is refused or counted, by limits that the environment raises."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from tests.torch_files import read, rows, span, write
from tracelens.errors import SourceError, UsageError

EVENT = json.dumps(span("first", 1, 1)).encode()


def bomb(tmp_path: Path) -> Path:
    """Two events, and between them 96 MiB of an event that says nothing, in a hundred kilobytes."""
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb", compresslevel=9) as stream:
        stream.write(b'{"traceEvents": [' + EVENT + b",")
        for _ in range(96 * 64):
            stream.write(b'{"ph": "M"},'.rjust(1 << 14))
        stream.write(EVENT.replace(b"first", b"last") + b"]}")
    return path


def test_a_gzip_bomb_is_refused_and_the_limit_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bomb(tmp_path)
    with pytest.raises(SourceError, match=r"bomb\.json\.gz: expected a trace, .*set TRACELENS_MAX_EXPANSION above 200"):
        read(path)
    monkeypatch.setenv("TRACELENS_MAX_EXPANSION", "1100")
    assert rows(read(path), "spans", "name") == [("first",), ("last",)]


def test_a_gzip_bomb_on_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bomb(tmp_path).read_bytes())))
    with pytest.raises(SourceError, match="TRACELENS_MAX_EXPANSION"):
        read(Path("-"))


def test_a_small_file_may_shrink_a_lot(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json.gz", b"[" + b",".join([EVENT] * 10_000) + b"]")
    assert path.stat().st_size * 200 < len(EVENT) * 10_000
    assert len(rows(read(path), "spans", "name")) == 10_000


@pytest.mark.parametrize("said", ["many", "-1", "0", "1e3", "9" * 40])
def test_a_limit_that_is_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("TRACELENS_MAX_EXPANSION", said)
    with pytest.raises(UsageError, match=f"TRACELENS_MAX_EXPANSION='{said}': expected a whole number above 0"):
        read(bomb(tmp_path))
