"""Which rank a trace is of: by itself, its file's name, its place among the files, or the user."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.torch_files import codes, kernel, rows, span, write
from tracelens.cli.app import main
from tracelens.collectors import collect
from tracelens.errors import SourceError, UsageError
from tracelens.report import build_report
from tracelens.trace import Trace


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
    first, second = (
        write(tmp_path / f"{name}.json", [span(name, 1, 1)]) for name in ("first", "second")
    )
    trace = collect(named)
    assert [(s["rank"], s["rank_origin"]) for s in trace.manifest.sources] == [(1, "file name")]
    trace = collect([first, named, second])
    assert sorted(rows(trace, "spans", "rank", "name")) == [
        (0, "first"),
        (1, "named"),
        (2, "second"),
    ]
    trace = collect([first, named, second], ranks=[5, 4, 3])
    assert sorted(rows(trace, "spans", "rank", "name")) == [
        (3, "second"),
        (4, "named"),
        (5, "first"),
    ]
    with pytest.raises(UsageError, match="3 sources"):
        collect([first, named, second], ranks=[5, 4])
    with pytest.raises(UsageError, match="from 0 on"):
        collect([first], ranks=[-1])


def test_two_files_of_one_rank(tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"{n}.json", [span(n, 1, 1)], distributedInfo={"rank": 0}) for n in "ab"
    ]
    with pytest.raises(
        SourceError, match=r"b\.json and a\.json both claim rank 0 \(distributedInfo\).*--rank"
    ):
        collect(files)
    assert collect(files, ranks=[0, 1]).manifest.ranks == [0, 1]


HOUR_US = 3_600 * 10**6
EPOCH_US = 1_700_000_000 * 10**6


def rank_file(folder: Path, name: str, hours: float, **facts: object) -> Path:
    """A trace of one op of half an hour. It began so many hours after a moment of 2023.

    Files whose names begin with the same letter are of one process.
    """
    op = span(name, EPOCH_US + int(hours * HOUR_US), HOUR_US / 2, pid=ord(name[0]))
    return write(folder / name, [op], **facts)


@pytest.mark.parametrize(
    ("of_one", "of_other", "why"),
    [
        (
            {"distributedInfo": {"rank": 0, "world_size": 2}},
            {"distributedInfo": {"rank": 1, "world_size": 8}},
            "one is of 2 ranks, the other of 8",
        ),
        (
            {"distributedInfo": {"rank": 0, "world_size": 1}},
            {},
            r"a\.json is of 1 ranks, and 2 were given",
        ),
    ],
)
def test_numbers_of_ranks_that_contradict_are_refused(
    tmp_path: Path, of_one: dict[str, object], of_other: dict[str, object], why: str
) -> None:
    files = [
        rank_file(tmp_path, "a.json", 0, **of_one),
        rank_file(tmp_path, "b.json", 0, **of_other),
    ]
    with pytest.raises(
        SourceError, match=rf"a\.json and b\.json are not ranks of one program: {why}.*--force-mix"
    ):
        collect(files)
    assert collect(files, ranks=[0, 1]).manifest.ranks == [0, 1]


def test_programs_that_ran_hours_apart_are_refused(tmp_path: Path) -> None:
    """The second begins 2.5 hours after the first, which lasts half an hour."""
    files = [rank_file(tmp_path, "b.json", 2.5), rank_file(tmp_path, "a.json", 0)]
    with pytest.raises(
        SourceError, match=r"a\.json and b\.json are not ranks .* began 2\.0 hours after the first"
    ):
        collect(files)
    assert collect(files, ranks=[0, 1]).manifest.ranks == [0, 1]


def test_ranks_that_say_so_may_lie_apart_with_a_warning(tmp_path: Path) -> None:
    two = [{"distributedInfo": {"rank": rank, "world_size": 2}} for rank in (0, 1)]
    trace = collect(
        [rank_file(tmp_path, "a.json", 0, **two[0]), rank_file(tmp_path, "b.json", 2.5, **two[1])]
    )
    assert trace.diagnostics.select("rank", "severity", "code").rows() == [
        (1, "warning", "ranks_apart")
    ]


@pytest.mark.parametrize(
    ("hours", "codes"), [(0.25, ["rank_assumed"]), (0.75, ["rank_assumed", "ranks_apart"])]
)
def test_files_apart_in_time_are_warned_of(tmp_path: Path, hours: float, codes: list[str]) -> None:
    trace = collect([rank_file(tmp_path, "a.json", 0), rank_file(tmp_path, "b.json", hours)])
    assert trace.diagnostics.filter(rank=1)["code"].to_list() == codes


def test_two_windows_of_one_process_are_not_two_ranks(tmp_path: Path) -> None:
    files = [rank_file(tmp_path, "a1.json", 0), rank_file(tmp_path, "a2.json", 0.75)]
    with pytest.raises(SourceError, match=r"two windows of one process.*collect each into a trace"):
        collect(files)
    assert collect(files, force_mix=True).manifest.ranks == [0, 1]


def test_traces_that_stand_in_one_file_stay_ranks(tmp_path: Path) -> None:
    texts = [rank_file(tmp_path, "part.json", hours).read_text() for hours in (0, 2.5)]
    trace = collect(write(tmp_path / "t.json", "".join(texts)))
    assert trace.manifest.ranks == [0, 1]
    assert "ranks_apart" in trace.diagnostics["code"].to_list()


NCCL = {
    "Collective name": "allreduce",
    "In msg nelems": 256,
    "Out msg nelems": 256,
    "Group size": 2,
    "dtype": "Float",
    "Process Group Name": "0",
    "Process Group Description": "default_pg",
}


def job_file(
    folder: Path,
    rank: int,
    size: int | None = 2,
    *,
    name: str = "",
    ahead_us: float = 0,
    **told: Any,
) -> Path:
    """A rank's trace with five all-reduces, 1 ms apart, each 10 µs for the last one to begin it.

    Rank 1 is 5 µs late in the even ones, the others in the odd ones. `told` are keys of its
    collectives and facts.
    """
    facts = {
        key: told.pop(key) for key in ("host_name", "pg_config", "deviceProperties") if key in told
    }
    info = {"rank": rank} | ({} if size is None else {"world_size": size})
    info |= {"pg_config": facts.pop("pg_config")} if "pg_config" in facts else {}
    events = []
    for at in range(int(str(told.pop("n", 5)))):
        late = 5 * ((rank == 1) == (at % 2 == 0))
        events.append(
            kernel(
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                EPOCH_US + ahead_us + 1000 * at + late,
                15 - late,
                at,
            )
        )
        events[-1]["args"] = {
            **events[-1]["args"],
            "device": told.get("device", rank),
            **NCCL,
            "Seq": at + 1,
            **told,
        }
    events = events or [kernel("gemm", EPOCH_US + ahead_us, 1, 1)]
    return write(folder / (name or f"{rank}.json"), events, distributedInfo=info, **facts)


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[object, str]:
    """Return a command's exit code and its standard error, without the line on what it wrote."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    said = capsys.readouterr().err.splitlines()
    return ended.value.code, "\n".join(
        line for line in said if not line.startswith(("wrote ", "next: ")) and "devices" not in line
    )


