"""Places of idle time: which line, op or call it is, with stacks and without; and its gaps."""

from typing import Any

import polars as pl
import pytest

from tests.idle_cases import causes, places
from tests.programs import Row, api, launch, many_ops, mark, program, span, work
from tracelens.analyses import idle_gaps
from tracelens.derive.time.model import model_for_times, time_model
from tracelens.schemas.results.time import IDLE_GAPS
from tracelens.trace import Trace


def in_loop(*inner: Row, calls: tuple[Row, ...] = ()) -> Trace:
    """A step whose device is idle from 1,000 to 5,000 µs, and what its script does then."""
    frames = [
        span("python", "train.py(120): main", -10, 9_000),
        mark(0, 0, 6_000),
        span("python", "train.py(88): epoch", 1, 5_990),
    ]
    every = [*calls, launch(2, 10), launch(5_000, 5_010)]
    return program(
        [*frames, *inner], every, [work(10, 1_000, len(calls)), work(5_010, 6_000, len(calls) + 1)]
    )


def test_a_loaders_place_leads_from_script_to_decoder() -> None:
    trace = in_loop(
        span(
            "annotation",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            1_000,
            4_990,
        ),
        span("python", "torch/utils/data/dataloader.py(701): __next__", 1_001, 4_989),
        span("python", "torch/utils/data/_utils/fetch.py(44): fetch", 1_002, 4_988),
        span("python", "/home/a/data.py(12): __getitem__", 1_003, 4_987),
        span("python", "/home/a/data.py(30): decode", 1_004, 4_986),
    )
    first, *_ = places(trace)
    assert first[0] == "input"
    assert first[1] is not None
    # The script's line, the loader, the dataset's function that takes the time; no folders.
    assert first[1].startswith("train.py(88): epoch > ")
    assert "DataLoader.__next__" in first[1]
    assert first[1].endswith("data.py(30): decode")
    assert "/home" not in first[1]


@pytest.mark.parametrize(
    ("inner", "calls", "cause", "what"),
    [
        (
            [span("python", "<built-in function sleep>", 1_000, 4_990)],
            (),
            "host",
            "train.py(88): epoch > sleep",
        ),
        (
            [
                span("python", "train.py(30): log", 1_000, 4_990),
                span("python", "json/__init__.py(20): dump", 1_010, 4_980),
            ],
            (),
            "host",
            "train.py(30): log > json/__init__.py(20): dump",
        ),
        (
            [span("annotation", "checkpoint", 1_000, 4_990)],
            (),
            "host",
            "train.py(88): epoch > checkpoint",
        ),
        (
            [span("op", "aten::item", 1_000, 4_990)],
            (api("cudaStreamSynchronize", 1_010, 4_980),),
            "sync",
            "train.py(88): epoch > aten::item > cudaStreamSynchronize",
        ),
        ([], (api("cudaMalloc", 1_000, 4_990),), "allocation", "train.py(88): epoch > cudaMalloc"),
    ],
)
def test_places_in_a_program_with_stacks(
    inner: list[Row], calls: tuple[Row, ...], cause: str, what: str
) -> None:
    found = places(in_loop(*inner, calls=calls))
    assert found[0][:2] == (cause, what)


@pytest.mark.parametrize(
    ("inner", "calls", "cause", "what"),
    [
        ([span("annotation", "## checkpoint ##", 1_000, 4_990)], [], "host", "checkpoint"),
        ([span("op", "aten::sort", 1_000, 4_990)], [], "host", "aten::sort"),
        (
            [span("annotation", "eval", 990, 5_100)],
            [api("cudaFree", 1_000, 4_990)],
            "allocation",
            "eval > cudaFree",
        ),
        ([], [api("cudaFree", 1_000, 4_990)], "allocation", "cudaFree"),
        (
            [span("op", "aten::mm", 500, 900), span("op", "aten::add", 5_000, 5_100)],
            [],
            "host",
            "between aten::mm and aten::add",
        ),
        (
            [span("op", "aten::add", 5_000, 5_100)],
            [],
            "host",
            "between the step's begin and aten::add",
        ),
        (many_ops("aten::mm", 1_000, 5_100), [], "launch", "cudaLaunchKernel"),
    ],
)
def test_places_without_stacks(inner: list[Row], calls: list[Row], cause: str, what: str) -> None:
    launches = [launch(2, 10), launch(5_000, 5_010)]
    kernels = [work(10, 1_000, len(calls)), work(5_010, 6_000, len(calls) + 1)]
    trace = program([mark(0, 0, 6_000), *inner], [*calls, *launches], kernels)
    assert places(trace)[0][:2] == (cause, what)


