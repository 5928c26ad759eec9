"""Sources and traces in an object store: moto's, which speaks S3 and refuses to overwrite."""

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import tracelens as tl
from tests.cases import make_trace
from tests.command_line import command_line
from tests.conftest import IN_CI
from tests.killing import EPOCH_US, kill_and_go_on, put, same_tables, seconds_of_one, write_ranks
from tests.object_store import SECRET, make_bucket, object_store
from tests.selection import only
from tests.torch_files import call, kernel, span, write
from tracelens.cli.app import main
from tracelens.errors import SourceError
from tracelens.jobs.job import Job, collect_job, in_turn
from tracelens.jobs.ranks import Options, collect_rank
from tracelens.jobs.target import clean, commit_trace, finished_ranks
from tracelens.jobs.tasks import tasks_of
from tracelens.storage import objects
from tracelens.storage.addresses import url_of
from tracelens.storage.objects import Objects
from tracelens.trace.baselines import add_run, runs_of, with_runs

N_RANKS = 11 if IN_CI else 16  # more than ten, whose names do not sort as numbers do
STEP_TIMES = {"profiled_step_ns": {"mean": 7}, "unprofiled_step_ns": {"median": 5}}


@pytest.fixture(scope="module", autouse=True)
def store() -> Iterator[None]:
    """A store that the environment names, as long as this file's tests run."""
    with object_store() as variables, pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def bucket(request: pytest.FixtureRequest) -> str:
    """A bucket of the test's own."""
    name = request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")[:50]
    return make_bucket(f"{name}-{random.randrange(10**6)}")  # noqa: S311


def contents(url: str) -> dict[str, bytes]:
    """All objects below a URL."""
    return {key: Objects(url).read(key) or b"" for key in sorted(Objects(url).keys())}


def test_a_baseline_in_a_bucket(bucket: str) -> None:
    name = f"{bucket}/baselines/net"
    with pytest.raises(SourceError, match="holds no run"):
        runs_of(name)
    places = [
        add_run(name, make_trace(kernels=[{"name": "k", "duration_ns": ns}])) for ns in (7, 9)
    ]
    assert runs_of(name) == places
    found = with_runs([Path(f"baseline:{name}")])
    assert [tl.open(place).kernels["duration_ns"].to_list() for place in found] == [[7], [9]]