def column(trace: Trace, name: str) -> list[object]:
    """A column of the table `ranks`, by rank."""
    return trace.ranks.sort("rank")[name].to_list()


def test_a_clock_an_hour_ahead_is_estimated(tmp_path: Path) -> None:
    """Each ends 10 µs after its last start, so its bounds are 10 µs to both sides."""
    for size in (2, None):
        files = [job_file(tmp_path, 0, size), job_file(tmp_path, 1, size, ahead_us=HOUR_US)]
        trace = collect(files)
        assert column(trace, "clock_offset_ns") == [0, 3_600 * 10**9]
        assert 10_000 <= trace.ranks["clock_uncertainty_ns"][1] <= 11_000
        assert codes(trace)["clock_apart"] == 1
        assert "ranks_apart" not in codes(trace)
        clocks = trace.manifest.clocks
        assert clocks["basis"] == "estimated"
        assert clocks["ranks"]["1"]["offset_ns"] == 3_600 * 10**9
    written = trace.write(tmp_path / "run.tracelens")
    assert written.manifest.clocks == clocks
    assert column(written, "clock_offset_ns") == [0, 3_600 * 10**9]


def test_another_runs_rank_an_hour_later_is_refused(tmp_path: Path) -> None:
    """Its collectives are twice as far apart: no clock runs that fast."""
    other = job_file(tmp_path, 1, ahead_us=HOUR_US)
    content = json.loads(other.read_text())
    for at, event in enumerate(content["traceEvents"]):
        event["ts"] += 2_000 * at
    other.write_text(json.dumps(content))
    files = [job_file(tmp_path, 0), other]
    with pytest.raises(
        SourceError, match=r"not ranks of one program: rank 1's .* 1\.0 hours later.*--force-mix"
    ):
        collect(files)
    trace = collect(files, force_mix=True)
    assert codes(trace)["forced_mix"] == 1
    assert "ranks_apart" in codes(trace)


