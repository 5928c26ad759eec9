"""What host threads did: each cause from each kind of evidence, and where it stands."""

import polars as pl
import pytest

from tests.cases import make_trace
from tests.programs import Row, api, launch, mark, program, span
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.host_activity import _of_axis as of_axis
from tracelens.derive.time.step_table import activities_of
from tracelens.derive.time.thread_axis import PAUSE_NS, ThreadAxis
from tracelens.derive.time.thread_axis import _rows_of_one as rows_of_one
from tracelens.trace import Trace

US = 1000


def did(trace: Trace, thread: int = 0) -> list[tuple[float, float, str]]:
    """The activities of a thread: start and end in µs, and cause."""
    own = activities_of(trace).filter(pl.col("thread_id") == thread)
    end = pl.col("start_ns") + pl.col("duration_ns")
    return own.select(start=pl.col("start_ns") / US, end=end / US, cause="cause").rows()


def places(trace: Trace, cause: str) -> list[str | None]:
    """Return where the activities of a cause stand."""
    return activities_of(trace).filter(pl.col("cause") == cause)["what"].to_list()


def step(*spans: Row, calls: tuple[Row, ...] = ()) -> Trace:
    """A step from 0 to 10,000 µs that launches at its end."""
    return program([mark(0, 0, 10_000), *spans], [*calls, launch(9_000, 10_000)])


def test_a_hook_around_a_loader_is_not_the_profilers_work() -> None:
    hook = span("python", "collectors/torch/live/steps.py(129): following", 1_000, 4_000)
    loads = span("python", "torch/utils/data/dataloader.py(736): __next__", 1_000, 4_000)
    assert (1_000, 4_000, "input") in did(step(hook, loads))
    assert PROFILER not in places(step(hook, loads), "host")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
        ("annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"),
        ("python", "torch/utils/data/dataloader.py(701): __next__"),
        (
            "python",
            (
                "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/pin_memory.py(21):"
                " do_one_step"
            ),
        ),
        ("python", "webdataset/tariterators.py(88): tar_file_iterator"),
        ("annotation", "data"),
        ("annotation", "## data ##"),
        ("annotation", "Data Loading"),
        ("nvtx", "data_loading"),
        ("nvtx", "load_batch"),
        ("nvtx", "get next batch"),
        ("annotation", "fetch data"),
        ("annotation", "dataloader"),
        ("nvtx", "dataset"),
    ],
)
def test_spans_that_load_data(kind: str, name: str) -> None:
    trace = step(span(kind, name, 1_000, 4_000))
    assert did(trace) == [
        (0, 1_000, "host"),
        (1_000, 4_000, "input"),
        (4_000, 9_000, "host"),
        (9_000, 10_000, "launch"),
    ]


def test_a_data_span_around_most_launches_is_no_input() -> None:
    """A step that is called data does not wait for input; an upload and a cast in it may do so."""
    spans = [mark(0, 0, 10_000), span("annotation", "data", 1_000, 4_000)]
    inside, outside = launch(2_000, 2_010), launch(9_000, 10_000)
    upload = api("cudaMemcpyAsync", 3_000, 3_010)
    assert (1_000, 4_000, "input") in did(program(spans, [inside, upload, outside]))
    step_in_data = program(spans, [inside, launch(3_000, 3_010), outside])
    assert "input" not in {cause for _, _, cause in did(step_in_data)}


@pytest.mark.parametrize(
    "name", ["database", "update", "metadata sync", "aten::data", "DistributedDataParallel.forward"]
)
def test_spans_that_only_sound_like_it(name: str) -> None:
    trace = step(span("annotation", name, 1_000, 4_000))
    assert did(trace) == [
        (0, 1_000, "host"),
        (1_000, 4_000, "host"),
        (4_000, 9_000, "host"),
        (9_000, 10_000, "launch"),
    ]
    assert places(trace, "host")[1] == name


@pytest.mark.parametrize(
    ("thread", "start", "end", "is_blocked"),
    [(1, 2_000, 6_000, True), (0, 2_000, 6_000, False), (1, 2_000, 7_000, False)],
)
def test_a_launch_blocked_by_an_allocation(
    thread: int, start: float, end: float, is_blocked: bool
) -> None:
    """The launch from 3,000 to 6,000 µs returns with another thread's allocation, or before."""
    pins = api("cudaHostAlloc", start, end, thread_id=thread)
    trace = program([mark(0, 0, 10_000)], [pins, launch(3_000, 6_000), launch(9_000, 10_000)])
    assert ((3_000, 6_000, "allocation") in did(trace)) == is_blocked
    if is_blocked:
        assert places(trace, "allocation") == ["cudaHostAlloc in another thread"]