def test_many_ranks_in_a_bucket_are_as_in_a_folder(
    tmp_path: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = write_ranks(tmp_path / "runs", N_RANKS)
    here = tl.collect(runs).write(tmp_path / "run.tracelens")
    put(runs, f"{bucket}/runs")
    target = f"{bucket}/run.tracelens"
    done = command_line(capsys, "collect", "torch", f"{bucket}/runs", "--out", target)
    assert (done.code, done.out) == (0, "")
    assert f"wrote {target}: {N_RANKS} spans, {N_RANKS} api calls, {N_RANKS} kernels\n" in done.err
    there = tl.open(target)
    same_tables(there, here)
    assert there.manifest.ranks == [*range(N_RANKS)]
    assert len({*there.manifest.attempts.values()}) == N_RANKS
    assert there.manifest.as_dict() | {"attempts": {}} == here.manifest.as_dict()
    assert there.heights("kernels") == dict.fromkeys(range(N_RANKS), 1)
    assert there.select("kernels", "duration_ns", rank=3)["duration_ns"].to_list() == [13_000]
    answers = []
    for place in (target, tmp_path / "run.tracelens"):
        asked = "SELECT rank, SUM(duration_ns) AS ns FROM kernels GROUP BY rank ORDER BY rank"
        words = [
            ("report", place, "--section", "top_kernels"),
            ("query", place, asked, "--format", "csv"),
            ("check", place),
        ]
        results = [command_line(capsys, *one) for one in words]
        answers.append([(one.code, one.out) for one in results])
    assert answers[0] == answers[1]
    assert "3,13000" in answers[0][1][1]
    assert all(SECRET.encode() not in content for content in contents(bucket).values())


def test_sources_in_a_bucket_are_read_with_what_lies_beside_them(
    tmp_path: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sidecar of a live capture says the module's exact path.

    Notes of the folder are left out.
    """
    events = [span("nn.Module: Linear_0", EPOCH_US, 50, args={"Python id": 1})]
    write(tmp_path / "rank0.pt.trace.json", events)
    (tmp_path / "rank0.live.json").write_text(json.dumps(STEP_TIMES))
    (tmp_path / "notes.txt").write_text("not a trace")
    put(tmp_path, f"{bucket}/run")
    for source in ("run", "run/rank0.pt.trace.json"):
        told = tl.collect(f"{bucket}/{source}").manifest.sources[0]
        assert (told["name"], told["settings"]["profiled_step_ns"]) == (
            "rank0.pt.trace.json",
            {"mean": 7},
        )
        target = f"{bucket}/of-{len(source)}.tracelens"
        assert (
            command_line(capsys, "collect", "files", f"{bucket}/{source}", "--out", target).code
            == 0
        )
        assert tl.open(target).manifest.sources == [told]
    done = command_line(
        capsys, "collect", "files", f"{bucket}/run", "--out", tmp_path / "here.tracelens"
    )
    assert done.code == 0
    assert tl.open(tmp_path / "here.tracelens").manifest.sources == [told]


def test_a_trace_in_memory_is_written_once_or_replaced(tmp_path: Path, bucket: str) -> None:
    one, other = (
        tl.collect(write(tmp_path / f"{name}.json", [span(name, 1, 1)]))
        for name in ("one", "other")
    )
    target = f"{bucket}/deep/folder/run.tracelens"
    assert one.write(target).spans["name"].to_list() == ["one"]
    with pytest.raises(
        SourceError, match=f"^{target}: exists already; give another --out, or --force"
    ):
        other.write(target)
    assert tl.open(target).spans["name"].to_list() == ["one"]
    assert other.write(target, force=True).spans["name"].to_list() == ["other"]
    assert tl.open(target).name == "run"


@pytest.mark.parametrize("folder", only(["rank=9"], ["step=3", "rank=9"]))
def test_folders_named_as_partitions_are_no_columns(
    folder: str, tmp_path: Path, bucket: str
) -> None:
    trace = tl.collect(write_ranks(tmp_path / "runs", 3)).write(f"{bucket}/{folder}/run.tracelens")
    assert trace.scan("kernels").select("rank", "duration_ns").collect().rows() == [
        (0, 10_000),
        (1, 11_000),
        (2, 12_000),
    ]


# test_engines has a bad file of a job, and a rank that is missing.
@pytest.mark.exhaustive
def test_a_damaged_file_costs_its_rank(
    tmp_path: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = write_ranks(tmp_path / "runs", 4)
    (runs / "rank02.pt.trace.json.gz").write_bytes(b"\x1f\x8b damaged")
    put(runs, f"{bucket}/runs")
    files = [f"{bucket}/runs/rank{rank:02}.pt.trace.json.gz" for rank in range(4)]
    target = f"{bucket}/run.tracelens"
    done = command_line(capsys, "collect", "torch", *files, "--out", target)
    assert done.code == 1
    (error,) = [line for line in done.err.splitlines() if line.startswith("error")]
    assert error.startswith(f"error: {files[2]}: ")
    assert (
        "warning: sources that could not be read, whose ranks are missing:"
        " rank02.pt.trace.json.gz\n" in done.err
    )
    trace = tl.open(target)
    assert (trace.manifest.ranks, trace.manifest.complete) == ([0, 1, 3], False)
    assert trace.manifest.dropped[0]["source"] == "rank02.pt.trace.json.gz"
    assert trace.kernels["duration_ns"].to_list() == [10_000, 11_000, 13_000]
    job = Job(files, f"{bucket}/few.tracelens", "torch", min_ranks=4)
    with pytest.raises(
        SourceError, match=r"3 ranks could be collected, fewer than the 4 of --min-ranks; no trace"
    ):
        collect_job(job, in_turn, print)
    assert "manifest.json" not in contents(job.target)


def test_a_job_into_a_local_folder_that_machines_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same protocol holds: nothing is a trace before its manifest is there.

    Other files of a folder stay.
    """
    runs, target = write_ranks(tmp_path / "runs", 3), tmp_path / "shared" / "run.tracelens"
    whole = tl.collect(runs)
    tasks = tasks_of(runs)
    collect_rank(tasks[1], str(target), Options())
    with pytest.raises(SourceError, match="expected a trace directory with a manifest"):
        tl.open(target)
    trace, _ = collect_job(Job(runs, str(target)), in_turn, print)
    assert capsys.readouterr().out == "1 ranks are there already; 2 of 3 sources are left to read\n"
    same_tables(trace, whole)
    with pytest.raises(SourceError, match="exists already; give another --out"):
        collect_job(Job(runs, str(target)), in_turn, print)
    again, _ = collect_job(Job(runs, str(target), force=True), in_turn, print)
    same_tables(again, whole)
    assert command_line(capsys, "clean", target, "--hours", 0).code == 0
    same_tables(tl.open(target), whole)
    assert {*again.manifest.attempts.values()}.isdisjoint(trace.manifest.attempts.values())
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_text("mine")
    with pytest.raises(SourceError, match="exists and is not a tracelens trace"):
        collect_job(Job(runs, str(tmp_path / "notes"), force=True), in_turn, print)
    assert "no such directory" in refused(capsys, "clean", tmp_path / "absent")


# It depends on the machine's speed what a kill leaves; the tests below leave each of it on purpose.
@pytest.mark.exhaustive
@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
def test_a_killed_collection_goes_on_where_it_ended(
    tmp_path: Path, bucket: str, share: float
) -> None:
    """A reader finds no trace, or the whole one; python -m tests.killing kills 50."""
    runs = put(write_ranks(tmp_path / "runs", 4), f"{bucket}/runs")
    whole = tl.collect(tmp_path / "runs")
    takes_s = seconds_of_one(runs, f"{bucket}/first.tracelens")
    after_s = takes_s * random.uniform(share - 0.1, share + 0.1)  # noqa: S311
    kill_and_go_on(runs, f"{bucket}/run.tracelens", whole, after_s)


@pytest.mark.exhaustive  # test_engines has the second driver write while the first is at work
def test_of_two_drivers_one_wins(tmp_path: Path, bucket: str) -> None:
    runs = put(write_ranks(tmp_path / "runs", 3), f"{bucket}/runs")
    target = f"{bucket}/run.tracelens"
    command = [sys.executable, "-m", "tracelens", "collect", "torch", runs, "--out", target]
    drivers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [driver.communicate()[1] for driver in drivers]
    assert sorted(driver.returncode for driver in drivers) == [0, 1]
    (lost,) = [text for driver, text in zip(drivers, said, strict=True) if driver.returncode]
    assert (
        "another process wrote it meanwhile, and its trace stays" in lost
        or "exists already" in lost
    )
    same_tables(tl.open(target), tl.collect(tmp_path / "runs"))


# test_engines has a driver that writes while another is at work.
@pytest.mark.exhaustive
def test_the_driver_that_ends_second_says_so(tmp_path: Path, bucket: str) -> None:
    """The second driver finds the first one's ranks.

    It starts and ends while the first one is at work.
    """
    runs = put(write_ranks(tmp_path / "runs", 2), f"{bucket}/runs")
    job = Job(runs, f"{bucket}/run.tracelens", "torch")

    def interrupted(tasks: list[object], work: object) -> Iterator[object]:
        results = in_turn(tasks, work)  # type: ignore[arg-type]
        yield next(results)
        collect_job(job, in_turn, print)
        yield from results

    with pytest.raises(
        SourceError, match="another process wrote it meanwhile, and its trace stays"
    ):
        collect_job(job, interrupted, print)  # type: ignore[arg-type]
    named = {record.attempt for record in finished_ranks(job.target)}
    assert {*tl.open(job.target).manifest.attempts.values()} == named
    assert {
        key.split("part-")[1].split(".")[0] for key in contents(job.target) if "part-" in key
    } == named


def test_clean_removes_what_nothing_names(
    tmp_path: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = put(write_ranks(tmp_path / "runs", 2), f"{bucket}/runs")
    target = f"{bucket}/run.tracelens"
    tasks = tasks_of(runs)
    records = [record for task in tasks for record in collect_rank(task, target, Options())]
    Objects(target).create("kernels/rank=0/part-dead.parquet", b"left by a killed attempt")
    Objects(target).create("notes.txt", b"of no concern")
    before = contents(target)
    assert clean(target) == 0  # it may be a job's that is at work
    said = command_line(capsys, "clean", target, "--hours", 0).err
    assert said.startswith(f"removed 1 files from {target}\n")
    assert contents(target) == {
        key: value for key, value in before.items() if not key.endswith("dead.parquet")
    }
    commit_trace(target, records)
    assert clean(target, 0) == 0
    same_tables(tl.open(target), tl.collect(tmp_path / "runs"))


def test_sources_that_change_are_noticed(tmp_path: Path, bucket: str) -> None:
    runs = put(write_ranks(tmp_path / "runs", 2), f"{bucket}/runs")
    target = f"{bucket}/run.tracelens"
    tasks = tasks_of(runs)
    collect_rank(tasks[0], target, Options())
    for rank in (0, 1):
        file = tmp_path / "runs" / f"rank{rank:02}.pt.trace.json.gz"
        write(file, [span("later", EPOCH_US, 3)], distributedInfo={"rank": rank, "world_size": 2})
        Objects(runs).upload(file.name, file)
    with pytest.raises(
        SourceError, match=r"rank01\.pt\.trace\.json\.gz: cannot be read: it was changed meanwhile"
    ):
        collect_rank(tasks[1], target, Options())
    with pytest.raises(
        SourceError, match=r"holds rank 0 of an unfinished collection of other sources .* --force"
    ):
        collect_job(Job(runs, target), in_turn, print)
    trace, _ = collect_job(Job(runs, target, force=True), in_turn, print)
    assert trace.spans["name"].to_list() == ["later", "later"]


def test_hosts_and_clocks_are_told_of_all_ranks(tmp_path: Path, bucket: str) -> None:
    """Two hosts of two ranks each, known by their devices. Each task knows its own host only."""
    folder = tmp_path / "runs"
    folder.mkdir()
    devices = [{"id": number, "name": "GPU", "numSms": 4} for number in range(2)]
    for rank in range(4):
        start_us = EPOCH_US + (rank >= 2) * 10**6  # the second host's clock is a second ahead
        reduced = {
            "Collective name": "allreduce",
            "In msg nelems": 8,
            "Out msg nelems": 8,
            "Group size": 4,
            "dtype": "Float",
            "Process Group Name": "0",
            "Process Group Ranks": "[0, 1, 2, 3]",
            "Seq": 1,
        }
        events = [
            call("cudaLaunchKernel", start_us + 5, 4, 1),
            kernel(
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                start_us + 20 + rank,
                40 - rank,
                1,
                **reduced,
            ),
        ]
        for event in events:
            if event["cat"] == "kernel":
                event["args"] |= {"device": rank % 2}
        facts = {"rank": rank, "world_size": 4}
        write(folder / f"rank{rank}.json", events, distributedInfo=facts, deviceProperties=devices)
    here = Path(tmp_path, "here.tracelens")
    with pytest.raises(SystemExit, match="0"):
        main(["collect", "torch", str(folder), "--out", str(here)])
    trace, _ = collect_job(
        Job(put(folder, f"{bucket}/runs"), f"{bucket}/run.tracelens"), in_turn, print
    )
    assert trace.ranks["node"].to_list() == [0, 0, 1, 1]
    same_tables(trace, tl.open(here))
    assert trace.manifest.clocks == tl.open(here).manifest.clocks
    assert trace.manifest.clocks["basis"] == "estimated"
    assert clean(f"{bucket}/run.tracelens", 0) == 0
    same_tables(tl.open(f"{bucket}/run.tracelens"), trace)


def test_two_files_that_claim_a_rank(
    tmp_path: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        write(tmp_path / f"{n}.json", [span(n, 1, 1)], distributedInfo={"rank": 5}) for n in "ab"
    ]
    done = command_line(capsys, "collect", "files", *files, "--out", f"{bucket}/run.tracelens")
    assert (done.code, len(done.err.splitlines())) == (1, 1)
    assert "a.json and b.json both claim rank 5" in done.err
    done = command_line(
        capsys,
        "collect",
        "files",
        *files,
        "--out",
        f"{bucket}/two.tracelens",
        "--rank",
        1,
        "--rank",
        2,
    )
    assert done.code == 0
    assert tl.open(f"{bucket}/two.tracelens").manifest.ranks == [1, 2]


def test_worlds_that_differ_are_refused(tmp_path: Path, bucket: str) -> None:
    sizes = {0: 2, 1: 8}
    files = [
        write(
            tmp_path / f"{rank}.json",
            [span("a", 1, 1)],
            distributedInfo={"rank": rank, "world_size": size},
        )
        for rank, size in sizes.items()
    ]
    with pytest.raises(SourceError, match="one is of 2 ranks, the other of 8"):
        collect_job(Job(files, f"{bucket}/run.tracelens"), in_turn, print)


class _Denies(BaseHTTPRequestHandler):
    """A store that denies everything and repeats what it was sent.

    S3 does so where a signature is wrong.
    """

    def _deny(self) -> None:
        told = (
            f"<Error><Code>AccessDenied</Code><Sent>{self.headers.get('Authorization')}"
            f" {SECRET}</Sent></Error>"
        )
        self.send_response(403)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told.encode())

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = _deny  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def denying(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with HTTPServer(("127.0.0.1", 0), _Denies) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The one line that a command says where it ends with 1."""
    done = command_line(capsys, *words)
    (line,) = done.err.splitlines()
    assert (done.code, done.out) == (1, "")
    assert SECRET not in line
    return line


def test_a_store_that_denies_says_one_line(
    tmp_path: Path, denying: None, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "rank0.json", [span("a", 1, 1)])
    for words in (
        ("report", "s3://bucket/run"),
        ("check", "s3://bucket/run"),
        ("clean", "s3://bucket/run"),
        ("collect", "torch", file, "--out", "s3://bucket/run"),
        ("collect", "torch", "s3://bucket/run", "--out", tmp_path / "run"),
        ("--debug", "query", "s3://bucket/run", "SELECT 1"),
    ):
        done = command_line(capsys, *words)
        assert done.code == 1
        assert (
            "the store denies it; the credentials in the environment need the permission"
            in done.err
        )
        assert SECRET not in done.err
        assert "AWS4" not in done.err
        assert words[0] == "--debug" or len(done.err.splitlines()) == 1
    assert [*tmp_path.iterdir()] == [file]


def test_a_store_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    began = time.monotonic()
    line = refused(capsys, "report", "s3://bucket/run")
    assert line.startswith("error: s3://bucket/run: cannot be read: the store does not answer")
    # An object store's own retries go on for three minutes.
    assert time.monotonic() - began < 60


def test_a_bucket_that_is_not_there(
    tmp_path: Path, bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "rank0.json", [span("a", 1, 1)])
    absent = "there is no such bucket or object"
    assert absent in refused(capsys, "collect", "torch", file, "--out", "s3://no-such-bucket/run")
    assert absent in refused(capsys, "report", "s3://no-such-bucket/run")
    assert "there is no such object, and none below it" in refused(
        capsys, "report", f"{bucket}/nothing"
    )
    with pytest.raises(SourceError, match="expected a trace with a manifest"):
        tl.open(f"{bucket}/nothing")


@pytest.mark.parametrize(
    "url",
    [
        f"s3://key:{SECRET}@bucket/run",
        f"s3://bucket/run?X-Amz-Signature={SECRET}",
        f"https://bucket.s3.amazonaws.com/run?AWSAccessKeyId=a&Signature={SECRET}",
        f"az://box/run?sv=2024&sig={SECRET}",
    ],
)
def test_credentials_in_a_url_are_refused_and_not_repeated(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ("report", url),
        ("report", f"--against={url}", "x"),
        ("--debug", "clean", url),
        (url,),
    ):
        assert "a URL with credentials in it is refused" in refused(capsys, *words)
    with pytest.raises(SourceError, match="refused, and not repeated") as error:
        tl.open(url)
    assert SECRET not in str(error.value)


def test_addresses() -> None:
    assert url_of("s3://bucket/a b/run/") == "s3://bucket/a b/run"
    assert url_of(Path("s3://bucket/run@2")) == "s3://bucket/run@2"
    assert [url_of(path) for path in ("run.json", "/s3/x", "C:/run", "-")] == [None] * 4
    with pytest.raises(
        SourceError, match=r"^http://host/run: expected a local path or s3://BUCKET/PATH"
    ):
        url_of("http://host/run")
    with pytest.raises(SourceError, match="found no bucket"):
        url_of("gs://")


def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(objects, "find_spec", lambda _: None)
    line = refused(capsys, "report", "s3://bucket/run")
    assert line.endswith("URLs need the package obstore: pip install obstore")


@pytest.mark.exhaustive
def test_a_damaged_file_in_a_bucket_is_said(tmp_path: Path, bucket: str) -> None:
    trace = tl.collect(write(tmp_path / "rank0.json", [span("a", 1, 1)])).write(
        f"{bucket}/run.tracelens"
    )
    (key,) = [key for key in contents(f"{bucket}/run.tracelens") if key.startswith("spans/")]
    Objects(f"{bucket}/run.tracelens").remove([key])
    with pytest.raises(
        SourceError,
        match=r"run\.tracelens/spans: cannot be read: there is no such bucket or object",
    ):
        trace.frame("spans")
    Objects(f"{bucket}/run.tracelens").create(key, b"no Parquet")
    with pytest.raises(
        SourceError, match=r"run\.tracelens/spans: cannot be read as Parquet .* again"
    ):
        trace.frame("spans")
