"""Jobs in processes and on a Ray cluster: the same tables, whatever is killed."""

import fcntl
import json
import os
import re
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tracelens as tl
from tests.command_line import Result, command_line
from tests.object_store import make_bucket, object_store
from tests.schedules import Call, Schedule
from tests.sources import SAMPLES
from tests.test_torch_ranks import EPOCH_US, NCCL
from tests.torch_files import call, kernel, span, write
from tracelens.analyses import ANALYSES
from tracelens.analyses.analysis import Parallel
from tracelens.derive.time import model
from tracelens.derive.time.program_phases import phases
from tracelens.errors import SourceError, UsageError
from tracelens.jobs import engines
from tracelens.jobs.engines import engine_of
from tracelens.jobs.job import Engine, Job, Work, collect_job, in_turn
from tracelens.jobs.ranks import Options, collect_rank
from tracelens.jobs.run_by_rank import ask_ranks
from tracelens.jobs.tasks import Task, tasks_of
from tracelens.report import build_report
from tracelens.schemas import TABLES
from tracelens.trace import Trace

N_RANKS = 4
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:::ray")]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one trace per rank.

    All have the same ops; kernels are longer for higher ranks.
    """
    folder = tmp_path_factory.mktemp("raw")
    for rank in range(N_RANKS):
        events = [
            span("aten::mm", 10, 80),
            call("cudaLaunchKernel", 20, 5, 1),
            kernel("gemm", 40, 100 + rank, 1),
        ]
        facts = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": N_RANKS}}
        write(folder / f"rank{rank:02}.json.gz", events, **facts)
    return folder


@pytest.fixture(scope="module")
def expected(sources: Path) -> Trace:
    """The trace of all ranks, collected here."""
    return tl.collect(sources)


@pytest.fixture(scope="module")
def store(sources: Path) -> Iterator[str]:
    """The URL of a bucket with the sources below raw/. The environment has its address and keys."""
    with object_store() as known, pytest.MonkeyPatch.context() as patch:
        for name, value in known.items():
            patch.setenv(name, value)
        bucket = make_bucket("engines")
        obstore = pytest.importorskip("obstore")
        place = obstore.store.from_url(bucket, client_options={"allow_http": True})
        for file in sources.iterdir():
            obstore.put(place, f"raw/{file.name}", file.read_bytes())
        yield bucket


@pytest.fixture(scope="module")
def cluster(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A connected Ray cluster on this machine: one node of one core, which knows the store."""
    ray: Any = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        _without_agents(patch, tmp_path_factory.mktemp("ray"))
        made: Any = import_module("ray.cluster_utils").Cluster()
        made.small = {
            "num_cpus": 1,
            "object_store_memory": 80 << 20,
            "memory": 4 << 30,
            "include_log_monitor": False,
        }
        # A node that is gone refuses connections, so that a few quick checks tell; one that is slow
        # has 10 s for each.
        quick = {"health_check_period_ms": 300, "health_check_failure_threshold": 5}
        try:
            made.add_node(
                **made.small, include_dashboard=False, no_monitor=True, _system_config=quick
            )
            with engines._connected(ray, made.address):
                yield made
        finally:
            made.shutdown()