CALLS = (
    ("cudaMalloc", "allocation"),
    ("cudaFree", "allocation"),
    ("cudaHostAlloc", "allocation"),
    ("cudaMallocHost", "allocation"),
    ("cudaFreeHost", "allocation"),
    ("cudaHostRegister", "allocation"),
    ("cuMemAlloc_v2", "allocation"),
    ("cuMemFree_v2", "allocation"),
    ("cuMemCreate", "allocation"),
    ("cuMemMap", "allocation"),
    ("hipMalloc", "allocation"),
    ("hipFree", "allocation"),
    ("hipHostMalloc", "allocation"),
    ("hipExtMallocWithFlags", "allocation"),
    ("cudaDeviceSynchronize", "sync"),
    ("cudaStreamSynchronize", "sync"),
    ("cudaEventSynchronize", "sync"),
    ("cuCtxSynchronize", "sync"),
    ("cuStreamSynchronize_ptsz", "sync"),
    ("hipDeviceSynchronize", "sync"),
    ("hipStreamSynchronize", "sync"),
    ("hipMemcpyWithStream", "sync"),
    ("cudaMemcpy", "sync"),
    ("cudaMemcpy2D", "sync"),
    ("cudaMemcpyToSymbol", "sync"),
    ("cuMemcpyDtoH_v2", "sync"),
    ("cuMemcpyHtoD_v2_ptds", "sync"),
    ("cudaMemcpy_ptds", "sync"),
    ("hipMemcpyDtoH", "sync"),
    ("cuModuleLoadData", "loading"),
    ("cuModuleLoadDataEx", "loading"),
    ("cuLibraryLoadData", "loading"),
    ("cudaLibraryLoadData", "loading"),
    ("hipModuleLoad", "loading"),
    ("cuLinkComplete", "loading"),
    ("cudaMemcpyAsync", "launch"),
    ("cuMemcpyDtoHAsync_v2", "launch"),
    ("cudaMemsetAsync", "launch"),
    ("cudaStreamWaitEvent", "launch"),
    ("cudaEventRecord", "launch"),
    ("cudaGraphLaunch", "launch"),
)


def test_calls() -> None:
    """Each call takes from 1,000 to 4,000 µs of its own 10,000; the host does something else."""
    begins = range(0, 10_000 * len(CALLS), 10_000)
    calls = [api(name, at + 1_000, at + 4_000) for at, (name, _) in zip(begins, CALLS, strict=True)]
    end = begins.stop
    trace = program([mark(0, 0, end)], [*calls, launch(end - 1_000, end)])
    assert [row for row in did(trace) if row[2] != "host"] == [
        *((at + 1_000, at + 4_000, cause) for at, (_, cause) in zip(begins, CALLS, strict=True)),
        (end - 1_000, end, "launch"),
    ]
    for cause in {cause for _, cause in CALLS} - {"launch"}:
        assert places(trace, cause) == [name for name, of_call in CALLS if of_call == cause]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("annotation", "_compile.compile_inner (dynamo_timed)"),
        ("op", "CompileContext (dynamo_timed)"),
        ("python", "torch/_dynamo/convert_frame.py(1050): _compile"),
        (
            "python",
            "/usr/lib/python3/dist-packages/torch/_inductor/compile_fx.py(700): compile_fx_inner",
        ),
        ("python", "triton/compiler/compiler.py(226): compile"),
        ("python", "<frozen importlib._bootstrap>(1349): _find_and_load"),
    ],
)
def test_spans_that_compile_or_import(kind: str, name: str) -> None:
    # What goes on within, as an op that launches or a module that is loaded, is part of it.
    inner = (api("cuModuleLoadData", 2_000, 2_500), launch(3_000, 3_100))
    trace = step(span(kind, name, 1_000, 4_000), calls=inner)
    assert did(trace) == [
        (0, 1_000, "host"),
        (1_000, 4_000, "loading"),
        (4_000, 9_000, "host"),
        (9_000, 10_000, "launch"),
    ]


