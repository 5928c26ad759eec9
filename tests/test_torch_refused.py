"""What is no trace, has no event or cannot be read: errors that say what, where and what next."""

import gzip
import json
from pathlib import Path

import pytest

from tests.fast_beside_slow import read_by_both  # noqa: F401 - a fixture of every test here
from tests.torch_files import span, write
from tracelens.cli.app import main
from tracelens.collectors import collect
from tracelens.errors import SourceError
from tracelens.trace import Trace

WORDS = "expected .*found .*"
NO_TRACE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "found an empty file.*export again"),
    "blank": (b" \n\n", "found an empty file.*export again"),
    "text": (b"hello", "found something that is not JSON"),
    "binary": (bytes(range(256)) * 10, "found something that is not JSON"),
    "JSON": (b'{"loss": [1, 2]}', "found JSON without a traceEvents list.*export again"),
    "a list of numbers": (b"[1, 2]", "found JSON without a traceEvents list"),
    "traceEvents of another sort": (
        b'{"traceEvents": null}',
        "found JSON without a traceEvents list",
    ),
    "a list of objects": (
        b'[{"name": "x", "ts": 1, "dur": 2}, {"name": "y"}]',
        "found JSON whose 2 objects are not trace",
    ),
    "traceEvents of objects": (
        b'{"traceEvents": [{"cat": "kernel", "name": "x"}]}',
        "whose 1 objects are not trace",
    ),
    "execution trace": (
        (
            b'{"schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": "2024", "start_ts": 1, "nodes":'
            b' [{"id": 1}]}'
        ),
        (
            "found an ExecutionTraceObserver file; collect the trace that prof.export_chrome_trace"
            " wrote"
        ),
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


def test_metadata_alone_is_a_trace(tmp_path: Path) -> None:
    """A rank that recorded only the names of its threads."""
    named = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
    assert not collect(write(tmp_path / "t.json", [named])).has("spans")


@pytest.mark.parametrize("content", ['{"traceEvents": []}', "[]", '{"traceEvents": ['])
def test_a_trace_without_events(tmp_path: Path, content: str) -> None:
    with pytest.raises(SourceError, match=r"t\.json: .*no events.*profile at least one step"):
        collect(write(tmp_path / "t.json", content), kind="torch")


@pytest.mark.parametrize(
    "content", ['{"traceEvents": [{"ph": "X", ', '{"traceEvents": [{"ph": X"}]}', "[{]"]
)
def test_a_trace_without_a_whole_event(tmp_path: Path, content: str) -> None:
    with pytest.raises(
        SourceError, match=r"t\.json: no event of the trace is whole; export it again"
    ):
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


@pytest.mark.parametrize("kind", [None, "torch"])
def test_other_files_of_a_folder_are_skipped_and_said(tmp_path: Path, kind: str | None) -> None:
    write(tmp_path / "rank0.json", [span("aten::relu", 1, 1)])
    write(tmp_path / "config.json", '{"layers": 12}')
    write(tmp_path / "list.json", '[{"name": "x"}]')
    trace = collect(tmp_path, kind=kind)
    assert trace.spans["name"].to_list() == ["aten::relu"]
    (said,) = (
        trace.diagnostics.filter(code="file_skipped").select("severity", "count", "text").rows()
    )
    assert said == (
        "warning",
        2,
        "files of the folder that are not traces were skipped: config.json, list.json",
    )
    with pytest.raises(
        SourceError, match=r"config\.json: expected .*found JSON without a traceEvents list"
    ):
        collect(tmp_path / "config.json", kind=kind)


@pytest.mark.parametrize("command", ["torch", "files"])
def test_damaged_gzip_in_a_folder_costs_its_rank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Rank 1's bytes after gzip's own head are noise.

    The rest is written, and says that it is not all.
    """
    folder, out = tmp_path / "run", tmp_path / "o.tracelens"
    folder.mkdir()
    write(folder / "rank0.json", [span("aten::relu", 1, 1)])
    (folder / "rank1.json.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff" * 50)
    with pytest.raises(SystemExit) as ended:
        main(["collect", command, str(folder), "--out", str(out)])
    assert ended.value.code == 1
    missing = "sources that could not be read, whose ranks are missing: rank1.json.gz"
    error = capsys.readouterr().err
    assert f"warning: {missing}\n" in error
    assert "rank1.json.gz: is damaged gzip, of which nothing can be read; write it again" in error
    trace = Trace.open(out)
    assert (trace.spans["name"].to_list(), trace.manifest.complete) == (["aten::relu"], False)
    assert trace.diagnostics.filter(code="source_unread").select("severity", "text").rows() == [
        ("loss", missing)
    ]


@pytest.mark.parametrize("kind", [None, "torch"])
def test_a_folder_with_nothing_that_is_a_trace(tmp_path: Path, kind: str | None) -> None:
    write(tmp_path / "config.json", '{"layers": 12}')
    with pytest.raises(SourceError, match="a directory with nothing to collect"):
        collect(tmp_path, kind=kind)


@pytest.mark.parametrize(
    "words", [["report", "--section", "data_quality"], ["collect", "torch", "--out", "o.tracelens"]]
)
def test_a_skipped_file_is_warned_of(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    write(folder / "rank0.json", [span("aten::relu", 1, 1)])
    write(folder / "config.json", "{}")
    with pytest.raises(SystemExit) as ended:
        main([*words, str(folder)])
    assert ended.value.code == 0
    assert (
        "warning: files of the folder that are not traces were skipped: config.json"
        in capsys.readouterr().err
    )


def test_objects_that_are_no_events_end_the_reading_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracelens.collectors.torch.columns._MOST_WITHOUT_PHASE", 100)
    trace = tmp_path / "trace.json.gz"
    trace.write_bytes(gzip.compress(b'{"traceEvents": [' + b"{}," * 40_000 + b"{}]}"))
    with pytest.raises(SourceError, match=r"found JSON whose first 100 objects are not trace"):
        collect(trace)


def test_an_event_among_other_objects_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracelens.collectors.torch.columns._MOST_WITHOUT_PHASE", 100)
    event = json.dumps(span("op", 1, 2)).encode()
    trace = tmp_path / "trace.json"
    trace.write_bytes(b'{"traceEvents": [' + event + b"," + b"{}," * 300 + event + b"]}")
    assert collect(trace).spans["name"].to_list() == ["op", "op"]