def test_the_place_of_launching_and_loading_is_the_op() -> None:
    """With sites, as collectors store them, it is the outermost op around the call."""
    spans = [
        mark(0, 0, 9_000),
        span("op", "aten::conv2d", 1_000, 3_000),
        *many_ops("aten::mm", 4_000, 6_000),
    ]
    calls = [launch(0, 10), launch(2_900, 2_910, site_id=0), launch(5_900, 5_910, site_id=1)]
    kernels = [
        work(0, 1_000, 0, name="a"),
        work(2_920, 4_000, 1, name="b"),
        work(5_920, 9_000, 2, name="a"),
    ]
    trace = program(spans, calls, kernels, sites=[{"op": "aten::conv2d"}, {"op": "aten::mm"}])
    assert places(trace) == [("launch", "aten::mm", 1_920), ("loading", "aten::conv2d", 1_920)]


@pytest.mark.parametrize(
    "inner", [[], [span("python", "torch/nn/modules.py(9): forward", 2, 7_800)]]
)
def test_the_place_of_launching_names_the_calling_function(inner: list[Row]) -> None:
    """The program's innermost function and one op below it, whatever a library has between them."""
    spans = [
        mark(0, 0, 9_000),
        span("python", "train.py(88): epoch", 0, 8_900),
        span("python", "train.py(12): step", 1, 8_000),
        *inner,
        span("op", "aten::linear", 1_000, 7_000),
        *many_ops("aten::mm", 1_100, 6_900),
    ]
    calls = [launch(0.2, 0.5), launch(6_800, 6_810, site_id=0)]
    kernels = [work(1, 1_000, 0), work(6_820, 9_000, 1)]
    trace = program(spans, calls, kernels, sites=[{"op": "aten::linear"}])
    assert places(trace)[0][:2] == ("launch", "train.py(12): step > aten::linear")


def test_time_after_a_step_s_mark_is_between_two_steps() -> None:
    marks = [
        span("annotation", f"execute_context_0(0)_generation_8({n})", a, b)
        for n, a, b in ((8, 0, 1_000), (9, 6_000, 7_000))
    ]
    trace = program(
        marks, [launch(0, 10), launch(6_100, 6_110)], [work(10, 990, 0), work(6_110, 7_000, 1)]
    )
    assert ("host", "between one step and the next", 5_110) in places(trace)


def test_the_place_of_launching_names_the_users_region() -> None:
    """A thread of autograd opens no region, and works for the one that is open in its process."""
    spans = [
        mark(0, 0, 1_000),
        span("annotation", "encoder", 100, 500),
        span("op", "aten::add_", 110, 490),
        span("annotation", "## backward ##", 500, 1_000),
        span("op", "MulBackward0", 510, 990, thread_id=1),
    ]
    calls = [
        launch(0, 10, site_id=None),
        launch(480, 490, site_id=0),
        launch(980, 990, site_id=1, thread_id=1),
    ]
    kernels = [work(0, 110, 0), work(490, 510, 1), work(990, 1_000, 2)]
    sites = [{"op": "aten::add_"}, {"op": "MulBackward0"}]
    assert places(program(spans, calls, kernels, sites=sites)) == [
        ("launch", "backward > MulBackward0", 480),
        ("launch", "encoder > aten::add_", 380),
    ]


