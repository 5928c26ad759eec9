"""Which rank a trace is of: told by itself, by its file's name, by its place among the files, or by the user."""

from pathlib import Path

import pytest

from tests.torch_files import rows, span, write
from tracelens.collectors import collect
from tracelens.errors import SourceError, UsageError


def test_a_directory_of_ranks(tmp_path: Path) -> None:
    info = {"backend": "nccl", "world_size": 2}
    write(tmp_path / "b.json", [span("of 0", 1, 1)], distributedInfo=info | {"rank": 0})
    write(tmp_path / "a.json.gz", [span("of 1", 1, 1)], distributedInfo=info | {"rank": 1})
    (tmp_path / "notes.txt").write_text("not a trace")
    (tmp_path / "logs").mkdir()
    for kind in (None, "torch"):
        trace = collect(tmp_path, kind=kind)
        assert trace.manifest.ranks == [0, 1]
        assert rows(trace, "spans", "rank", "name", "span_id") == [(1, "of 1", 0), (0, "of 0", 0)]


def test_rank_from_the_file_name_then_from_the_input_order(tmp_path: Path) -> None:
    named = write(tmp_path / "resnet_rank-1.pt.trace.json", [span("named", 1, 1)])
    first, second = (write(tmp_path / f"{name}.json", [span(name, 1, 1)]) for name in ("first", "second"))
    trace = collect(named)
    assert [(s["rank"], s["rank_origin"]) for s in trace.manifest.sources] == [(1, "file name")]
    trace = collect([first, named, second])
    assert sorted(rows(trace, "spans", "rank", "name")) == [(0, "first"), (1, "named"), (2, "second")]
    trace = collect([first, named, second], ranks=[5, 4, 3])
    assert sorted(rows(trace, "spans", "rank", "name")) == [(3, "second"), (4, "named"), (5, "first")]
    with pytest.raises(UsageError, match="3 sources"):
        collect([first, named, second], ranks=[5, 4])
    with pytest.raises(UsageError, match="from 0 on"):
        collect([first], ranks=[-1])


def test_two_files_of_one_rank(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{n}.json", [span(n, 1, 1)], distributedInfo={"rank": 0}) for n in "ab"]
    with pytest.raises(SourceError, match=r"b\.json and a\.json both claim rank 0 \(distributedInfo\).*--rank"):
        collect(files)
    assert collect(files, ranks=[0, 1]).manifest.ranks == [0, 1]