def test_an_op_that_waits_for_the_device_is_all_waiting() -> None:
    trace = step(
        span("op", "aten::item", 1_000, 4_000),
        span("op", "aten::_local_scalar_dense", 1_010, 3_990),
        calls=(api("cudaMemcpyAsync", 1_020, 1_040), api("cudaStreamSynchronize", 1_050, 3_900)),
    )
    assert did(trace) == [
        (0, 1_000, "host"),
        (1_000, 1_010, "launch"),
        (1_010, 1_050, "sync"),
        (1_050, 3_900, "sync"),
        (3_900, 3_990, "sync"),
        (3_990, 4_000, "launch"),
        (4_000, 9_000, "host"),
        (9_000, 10_000, "launch"),
    ]
    assert set(places(trace, "sync")) == {"aten::item > cudaStreamSynchronize"}


def test_an_op_that_calls_nothing_computes_on_the_host() -> None:
    trace = step(span("op", "aten::sort", 1_000, 4_000))
    assert did(trace) == [
        (0, 1_000, "host"),
        (1_000, 4_000, "host"),
        (4_000, 9_000, "host"),
        (9_000, 10_000, "launch"),
    ]
    assert places(trace, "host")[1] == "aten::sort"


@pytest.mark.parametrize(
    ("end", "inside", "computes"),
    [(2_000, None, True), (1_100, None, False), (2_000, "aten::view", False)],
)
def test_a_long_region_with_nothing_in_it_computes(
    end: int, inside: str | None, computes: bool
) -> None:
    """A check of guards is no launching, unless it is short or runs ops."""
    ops = [] if inside is None else [span("op", inside, 600, 610)]
    region = span("op", "TorchDynamo Cache Lookup", 500, end)
    trace = step(region, *ops, span("op", "aten::mm", end, 9_500))
    assert ((500, end, "host") in did(trace)) == computes
    assert ("TorchDynamo Cache Lookup" in places(trace, "host")) == computes


def test_a_group_s_op_that_launches_nothing_communicates() -> None:
    trace = step(
        span("op", "c10d::allreduce_", 1_000, 4_000), span("op", "record_param_comms", 1_010, 3_990)
    )
    assert did(trace)[1] == (1_000, 4_000, "communication")
    assert places(trace, "communication") == ["c10d::allreduce_"]


def test_an_op_of_a_process_group_that_launches() -> None:
    trace = step(span("op", "c10d::allreduce_", 1_000, 4_000), calls=(launch(2_000, 2_010),))
    assert did(trace)[1] == (1_000, 4_000, "launch")


@pytest.mark.parametrize("kind", ["annotation", "nvtx"])
@pytest.mark.parametrize("name", ["gloo:all_reduce", "mpi:allgather"])
def test_a_thread_that_waits_for_gloo_or_mpi_communicates(name: str, kind: str) -> None:
    trace = step(
        span(kind, name, 1_000, 6_000),
        span("op", "aten::mm", 2_000, 3_000),
        calls=(launch(2_500, 2_510),),
    )
    assert did(trace)[1:-2] == [
        (1_000, 2_000, "communication"),
        (2_000, 3_000, "launch"),
        (3_000, 6_000, "communication"),
    ]


def test_the_main_thread_waits_for_what_another_thread_sends() -> None:
    trace = step(span("annotation", "gloo:all_reduce", 1_000, 6_000, thread_id=5))
    assert did(trace)[:3] == [
        (0, 1_000, "host"),
        (1_000, 6_000, "communication"),
        (6_000, 9_000, "host"),
    ]


def test_an_op_that_launches_is_launching() -> None:
    trace = step(span("op", "aten::mm", 1_000, 4_000), calls=(launch(2_000, 2_010),))
    assert did(trace)[1] == (1_000, 4_000, "launch")


@pytest.mark.parametrize(("kind", "slower"), [("annotation", 1), ("python", 4)])
def test_pauses_between_ops(kind: str, slower: int) -> None:
    """A pause of just under PAUSE_NS belongs to launching.

    Where Python calls are recorded it may be four times as long.
    """
    pause = slower * PAUSE_NS / US
    ops = [
        span("op", "aten::a", 0, 1_000),
        span("op", "aten::b", 1_000 + pause, 3_000),
        span(kind, "x", 0, 1),
    ]
    calls = [launch(10, 20), launch(2_000, 2_010)]
    assert did(program(ops, calls)) == [
        (0, 1_000, "launch"),
        (1_000, 1_000 + pause, "host"),
        (1_000 + pause, 3_000, "launch"),
    ]
    ops[1]["start_ns"] -= 1
    assert did(program(ops, calls)) == [(0, 2_999.999, "launch")]