def test_gaps_of_a_place_are_counted_with_the_longest() -> None:
    spans = [
        mark(0, 0, 10_000),
        *(span("annotation", "data", at, at + n) for at, n in [(1_000, 500), (3_000, 700)]),
    ]
    calls = [launch(0, 10), launch(1_500, 1_510), launch(3_700, 3_710)]
    trace = program(
        spans, calls, [work(0, 1_000, 0), work(1_510, 3_000, 1), work(3_710, 10_000, 2)]
    )
    (row,) = IDLE_GAPS.check(idle_gaps(trace)).filter(pl.col("cause") == "input").to_dicts()
    expected: dict[str, Any] = {
        "what": "data",
        "idle_ns": 1_200_000,
        "n_gaps": 2,
        "longest_ns": 700_000,
        "example_ns": 3_000_000,
    }
    assert {name: row[name] for name in expected} == expected
    assert row["share_frac"] == pytest.approx(0.12)


def test_a_gap_with_several_stretches_of_one_place_is_one_gap() -> None:
    """Two allocations in one gap, one in another."""
    calls = [launch(0, 10), launch(4_000, 4_010), launch(8_000, 8_010)]
    calls += [api("cudaMalloc", at, at + 500) for at in (1_000, 2_000, 6_000)]
    trace = program(
        [mark(0, 0, 9_000)],
        calls,
        [work(0, 1_000, 0), work(4_020, 6_000, 1), work(8_020, 9_000, 2)],
    )
    (row,) = idle_gaps(trace).filter(pl.col("cause") == "allocation").to_dicts()
    assert (row["idle_ns"], row["n_gaps"], row["longest_ns"]) == (1_500_000, 2, 1_000_000)
    assert row["example_ns"] == 1_000_000


def test_a_gap_s_activity_and_launch_in_one_op_are_one_gap_of_it() -> None:
    """An op loads a module, and then launches its first kernel for 2 ms."""
    trace = program(
        [mark(0, 0, 9_000), span("op", "aten::sort", 1_000, 4_010)],
        [launch(0, 10), api("cuModuleLoadData", 1_000, 2_000), launch(4_000, 4_010, site_id=0)],
        [work(0, 1_000, 0, name="a"), work(4_020, 9_000, 2, name="b")],
        sites=[{"op": "aten::sort > cuModuleLoadData"}],
    )
    (row,) = idle_gaps(trace).to_dicts()
    assert (row["cause"], row["what"]) == ("loading", "aten::sort > cuModuleLoadData")
    assert (row["n_gaps"], row["longest_ns"], row["example_ns"]) == (1, 3_020_000, 1_000_000)


def test_a_gap_over_a_step_s_edge_is_one_gap_of_its_place() -> None:
    trace = program(
        [mark(0, 0, 1_000), mark(1, 1_000, 3_000), span("annotation", "data", 500, 2_000)],
        [launch(0, 10), launch(2_000, 2_010)],
        [work(10, 500, 0), work(2_010, 3_000, 1)],
    )
    assert causes(trace, 0)["input"] == 500
    assert causes(trace, 1)["input"] == 1_000
    (row,) = idle_gaps(trace).filter(pl.col("cause") == "input").to_dicts()
    assert (row["n_gaps"], row["longest_ns"], row["example_ns"]) == (1, 1_500_000, 500_000)


def test_times_are_the_same_if_no_code_that_launches_is_named() -> None:
    in_function = [span("python", "train.py(30): forward", 1_000, 5_200)]
    trace = in_loop(*in_function, *many_ops("aten::mm", 1_100, 5_100))
    for_times, full = model_for_times(trace), time_model(trace)
    assert for_times.device.equals(full.device)
    assert full.device["idle_launch_ns"].sum() > 3_000_000

    def launching(idle: pl.DataFrame) -> list[str]:
        return [what for what in idle.filter(cause="launch")["what"].to_list() if "forward" in what]

    assert launching(full.idle)
    assert not launching(for_times.idle)
    assert model_for_times(trace) is full  # once it is known