def _without_agents(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Have nodes start without the agents of Ray's dashboard and runtime environments.

    No task here needs them.
    Each imports for 4 s, and Ray 2.60 gives them 15 s, whatever its settings say: on a busy machine
    nodes died of it. In their place stand programs that end with their node, and files with the
    ports that the node waits for.
    """
    node: Any = import_module("ray._private.node").Node
    raylet: Any = import_module("ray._raylet")
    begin = node.start_raylet
    for name in ("dashboard/agent.py", "_private/runtime_env/agent/main.py"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("import sys\nsys.stdin.read()\n")

    def begun(self: Any, *given: Any, **named: Any) -> None:
        for name in (
            "METRICS_AGENT",
            "METRICS_EXPORT",
            "DASHBOARD_AGENT_LISTEN",
            "RUNTIME_ENV_AGENT",
        ):
            raylet.persist_port(
                self._session_dir, self._node_id, getattr(raylet, f"{name}_PORT_NAME"), 1
            )
        begin(self, *given, **named)

    patch.setattr(node, "start_raylet", begun)
    patch.setattr(node, "start_api_server", lambda self, **_: setattr(self, "_webui_url", None))
    patch.setattr("ray._private.services.RAY_PATH", str(folder))


@pytest.fixture(scope="module", params=["local", "ray"])
def engine(request: pytest.FixtureRequest) -> tuple[str, str | None]:
    """Each engine's name and its cluster's address.

    The cluster is the module's; what a test starts ends with it.
    """
    return request.param, (
        str(request.getfixturevalue("cluster").address) if request.param == "ray" else None
    )


in_ci_on_this_machine = pytest.mark.parametrize(
    "engine", ["local", pytest.param("ray", marks=pytest.mark.exhaustive)], indirect=True
)
only_ray_in_ci = pytest.mark.parametrize(
    "engine", [pytest.param("local", marks=pytest.mark.exhaustive), "ray"], indirect=True
)
"""In CI, a Ray cluster of one node reads a store and writes into it; test_cloud has processes."""


@only_ray_in_ci
def test_ranks_collected_by_an_engine_are_those_collected_here(
    engine: tuple[str, str | None], expected: Trace, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, address = engine
    more = ("--address", address) if address else ()
    target = f"{store}/{name}.tracelens"
    done = command_line(
        capsys, "collect", "torch", f"{store}/raw", "--engine", name, *more, "--out", target
    )
    assert (done.code, done.out) == (0, ""), done.err
    assert "wrote s3://" in done.err
    _same_tables(tl.open(target), expected)


def _same_tables(found: Trace, expected: Trace) -> None:
    assert found.manifest.ranks == list(range(N_RANKS))
    assert found.manifest.complete
    assert found.manifest.sources == expected.manifest.sources
    for name in TABLES:
        assert found.frame(name).equals(expected.frame(name)), name


@in_ci_on_this_machine
def test_a_killed_worker_costs_nothing(
    engine: tuple[str, str | None], sources: Path, expected: Trace, tmp_path: Path
) -> None:
    found = _collected(
        engine_of(*engine), partial(_killed_once, str(tmp_path)), sources, tmp_path / "t.tracelens"
    )
    _same_tables(found, expected)
    assert (tmp_path / "killed").exists()


def _killed_once(folder: str, work: Work, task: Task) -> Any:
    """Return the work. The first time that it reaches rank 2, its process is killed before."""
    if task.name.startswith("rank02.") and not Path(folder, "killed").exists():
        Path(folder, "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return work(task)


def _collected(engine: Engine, around: Any, sources: Path | str, target: Path | str) -> Trace:
    """Collect the sources by the engine, with something `around` each rank's work.

    No task is lost.
    """

    def wrapped(tasks: Any, work: Work) -> Any:
        return engine(tasks, partial(around, work))

    trace, failed = collect_job(Job(sources, str(target)), wrapped, lambda _: None)
    assert failed == {}
    return trace


@in_ci_on_this_machine
def test_sections_are_the_same_where_each_rank_is_a_task(
    engine: tuple[str, str | None], sources: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, address = engine
    trace = tl.collect(sources).write(f"{store}/asked-by-{name}.tracelens").path
    sections = [
        word for one in ("top_kernels", "top_ops", "time_breakdown") for word in ("--section", one)
    ]
    here, apart = (
        command_line(capsys, "report", trace, *sections, "--format", "json", *more)
        for more in ((), ("--engine", name, *(("--address", address) if address else ())))
    )
    assert (apart.code, apart.err) == (0, here.err)
    assert apart.out == here.out
    assert len(json.loads(apart.out)["sections"]["top_kernels"]["rows"]) == N_RANKS


@pytest.mark.exhaustive
def test_a_node_that_is_removed_costs_nothing(
    store: str, expected: Trace, cluster: Any, tmp_path: Path
) -> None:
    """Collect from a store into it, and remove a second node."""
    node = cluster.add_node(**cluster.small)
    os.mkfifo(tmp_path / "began")
    began = os.open(tmp_path / "began", os.O_RDWR | os.O_NONBLOCK)
    with (tmp_path / "gate").open("w") as gate, (tmp_path / "never").open("w") as never:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(never, fcntl.LOCK_EX)

        def remove() -> None:
            """Remove the node once a task is at work on it.

            No task has ended elsewhere until then.
            """
            select.select([began], [], [])
            cluster.remove_node(node, allow_graceful=False)
            fcntl.flock(gate, fcntl.LOCK_UN)

        with ThreadPoolExecutor(1) as pool:
            removing = pool.submit(remove)
            found = _collected(
                engine_of("ray", cluster.address),
                partial(_stuck_on, node.node_id, str(tmp_path)),
                f"{store}/raw",
                f"{store}/removed.tracelens",
            )
            removing.result()
    os.close(began)
    _same_tables(found, expected)


def _stuck_on(node: str, folder: str, work: Work, task: Task) -> Any:
    """Return the work. It never begins on the node, and elsewhere only when the node is gone."""
    is_there = import_module("ray").get_runtime_context().get_node_id() == node
    if is_there:
        Path(folder, "began").write_text("x")
    with Path(folder, "never" if is_there else "gate").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
    return work(task)


OF_TIME = ("time_breakdown", "idle_gaps", "waiting", "job", "verdict")
"""Analyses of the time model."""


def of_two_ranks() -> Trace:
    """A small job whose second rank is late for each collective."""
    calls = [Call("allreduce", 4096, 10**6, 10**5)] * 3
    return Schedule(2, calls, {(1, at): 10**6 for at in range(3)}).trace()


@pytest.mark.parametrize(
    ("collected", "names"),
    [
        (of_two_ranks, OF_TIME),
        pytest.param(lambda: tl.collect(SAMPLES / "ranks"), (), marks=pytest.mark.exhaustive),
    ],
    ids=["of time", "all"],
)
def test_no_rank_is_broken_down_where_its_task_did(
    collected: Callable[[], Trace],
    names: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace, same = (collected().write(tmp_path / name) for name in ("one", "two"))
    expected = build_report(trace, names=names)
    frames = ask_ranks(same, names or [*ANALYSES], in_turn)
    monkeypatch.setattr(model, "times_of_devices", pytest.fail)
    found = build_report(same, names=names, frames=frames)
    assert {"time_breakdown", "idle_gaps", "waiting", "job"} < {
        one.analysis.name for one in found.sections if one.frame.height
    }
    for one, other in zip(expected.sections, found.sections, strict=True):
        assert one.frame.equals(other.frame), one.analysis.name
        assert (one.notes, one.missing) == (other.notes, other.missing)
    by_rank = {name for name in names or ANALYSES if ANALYSES[name].parallel is Parallel.BY_RANK}
    assert {*frames} == by_rank
    assert all(
        frames[name].height for name in by_rank - {"advise", "recomputation"}
    )  # of a training run it says nothing


def test_an_engine_knows_that_a_late_rank_does_not_start_up(
    tmp_path: Path,
) -> None:
    """After a first kernel rank 1 does nothing for 60 ms, and rank 0 waits for it."""
    raw = tmp_path / "raw"
    raw.mkdir()
    for rank, late in ((0, 0), (1, 60_000)):
        begin = EPOCH_US + late
        events = [call("cudaLaunchKernel", EPOCH_US, 5, 1), kernel("gemm", EPOCH_US + 6, 10, 1)]
        for at in range(8):
            events.append(call("cudaLaunchKernel", begin + 20 + 200 * at, 5, 10 + at))
            events.append(kernel("gemm", begin + 30 + 200 * at, 190, 10 + at))
        for at in range(5):
            start = begin + 2_000 if at == 0 else EPOCH_US + 63_000 + 100 * at
            end = EPOCH_US + 62_050 if at == 0 else start + 50
            args = {"device": 0, "stream": 7, "correlation": 30 + at, **NCCL}
            events.append(call("cudaLaunchKernel", start - 10, 5, 30 + at))
            name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
            events.append(kernel(name, start, end - start, 30 + at, args=args))
        facts = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}}
        write(raw / f"rank{rank}.json.gz", events, **facts)
    one, two = (tl.collect(raw).write(tmp_path / f"{name}.tracelens") for name in "ab")
    assert phases(one).filter(rank=1, phase="program")["start_ns"].item() < EPOCH_US * 1000 + 10_000
    ask_ranks(two, ["verdict"], in_turn)
    assert model.time_model(one).device.equals(model.time_model(two).device)
    assert phases(one).equals(phases(two))


@pytest.mark.exhaustive
def test_one_rank_is_opened_alone(sources: Path, tmp_path: Path) -> None:
    whole = tl.collect(sources).write(tmp_path / "t.tracelens")
    assert whole.path is not None
    for file in whole.path.glob("kernels/rank=*/*.parquet"):
        if file.parent.name != "rank=3":
            file.unlink()
    trace = tl.open(whole.path, rank=3)
    assert (trace.manifest.ranks, trace.heights("spans")) == ([3], {3: 1})
    assert trace.kernels["duration_ns"].to_list() == [103_000]
    assert [source["name"] for source in trace.manifest.sources] == ["rank03.json.gz"]
    with pytest.raises(SourceError, match=r"t\.tracelens: has no rank 16, only 0, 1, 2, 3"):
        tl.open(whole.path, rank=16)
    with pytest.raises(UsageError, match=r"--engine is for a trace that tracelens collect wrote"):
        ask_ranks(tl.collect(sources), ["top_ops"], in_turn)


def test_a_task_that_has_every_process_killed_is_given_up_alone(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool that is started anew has a test above, and so one pool is enough here."""
    monkeypatch.setattr(engines, "_POOLS", 1)
    tasks = tasks_of(sources)[1:3]
    work = partial(
        _killed_always,
        partial(collect_rank, target=str(tmp_path / "t.tracelens"), options=Options()),
    )
    found = dict(engine_of(None)(tasks, work))
    lost = found.pop(tasks[0])
    assert isinstance(lost, SourceError)
    assert str(lost).startswith(f"{tasks[0].name}: the process that read it was killed")
    assert [*found] == [tasks[1]]
    assert not any(isinstance(result, SourceError) for result in found.values())


def _killed_always(work: Work, task: Task) -> Any:
    if task.name.startswith("rank01."):
        os.kill(os.getpid(), signal.SIGKILL)
    return work(task)


def test_a_bad_file_costs_its_rank(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for rank in range(3):
        (raw / f"rank{rank:02}.json.gz").write_bytes(
            (sources / f"rank{rank:02}.json.gz").read_bytes()
        )
    (raw / "rank01.json.gz").write_bytes(b"\x1f\x8b no gzip after all")
    files = sorted(raw.iterdir())

    def collected(*more: object) -> Result:
        return command_line(
            capsys, "collect", "torch", *files, "--out", tmp_path / "t.tracelens", *more
        )

    few = collected("--min-ranks", 3)
    assert few.code == 1
    assert "2 ranks could be collected, fewer than the 3 of --min-ranks" in few.err
    assert "Traceback" not in few.err
    done = collected("--engine", "local", "--min-ranks", 2)
    assert done.code == 1
    assert done.err.count("error: ") == 1
    trace = tl.open(tmp_path / "t.tracelens")
    assert (trace.manifest.ranks, trace.manifest.complete) == ([0, 2], False)


@pytest.mark.exhaustive
def test_damaged_gzip_costs_its_rank_wherever_it_is(
    sources: Path, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for name in ("rank00", "rank02"):
        (raw / f"{name}.json.gz").write_bytes((sources / f"{name}.json.gz").read_bytes())
    (raw / "rank01.json.gz").write_bytes(b"\x1f\x8b no gzip after all")
    (raw / "notes.txt").write_text("no trace")
    place = import_module("obstore").store.from_url(store, client_options={"allow_http": True})
    for file in raw.iterdir():
        import_module("obstore").put(place, f"damaged/{file.name}", file.read_bytes())
    given: tuple[list[Any], ...] = (sorted(raw.glob("rank*")), [f"{store}/damaged"])
    for at, paths in enumerate(given):
        target = tmp_path / f"{at}.tracelens"
        done = command_line(capsys, "collect", "files", *paths, "--min-ranks", 2, "--out", target)
        (error,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
        assert done.code == 1
        assert (
            "rank01.json.gz: found gzip that is damaged or holds something else, expected one of: "
            in error
        )
        assert (tl.open(target).manifest.ranks, tl.open(target).manifest.complete) == (
            [0, 2],
            False,
        )


def test_a_trace_in_a_store_is_exported(
    sources: Path, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{store}/exported.tracelens"
    tl.collect(sources / "rank03.json.gz").write(url)
    done = command_line(capsys, "export", url, "--to", "folded", "--out", tmp_path / "t.folded")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "t.folded").read_text().endswith("gemm 103000\n")
    to_store = command_line(capsys, "export", url, "--to", "folded", "--out", f"{store}/t.folded")
    assert (to_store.code, to_store.err.count("\n")) == (1, 1)
    assert "results are written to local files" in to_store.err


def test_of_two_drivers_one_wins(sources: Path, expected: Trace, store: str) -> None:
    job = Job(sources, f"{store}/two.tracelens")
    won: list[Trace] = []

    def overtaken(tasks: Any, work: Work) -> Any:
        for at, done in enumerate(in_turn(tasks, work)):
            if at == 2:
                won.append(collect_job(job, in_turn, lambda _: None)[0])
            yield done

    with pytest.raises(SourceError, match=r"two\.tracelens"):
        collect_job(job, overtaken, lambda _: None)
    _same_tables(tl.open(job.target), expected)
    assert len(won) == 1


def test_a_node_with_other_versions_is_named(
    sources: Path,
    cluster: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here, driver = engines._versions, os.getpid()
    monkeypatch.setattr(
        engines, "_versions", lambda: "Python 9.9" if os.getpid() == driver else here()
    )
    more = ("--engine", "ray", "--address", cluster.address, "--out", tmp_path / "t.tracelens")
    done = command_line(capsys, "collect", "torch", sources, *more)
    said = (
        r"error: a node of the cluster has Python 3\..* and tracelens .*, here is Python 9\.9;"
        r" install the same on all"
    )
    assert (done.code, done.out) == (1, "")
    assert re.fullmatch(said, done.err.splitlines()[-1]), done.err
    assert not (tmp_path / "t.tracelens" / "manifest.json").exists()


def test_without_ray(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = command_line(
        capsys, "collect", "torch", sources, "--engine", "ray", "--out", tmp_path / "t.tracelens"
    )
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        ("error: --engine ray needs Ray, which is not installed: pip install ray obstore"),
    )


@pytest.mark.exhaustive
def test_a_cluster_that_does_not_start(
    sources: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def init(**_: object) -> None:
        raise Exception("The current node timed out during startup.\nThe GCS may be overloaded.")  # noqa: TRY002

    monkeypatch.setitem(
        sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, init=init)
    )
    done = command_line(
        capsys, "collect", "torch", sources, "--engine", "ray", "--out", tmp_path / "t.tracelens"
    )
    assert done.code == 1
    assert (
        done.err.splitlines()[-1]
        == "error: --engine ray: no cluster could be joined: The current node timed out during"
        " startup. The GCS may be overloaded."
    )


@pytest.mark.exhaustive
def test_addresses_without_a_cluster(sources: Path, tmp_path: Path, capsys: Any) -> None:
    def collected(*more: object) -> Result:
        return command_line(
            capsys, "collect", "torch", sources, "--out", tmp_path / "t.tracelens", *more
        )

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    dead = collected("--engine", "ray", "--address", f"127.0.0.1:{port}")
    assert dead.code == 1
    assert dead.err.startswith(f"error: --address 127.0.0.1:{port}: no Ray cluster answers there (")
    assert (dead.err.count("\n"), collected("--engine", "ray", "--address", "somewhere").code) == (
        1,
        2,
    )
    assert collected("--address", "127.0.0.1:6379").code == 2
    assert collected("--engine", "spark").code == 2
    assert not (tmp_path / "t.tracelens").exists()