def test_a_short_stretch_of_python_beside_a_cause_is_launching() -> None:
    trace = step(
        span("annotation", "data", 1_000, 4_000),
        span("op", "aten::mm", 4_050, 9_000),
        calls=(launch(4_060, 4_070),),
    )
    assert did(trace) == [(0, 1_000, "host"), (1_000, 4_000, "input"), (4_000, 10_000, "launch")]


def test_what_counts_first_of_things_at_once() -> None:
    """Within a loader's span: memory allocated, a wait, an op that launches.

    All but the first two are input.
    """
    trace = step(
        span("annotation", "dataloader", 1_000, 5_000),
        span("op", "aten::copy_", 4_000, 4_500),
        calls=(
            api("cudaHostAlloc", 2_000, 2_500),
            api("cudaEventSynchronize", 3_000, 3_300),
            launch(4_100, 4_200),
        ),
    )
    assert did(trace) == [
        (0, 1_000, "host"),
        (1_000, 2_000, "input"),
        (2_000, 2_500, "allocation"),
        (2_500, 3_000, "input"),
        (3_000, 3_300, "sync"),
        (3_300, 4_000, "input"),
        (4_000, 4_500, "input"),  # the op is a place of its own
        (4_500, 5_000, "input"),
        (5_000, 9_000, "host"),
        (9_000, 10_000, "launch"),
    ]


def test_of_nested_calls_the_outer_one() -> None:
    """A cudaFree that synchronises, and a driver's call within the runtime's that begins it."""
    trace = step(
        calls=(
            api("cuMemFree_v2", 1_000, 3_000),
            api("cudaFree", 1_000, 4_000),
            api("cuCtxSynchronize", 3_100, 3_200),
        )
    )
    assert did(trace)[1:3] == [(1_000, 4_000, "allocation"), (4_000, 9_000, "host")]
    assert places(trace, "allocation") == ["cudaFree"]


def test_the_profilers_own_work() -> None:
    """No thread is recorded for it. It belongs to the thread in which nothing begins meanwhile."""
    overhead = span(
        "overhead", "Activity Buffer Request", 2_000, 3_000, process_id=-1, thread_id=99
    )
    trace = step(overhead, span("op", "aten::mm", 1_000, 4_000), calls=(launch(1_500, 3_100),))
    assert did(trace) == [
        (0, 1_000, "host"),
        (1_000, 2_000, "launch"),
        (2_000, 3_000, "host"),
        (3_000, 4_000, "launch"),
        (4_000, 9_000, "host"),
        (9_000, 10_000, "launch"),
    ]
    assert places(trace, "host")[1] == PROFILER
    busy = step(
        overhead,
        span("op", "aten::mm", 1_000, 4_000),
        span("op", "aten::t", 2_500, 2_600),
        calls=(launch(1_500, 1_600),),
    )
    assert PROFILER not in places(busy, "host")


def test_threads_that_neither_launch_nor_mark_have_no_activities() -> None:
    spans = [mark(0, 0, 1_000), span("annotation", "data", 0, 900, thread_id=5)]
    assert activities_of(program(spans, [launch(100, 110)]))["thread_id"].unique().to_list() == [0]


def test_of_other_threads_only_what_is_recorded_counts() -> None:
    """Autograd's thread launches at 2,000 and 6,000 for the main one.

    The main one launches less but marks the step.
    """
    spans = [
        mark(0, 0, 10_000),
        span("op", "Backward", 2_000, 2_500, thread_id=7),
        span("op", "B", 6_000, 6_500, thread_id=7),
    ]
    calls = [
        launch(2_100, 2_110, thread_id=7),
        launch(6_100, 6_110, thread_id=7),
        launch(9_000, 10_000),
    ]
    trace = program(spans, calls)
    assert did(trace, 7) == [(2_000, 2_500, "launch"), (6_000, 6_500, "launch")]
    assert did(trace) == [(0, 9_000, "host"), (9_000, 10_000, "launch")]