@pytest.mark.parametrize(
    ("given", "size", "said"),
    [
        ((0, 1, 5), 8, "ranks 2 to 4, 6 to 7 of 8 were not given: waiting for them is not known"),
        ((0, 2), 3, "rank 1 of 3 was not given: waiting for it is not known"),
    ],
)
def test_ranks_that_were_not_given_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[int, ...], size: int, said: str
) -> None:
    files = [job_file(tmp_path, rank, size) for rank in given]
    assert command(capsys, "collect", "files", *files, "--out", tmp_path / "t.tracelens") == (
        0,
        f"warning: {said}",
    )


def test_a_rank_without_collectives_is_named(tmp_path: Path) -> None:
    trace = collect(
        [job_file(tmp_path, 0, 3), job_file(tmp_path, 1, 3), job_file(tmp_path, 2, 3, n=0)]
    )
    (row,) = trace.diagnostics.filter(code="no_collectives").select("rank", "text").rows()
    assert row == (
        2,
        "no collective of this rank is matched with another rank's: it is not compared with them",
    )


GROUPS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "sizes": ({}, {"size": 8}, "one is of 2 ranks, the other of 8"),
    "rank": ({}, {"size": 2, "rank": 2}, "b.json says that it is rank 2 of 2, counted from 0"),
    "groups": (
        {"size": 3, "pg_config": [{"pg_name": "1", "ranks": [0, 1]}]},
        {"size": 3, "pg_config": [{"pg_name": "1", "ranks": [1, 2]}]},
        "process group 1 has ranks 0, 1 in one, ranks 1, 2 in the other",
    ),
    "sequences": (
        {},
        {"In msg nelems": 99},
        "rank 1 issued allreduce Float of 396 to 1024 bytes where others issued allreduce",
    ),
}


