"""What is no trace, holds no event or cannot be read gets an error that says what, where and what next."""

import gzip
from pathlib import Path

import pytest

from tests.torch_files import write
from tracelens.collectors import collect
from tracelens.errors import SourceError

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
    path = write(tmp_path / "t.json", "[]")

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