def test_without_marks_the_main_thread_launches_most() -> None:
    calls = [
        launch(0, 10),
        launch(1_000, 1_010),
        launch(0, 10, thread_id=7),
        launch(500, 510, thread_id=7),
        launch(900, 910, thread_id=7),
    ]
    trace = program([], calls)
    assert did(trace, 7) == [
        (0, 10, "launch"),
        (10, 500, "host"),
        (500, 510, "launch"),
        (510, 900, "host"),
        (900, 910, "launch"),
    ]
    assert did(trace) == [(0, 10, "launch"), (1_000, 1_010, "launch")]


def test_an_op_of_a_thread_without_calls_computes() -> None:
    """The main thread marks the step and computes; another one launches."""
    trace = program(
        [mark(0, 0, 10_000), span("op", "aten::sort", 1_000, 4_000)],
        [launch(9_000, 9_010, thread_id=7)],
    )
    assert did(trace) == [(0, 1_000, "host"), (1_000, 4_000, "host"), (4_000, 10_000, "host")]
    assert places(trace, "host")[1] == "aten::sort"


def test_nothing_of_the_host() -> None:
    assert activities_of(program()).is_empty()


def test_a_thread_whose_id_is_wider_than_those_of_another_table() -> None:
    """Each table's ids are as narrow as its own allow.

    A trace may name a thread of the other one by 64 bits.
    """
    ids = {
        "process_id": pl.Series([1, 1], dtype=pl.Int8),
        "thread_id": pl.Series([2, 3], dtype=pl.Int8),
    }
    calls = pl.DataFrame({**ids, "start_ns": [0, 5], "duration_ns": [1, 1]})
    assert rows_of_one(calls, 1, 3).to_list() == [1]
    assert rows_of_one(calls, 1, 2**40).is_empty()
    assert rows_of_one(calls, -(2**62), 3).is_empty()


def many_threads(n: int) -> Trace:
    """A program of n threads, each with an op of 50 µs: it launches in the first half, then waits.

    Every second thread begins with a Python call of 1 ms around it.
    """
    spans = [span("op", "ReadBack", 10, 60, thread_id=thread) for thread in range(n)]
    python = [
        span("python", "train.py(1): main", 0, 1_000, thread_id=thread) for thread in range(0, n, 2)
    ]
    spans = [row | {"span_id": at} for at, row in enumerate([*spans, *python])]
    spans = [
        row | {"parent_id": n + row["thread_id"] // 2}
        if row["kind"] == "op" and row["thread_id"] % 2 == 0
        else row
        for row in spans
    ]
    calls = [
        row | {"span_id": thread}
        for thread in range(n)
        for row in (
            launch(10, 35, thread_id=thread),
            api("cudaStreamSynchronize", 35, 60, thread_id=thread),
        )
    ]
    return make_trace(spans=spans, api_calls=calls)


@pytest.mark.parametrize("most_rows", [0, 50, 1 << 17])
def test_threads_that_are_looked_at_together_are_apart(
    most_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracelens.derive.time.thread_axis._MOST_ROWS", most_rows)
    trace = many_threads(20)
    bare = [(10, 35, "launch"), (35, 60, "sync")]
    python = [(0, 35, "launch"), (35, 60, "sync"), (60, 1_000, "host")]
    for thread in range(20):
        assert did(trace, thread) == (bare if thread % 2 else python), thread
    assert set(places(trace, "sync")) == {
        "ReadBack > cudaStreamSynchronize",
        "train.py(1): main > ReadBack > cudaStreamSynchronize",
    }


def test_many_threads_are_listed_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []

    def counted(axis: ThreadAxis, spans: pl.DataFrame, blocked: pl.DataFrame) -> pl.DataFrame:
        batches.append(axis.threads.height)
        return of_axis(axis, spans, blocked)

    monkeypatch.setattr("tracelens.derive.time.host_activity._of_axis", counted)
    assert activities_of(many_threads(400)).height == 200 * 2 + 200 * 3
    assert batches == [400]


@pytest.mark.parametrize(("name", "cause"), [("FBackward", "host"), ("MulBackward0", "launch")])
def test_python_of_an_autograd_function_works(name: str, cause: str) -> None:
    """Between the two ops of 1 ms, Python of the program's own function works for 2 ms."""
    spans = [
        span("op", name, 0, 4_000),
        span("op", "aten::mm", 0, 1_000),
        span("op", "aten::mm", 3_000, 4_000),
    ]
    trace = step(*spans, calls=(launch(900, 910), launch(3_900, 3_910)))
    between = [what for start, _, what in did(trace) if 1_000 <= start < 3_000]
    assert between == ([cause] if cause == "host" else [])
