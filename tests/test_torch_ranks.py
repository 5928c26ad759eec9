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


HOUR_US = 3_600 * 10**6
EPOCH_US = 1_700_000_000 * 10**6


def rank_file(folder: Path, name: str, hours: float, **facts: object) -> Path:
    """A trace of one op of half an hour, that began so many hours after a moment of 2023."""
    return write(folder / name, [span(name, EPOCH_US + int(hours * HOUR_US), HOUR_US / 2)], **facts)


@pytest.mark.parametrize(
    ("of_one", "of_other", "why"),
    [
        ({"distributedInfo": {"rank": 0, "world_size": 2}}, {"distributedInfo": {"rank": 1, "world_size": 8}},
         "one is of 2 ranks, the other of 8"),
        ({"distributedInfo": {"rank": 0, "world_size": 1}}, {}, r"a\.json is of 1 ranks, and 2 were given"),
    ],
)  # fmt: skip
def test_numbers_of_ranks_that_contradict_are_refused(
    tmp_path: Path, of_one: dict[str, object], of_other: dict[str, object], why: str
) -> None:
    files = [rank_file(tmp_path, "a.json", 0, **of_one), rank_file(tmp_path, "b.json", 0, **of_other)]
    with pytest.raises(SourceError, match=rf"a\.json and b\.json are not ranks of one program: {why}.*--rank once"):
        collect(files)
    assert collect(files, ranks=[0, 1]).manifest.ranks == [0, 1]


def test_programs_that_ran_hours_apart_are_refused(tmp_path: Path) -> None:
    """The second begins 2.5 hours after the first, which lasts half an hour."""
    files = [rank_file(tmp_path, "b.json", 2.5), rank_file(tmp_path, "a.json", 0)]
    with pytest.raises(SourceError, match=r"a\.json and b\.json are not ranks .* began 2\.0 hours after the first"):
        collect(files)
    assert collect(files, ranks=[0, 1]).manifest.ranks == [0, 1]


def test_ranks_that_say_so_may_lie_apart_with_a_warning(tmp_path: Path) -> None:
    two = [{"distributedInfo": {"rank": rank, "world_size": 2}} for rank in (0, 1)]
    trace = collect([rank_file(tmp_path, "a.json", 0, **two[0]), rank_file(tmp_path, "b.json", 2.5, **two[1])])
    assert trace.diagnostics.select("rank", "severity", "code").rows() == [(1, "warning", "ranks_apart")]


@pytest.mark.parametrize(("hours", "codes"), [(0.25, ["rank_assumed"]), (0.75, ["rank_assumed", "ranks_apart"])])
def test_files_that_do_not_say_are_warned_of_unless_they_ran_together(
    tmp_path: Path, hours: float, codes: list[str]
) -> None:
    trace = collect([rank_file(tmp_path, "a.json", 0), rank_file(tmp_path, "b.json", hours)])
    assert trace.diagnostics.filter(rank=1)["code"].to_list() == codes


def test_traces_that_stand_in_one_file_stay_ranks(tmp_path: Path) -> None:
    texts = [rank_file(tmp_path, "part.json", hours).read_text() for hours in (0, 2.5)]
    trace = collect(write(tmp_path / "t.json", "".join(texts)))
    assert trace.manifest.ranks == [0, 1]
    assert "ranks_apart" in trace.diagnostics["code"].to_list()
