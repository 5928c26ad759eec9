"""Jobs in processes and on a Ray cluster of two nodes: the same tables, whatever is killed meanwhile."""

import fcntl
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tests.command_line import Result, command_line
from tests.object_store import make_bucket, object_store
from tests.torch_files import call, kernel, span, write
from tracelens.errors import SourceError, ToolError
from tracelens.jobs import engines
from tracelens.jobs.engines import engine_of
from tracelens.jobs.job import Engine, Job, Work, collect_job, in_turn
from tracelens.jobs.ranks import Options, RankRecord, collect_rank
from tracelens.jobs.tasks import Task, tasks_of
from tracelens.schemas import TABLES
from tracelens.trace import Trace

N_RANKS = 16
_TRIES = 2
pytestmark = pytest.mark.filterwarnings("ignore:::ray")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the trace of each rank: the same ops, each kernel longer by the rank."""
    folder = tmp_path_factory.mktemp("raw")
    for rank in range(N_RANKS):
        events = [span("aten::mm", 10, 80), call("cudaLaunchKernel", 20, 5, 1), kernel("gemm", 40, 100 + rank, 1)]
        facts = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": N_RANKS}}
        write(folder / f"rank{rank:02}.json.gz", events, **facts)
    return folder


@pytest.fixture(scope="module")
def store(sources: Path) -> Iterator[str]:
    """The URL of a bucket that holds the sources below raw/; the environment has its address and keys."""
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
def cluster(store: str) -> Iterator[Any]:
    """A Ray cluster on this machine with two nodes of one core each, which know the store."""
    pytest.importorskip("ray")
    if not os.environ.get("TRACELENS_RAY"):
        pytest.skip("a Ray cluster takes minutes where the machine is busy; TRACELENS_RAY=1 does not mind")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        made = _started()
        yield made
        made.shutdown()


def _started() -> Any:
    """The cluster. Ray gives a node half a minute to start, which is not enough on a machine that is busy otherwise."""
    small = {"num_cpus": 1, "object_store_memory": 80 << 20, "memory": 4 << 30}
    quick = {"health_check_period_ms": 1000, "health_check_failure_threshold": 8}
    made: Any = import_module("ray.cluster_utils").Cluster()
    made.small = small
    for at in range(_TRIES):
        try:
            made.add_node(**small, include_dashboard=False, _system_config=quick)
            made.add_node(**small)
        except Exception as error:  # noqa: BLE001 - Ray raises no other for it
            made.shutdown()
            if at == _TRIES - 1:
                pytest.skip(f"no Ray cluster could be started here: {error}")
        else:
            return made
    return None


@pytest.mark.parametrize("name", ["local", "ray"])
def test_ranks_collected_by_an_engine_are_those_collected_here(
    name: str, sources: Path, store: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--address", _address(request)) if name == "ray" else ()
    target = f"{store}/{name}.tracelens"
    done = command_line(capsys, "collect", "torch", f"{store}/raw", "--engine", name, *more, "--out", target)
    assert (done.code, done.out) == (0, ""), done.err
    assert "wrote s3://" in done.err
    _same_tables(tl.open(target), tl.collect(sources))


def _address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("cluster").address)


def _same_tables(found: Trace, expected: Trace) -> None:
    assert found.manifest.ranks == list(range(N_RANKS))
    assert found.manifest.complete
    assert found.manifest.sources == expected.manifest.sources
    for name in TABLES:
        assert found.frame(name).equals(expected.frame(name)), name


@pytest.mark.parametrize("name", ["local", "ray"])
def test_a_killed_worker_costs_nothing(
    name: str, sources: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    chosen = engine_of(name, _address(request) if name == "ray" else None)
    found = _collected(chosen, partial(_killed_once, str(tmp_path)), sources, tmp_path / "t.tracelens")
    _same_tables(found, tl.collect(sources))
    assert (tmp_path / "killed").exists()


def _killed_once(folder: str, work: Work, task: Task) -> list[RankRecord]:
    """The work, before which the process is killed the first time that it comes to rank 5."""
    if task.name.startswith("rank05.") and not Path(folder, "killed").exists():
        Path(folder, "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return work(task)


def _collected(engine: Engine, around: Any, sources: Path, target: Path) -> Trace:
    """The sources collected by the engine, with something `around` each rank's work; no task is lost."""

    def wrapped(tasks: Any, work: Work) -> Any:
        return engine(tasks, partial(around, work))

    trace, failed = collect_job(Job(sources, str(target)), wrapped, lambda _: None)
    assert failed == {}
    return trace