@pytest.mark.parametrize("case", GROUPS)
def test_contradicting_ranks_are_refused_unless_forced(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_one, of_other, why = GROUPS[case]
    files = [
        job_file(tmp_path, int(str(own.pop("rank", rank))), name=name, **own)
        for rank, name, own in ((0, "a.json", {**of_one}), (1, "b.json", {**of_other}))
    ]
    target = tmp_path / "t.tracelens"
    code, said = command(capsys, "collect", "files", *files, "--out", target)
    assert code == 1
    assert "not ranks of one program" in said
    assert why in said
    assert said.endswith("add --force-mix (from Python force_mix=True)")
    assert "\n" not in said
    assert not target.exists()
    code, said = command(capsys, "collect", "files", *files, "--out", target, "--force-mix")
    assert code == 0
    assert f"put together nevertheless: {why}" in said
    (section,) = build_report(Trace.open(target), names=["data_quality"]).sections
    assert any(why in text for text in section.frame.filter(check="forced_mix")["text"])


def test_a_job_of_contradicting_ranks_can_be_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("obstore")
    files = [job_file(tmp_path, 0, name="a.json"), job_file(tmp_path, 1, name="b.json", size=8)]
    words = ["collect", "files", *files, "--out", tmp_path / "t.tracelens", "--min-ranks", "2"]
    code, said = command(capsys, *words)
    assert code == 1
    assert "one is of 2 ranks, the other of 8" in said
    code, said = command(capsys, *words, "--force-mix")
    assert code == 0
    assert Trace.open(tmp_path / "t.tracelens").manifest.ranks == [0, 1]


def test_groups_that_share_ranks_under_other_names_are_sound(tmp_path: Path) -> None:
    """Rank 1 is in both: tensor parallel with 0, data parallel with 2.

    Groups without shared ranks may share a name.
    """
    groups = {
        0: [("tp", [0, 1]), ("x", [0])],
        1: [("tp", [0, 1]), ("dp", [1, 2]), ("x", [1])],
        2: [("dp", [1, 2])],
    }
    files = []
    for rank, own in groups.items():
        config = [
            {"pg_name": name, "pg_desc": f"mesh_{name}", "ranks": ranks} for name, ranks in own
        ]
        files.append(job_file(tmp_path, rank, 3, pg_config=config))
    trace = collect(files)
    assert column(trace, "tp") == [0, 1, None]
    assert column(trace, "dp") == [None, 0, 1]
    assert column(trace, "world_size") == [3, 3, 3]
    assert "forced_mix" not in codes(trace)


EIGHT = [{"id": at, "name": "NVIDIA H200"} for at in range(2)]


@pytest.mark.parametrize(
    ("told", "nodes"),
    [
        ([{"host_name": "box"}, {"host_name": "box"}], [0, 0]),
        ([{"host_name": "box"}, {"host_name": "other"}], [0, 1]),
        ([{"host_name": "box"}, {}], [None, None]),
        ([{"name": "box_7.1.pt.trace.json"}, {"name": "box_8.2.pt.trace.json"}], [0, 0]),
        ([{"name": "box_7.1.pt.trace.json"}, {"name": "fox_8.2.pt.trace.json"}], [0, 1]),
        ([{"name": "node3_a.json"}, {"name": "node-1.json"}], [3, 1]),
        (
            [{"deviceProperties": EIGHT, "device": 0}, {"deviceProperties": EIGHT, "device": 1}],
            [0, 0],
        ),
        (
            [{"deviceProperties": EIGHT, "device": 1}, {"deviceProperties": EIGHT, "device": 0}],
            [None, None],
        ),
        (
            [
                {"deviceProperties": EIGHT[:1], "device": 0},
                {"deviceProperties": EIGHT[:1], "device": 0},
            ],
            [None, None],
        ),
    ],
)
def test_hosts_are_numbered_and_never_named(
    tmp_path: Path, told: list[dict[str, Any]], nodes: list[object]
) -> None:
    trace = collect([job_file(tmp_path, rank, **own) for rank, own in enumerate(told)])
    assert column(trace, "node") == nodes
    assert trace.manifest.clocks["basis"] == (
        "assumed" if None in nodes else "one host" if len({*nodes}) == 1 else "estimated"
    )
    written = trace.write(tmp_path / "run.tracelens").path
    assert written is not None
    if any("host_name" in own for own in told):
        assert not [
            file for file in written.rglob("*") if file.is_file() and b"box" in file.read_bytes()
        ]


def test_launchers_fill_host_after_host(tmp_path: Path) -> None:
    files = [
        job_file(tmp_path, rank, 4, device=rank % 2, deviceProperties=EIGHT) for rank in range(4)
    ]
    assert column(collect(files), "node") == [0, 0, 1, 1]


def test_places_in_names_of_files(tmp_path: Path) -> None:
    """The names are those of SGLang's and vLLM's traces. `dcp` does not count as cp."""
    names = ("9-TP-0-DP-1.trace.json", "dp0_pp3_tp1_dcp7_ep2_rank1.json")
    trace = collect([job_file(tmp_path, rank, name=name) for rank, name in enumerate(names)])
    assert trace.ranks.sort("rank").select("tp", "dp", "pp", "ep", "cp").rows() == [
        (0, 1, None, None, None),
        (1, 0, 3, 2, None),
    ]