def test_a_node_that_is_removed_costs_nothing(sources: Path, cluster: Any, tmp_path: Path) -> None:
    node = cluster.add_node(**cluster.small)
    cluster.wait_for_nodes()
    os.mkfifo(tmp_path / "began")
    began = os.open(tmp_path / "began", os.O_RDWR | os.O_NONBLOCK)
    with (tmp_path / "gate").open("w") as gate, (tmp_path / "never").open("w") as never:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(never, fcntl.LOCK_EX)
        engine = engine_of("ray", cluster.address)

        def interrupted(tasks: Any, work: Work) -> Any:
            at_work = engine(tasks, partial(_stuck_on, node.node_id, str(tmp_path), work))
            yield next(at_work)
            ready, _, _ = select.select([began], [], [], 60)
            assert ready
            cluster.remove_node(node, allow_graceful=False)
            fcntl.flock(gate, fcntl.LOCK_UN)
            yield from at_work

        trace, failed = collect_job(Job(sources, str(tmp_path / "t.tracelens")), interrupted, lambda _: None)
    os.close(began)
    assert failed == {}
    _same_tables(trace, tl.collect(sources))


def _stuck_on(node: str, folder: str, work: Work, task: Task) -> list[RankRecord]:
    """The work; but for rank 0 it waits on the node for ever, and elsewhere until that has begun."""
    ray = import_module("ray")
    if not task.name.startswith("rank00."):
        is_there = ray.get_runtime_context().get_node_id() == node
        if is_there:
            Path(folder, "began").write_text("x")
        with Path(folder, "never" if is_there else "gate").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
    return work(task)


def test_a_task_that_has_every_process_killed_is_given_up_alone(sources: Path, tmp_path: Path) -> None:
    tasks = tasks_of(sources)[:3]
    work = partial(_killed_always, partial(collect_rank, target=str(tmp_path / "t.tracelens"), options=Options()))
    found = dict(engine_of(None)(tasks, work))
    lost = found.pop(tasks[1])
    assert isinstance(lost, SourceError)
    assert str(lost).startswith(f"{tasks[1].name}: the process that read it was killed")
    assert sorted(found, key=tasks.index) == [tasks[0], tasks[2]]
    assert not any(isinstance(result, SourceError) for result in found.values())


def _killed_always(work: Work, task: Task) -> list[RankRecord]:
    if task.name.startswith("rank01."):
        os.kill(os.getpid(), signal.SIGKILL)
    return work(task)


def test_a_bad_file_costs_its_rank(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for rank in range(3):
        (raw / f"rank{rank:02}.json.gz").write_bytes((sources / f"rank{rank:02}.json.gz").read_bytes())
    (raw / "rank01.json.gz").write_bytes(b"\x1f\x8b no gzip after all")
    files = sorted(raw.iterdir())

    def collected(*more: object) -> Result:
        return command_line(capsys, "collect", "torch", *files, "--out", tmp_path / "t.tracelens", *more)

    few = collected("--min-ranks", 3)
    assert few.code == 1
    assert "2 ranks could be collected, fewer than the 3 of --min-ranks" in few.err
    assert "Traceback" not in few.err
    done = collected("--engine", "local", "--min-ranks", 2)
    assert done.code == 1
    assert done.err.count("error: ") == 1
    trace = tl.open(tmp_path / "t.tracelens")
    assert (trace.manifest.ranks, trace.manifest.complete) == ([0, 2], False)


def test_of_two_drivers_one_wins(sources: Path, store: str) -> None:
    job = Job(sources, f"{store}/two.tracelens")
    won: list[Trace] = []

    def overtaken(tasks: Any, work: Work) -> Any:
        for at, done in enumerate(in_turn(tasks, work)):
            if at == 2:
                won.append(collect_job(job, in_turn, lambda _: None)[0])
            yield done

    with pytest.raises(SourceError, match=r"two\.tracelens"):
        collect_job(job, overtaken, lambda _: None)
    _same_tables(tl.open(job.target), tl.collect(sources))
    assert len(won) == 1


def test_a_node_with_other_versions_is_named(
    sources: Path, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, driver = engines._versions, os.getpid()
    monkeypatch.setattr(engines, "_versions", lambda: "Python 9.9" if os.getpid() == driver else here())
    with pytest.raises(ToolError, match=r"a node of the cluster has Python 3\..*, here is Python 9.9; install"):
        collect_job(Job(sources, str(tmp_path / "t.tracelens")), engine_of("ray", cluster.address), lambda _: None)


def test_without_ray(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = command_line(capsys, "collect", "torch", sources, "--engine", "ray", "--out", tmp_path / "t.tracelens")
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        "error: --engine ray needs Ray, which is not installed: pip install 'tracelens-toolkit[cluster]'",
    )


def test_addresses_without_a_cluster(sources: Path, tmp_path: Path, capsys: Any) -> None:
    def collected(*more: object) -> Result:
        return command_line(capsys, "collect", "torch", sources, "--out", tmp_path / "t.tracelens", *more)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    dead = collected("--engine", "ray", "--address", f"127.0.0.1:{port}")
    assert dead.code == 1
    assert dead.err.startswith(f"error: --address 127.0.0.1:{port}: no Ray cluster answers there (")
    assert (dead.err.count("\n"), collected("--engine", "ray", "--address", "somewhere").code) == (1, 2)
    assert collected("--address", "127.0.0.1:6379").code == 2
    assert collected("--engine", "spark").code == 2
    assert not (tmp_path / "t.tracelens").exists()
