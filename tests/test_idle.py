"""Why a device was idle: hosts and devices of a few events, in µs, each stretch with its cause."""

import pytest

from tests.idle_cases import US, causes, places, total
from tests.programs import api, launch, mark, program, span, work
from tracelens.analyses import time_breakdown
from tracelens.native import LIBRARY


def test_leading_and_trailing_host_time_is_idle() -> None:
    # host   |0  input  |300  |400 launch 410|           |500 ------ file ------- 1,000|
    # device                            |420 --- 600|
    trace = program(
        [mark(0, 0, 1_000), span("annotation", "dataloader", 0, 300)],
        [launch(400, 410)],
        [work(420, 600, 0)],
    )
    assert causes(trace) == total(
        (0, 300, "input"),
        (300, 400, "host"),
        (400, 420, "launch"),  # the call, and 10 µs for it to reach the device
        (600, 1_000, "host"),
    )
    assert causes(trace) == {"input": 300, "host": 500, "launch": 20}


def test_each_rank_is_told_by_its_own_calls() -> None:
    """The ranks' rows stand in no order.

    One number is a launch on one rank and an allocation on the other.
    """
    step = mark(0, 0, 1_000)
    allocation = api("cudaMalloc", 100, 400, rank=1, api_call_id=71)
    calls = [launch(400, 410, rank=1, api_call_id=70), launch(400, 410, api_call_id=71)]
    trace = program(
        [step | {"rank": 1}, step],
        [*calls, allocation],
        [work(420, 600, 70, rank=1), work(420, 600, 71)],
    )
    found = (
        time_breakdown(trace)
        .filter(step=0)
        .select("rank", "idle_host_ns", "idle_launch_ns", "idle_allocation_ns")
    )
    assert found.rows() == [
        (0, (400 + 400) * US, 20 * US, 0),
        (1, (100 + 400) * US, 20 * US, 300 * US),
    ]


def test_pages_that_the_host_takes_back_are_launched_by_no_call() -> None:
    # host   |0 launch 10|20 ------ sync ------ 205| ------- reads a result, page by page -------
    # device             |20 ---- kernel ---- 200|        |400 page 410|      |500 page 510|
    memories = {"source_memory": "managed", "destination_memory": "managed"}
    trace = program(
        [mark(0, 0, 1_000)],
        [launch(0, 10), api("cudaDeviceSynchronize", 20, 205)],
        [work(20, 200, 0)],
        memcpys=[work(at, at + 10, direction="d2h") | memories for at in (400, 500)],
    )
    assert causes(trace) == total(
        (0, 20, "launch"),
        (200, 205, "sync"),
        (205, 400, "host"),
        (410, 500, "host"),
        (510, 1_000, "host"),
    )


def test_work_launched_before_the_gap_is_a_dependency() -> None:
    calls = [launch(0, 10), launch(20, 30), launch(30, 40)]
    trace = program(
        [mark(0, 0, 1_000)], calls, [work(0, 100, 0), work(300, 900, 1), work(900, 1_000, 2)]
    )
    assert causes(trace) == total((100, 300, "dependency"))


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (515, [(100, 500, "host"), (500, 515, "launch")]),
        (520, [(100, 500, "host"), (500, 520, "launch")]),
        (620, [(100, 500, "host"), (500, 520, "launch"), (520, 620, "dependency")]),
        (505, [(100, 500, "host"), (500, 505, "launch")]),  # before its call returned
    ],
)
def test_from_the_call_s_return_on_work_may_take_its_latency(
    start: int, expected: list[tuple[int, int, str]]
) -> None:
    trace = program(
        [mark(0, 0, 1_000)],
        [launch(0, 10), launch(500, 510)],
        [work(0, 100, 0), work(start, 1_000, 1)],
    )
    assert causes(trace) == total(*expected)


def test_idle_time_is_told_by_the_launching_thread() -> None:
    spans = [
        mark(0, 0, 2_000),
        span("annotation", "data", 100, 300),
        span("op", "aten::mm", 900, 1_200),
    ]
    calls = [
        launch(0, 10),
        api("cudaMalloc", 300, 500),
        api("cuModuleLoadData", 500, 700),
        launch(1_000, 1_010),
    ]
    trace = program(spans, calls, [work(0, 100, 0), work(1_020, 2_000, 3)])
    assert causes(trace) == total(
        (100, 300, "input"),
        (300, 500, "allocation"),
        (500, 700, "loading"),
        (700, 900, "host"),
        (900, 1_020, "launch"),
    )


@pytest.mark.parametrize("library", [LIBRARY, None], ids=["as installed", "plain"])
def test_a_wait_and_the_refill_after_it_are_sync(
    monkeypatch: pytest.MonkeyPatch, library: object
) -> None:
    """The device is done at 100; the host learns it at 150, and launches next at 400."""
    monkeypatch.setattr("tracelens.derive.time.idle_sums.LIBRARY", library)
    spans = [mark(0, 0, 1_000), span("op", "aten::mm", 200, 410)]
    calls = [launch(0, 10), api("cudaDeviceSynchronize", 10, 150), launch(390, 400)]
    trace = program(spans, calls, [work(0, 100, 0), work(410, 1_000, 2)])
    assert causes(trace) == {"sync": 310}
    assert places(trace) == [("sync", "cudaDeviceSynchronize", 310)]


def test_launching_after_an_earlier_wait_is_no_refill() -> None:
    spans = [mark(0, 0, 1_000), span("op", "aten::mm", 60, 410)]
    calls = [launch(0, 10), api("cudaEventSynchronize", 10, 50), launch(390, 400)]
    trace = program(spans, calls, [work(0, 100, 0), work(410, 1_000, 2)])
    assert causes(trace) == {"launch": 310}


def test_host_time_between_wait_and_launch_is_its_own() -> None:
    spans = [mark(0, 0, 2_000), span("op", "aten::mm", 1_000, 1_410)]
    calls = [launch(0, 10), api("cudaDeviceSynchronize", 10, 150), launch(1_390, 1_400)]
    trace = program(spans, calls, [work(0, 100, 0), work(1_410, 2_000, 2)])
    assert causes(trace) == total(
        (100, 150, "sync"), (150, 1_000, "host"), (1_000, 1_410, "launch")
    )


def test_later_kernels_of_a_graph_wait_for_earlier_ones() -> None:
    """The call returns after all of the graph ran."""
    trace = program(
        [mark(0, 0, 1_000)],
        [api("cudaGraphLaunch", 100, 900)],
        [
            work(200, 300, 0, link="graph"),
            work(400, 500, 0, link="graph"),
            work(600, 1_000, 0, link="graph"),
        ],
    )
    assert causes(trace) == total(
        (0, 100, "host"), (100, 200, "launch"), (300, 400, "dependency"), (500, 600, "dependency")
    )


def test_work_whose_call_is_not_known() -> None:
    trace = program(
        [mark(0, 0, 1_000)], [launch(0, 10)], [work(0, 100, 0), work(300, 1_000, link="unlinked")]
    )
    assert causes(trace) == total((100, 300, "unknown"))


def test_without_any_record_of_the_host_nothing_is_known() -> None:
    trace = program(kernels=[work(0, 100), work(300, 400)])
    assert causes(trace, None) == total((100, 300, "unknown"))
    assert places(trace) == [("unknown", None, 200)]


def test_devices_wait_for_different_things() -> None:
    spans = [mark(0, 0, 1_000), span("annotation", "data", 100, 400)]
    calls = [launch(0, 10), launch(20, 30), launch(490, 500), launch(30, 40)]
    kernels = [
        work(0, 100, 0),
        work(510, 1_000, 2),
        work(0, 100, 1, device_id=1),
        work(300, 1_000, 3, device_id=1),
    ]
    trace = program(spans, calls, kernels)
    assert causes(trace) == {
        "input": 300,
        "launch": 110,
    }  # of 400 to 490 nothing is known: a pause of 90 µs
    assert causes(trace, device=1) == {"dependency": 200}


def test_a_device_that_works_in_one_step_is_idle_in_the_others() -> None:
    marks = [mark(0, 0, 1_000), mark(1, 1_000, 2_000)]
    trace = program(
        marks, [launch(0, 10), launch(0, 10)], [work(0, 900, 0), work(20, 900, 1, device_id=1)]
    )
    assert causes(trace, 1) == {"host": 1_000}
    assert causes(trace, 1, device=1) == {"host": 1_000}
    assert causes(trace, 0, device=1) == {"launch": 20, "host": 100}


def test_work_over_a_step_s_edge_and_gaps_over_it_are_cut_there() -> None:
    """Step 1 begins at 1,000. A kernel that a stream of no step launched runs from 900 to 1,200."""
    marks = [mark(0, 0, 1_000), mark(1, 1_000, 2_000), mark(2, 2_000, 3_000)]
    calls = [launch(0, 10), launch(1_050, 1_060), launch(2_490, 2_500)]
    trace = program(marks, calls, [work(0, 900, 0), work(1_200, 1_300, 1), work(2_510, 3_000, 2)])
    # The gap from 1,300 to 2,510 lies in two steps.
    assert [causes(trace, step) for step in range(3)] == [
        {"host": 100},
        {"host": 50 + 700, "launch": 20, "dependency": 130},
        {"host": 490, "launch": 20},
    ]
    over = program(marks, [launch(0, 10), launch(900, 910)], [work(0, 800, 0), work(900, 1_400, 1)])
    assert time_breakdown(over).select("step", "window_ns", "compute_ns").rows() == [
        (None, 1_400_000, 1_300_000),
        (0, 1_400_000, 1_300_000),
        (1, 600_000, 0),
        (2, 1_000_000, 0),
    ]


def test_time_between_windows_is_in_no_step() -> None:
    trace = program(
        [mark(0, 0, 100), mark(5, 10_000, 10_100)],
        [launch(0, 10), launch(10_000, 10_010)],
        [work(0, 100, 0), work(10_010, 10_100, 1)],
    )
    assert causes(trace, 0) == {}
    assert causes(trace, 5) == {"launch": 10}
    assert places(trace) == [("launch", "cudaLaunchKernel", 10)]
    # The row of the whole has the time between as well: from its first to its last work.
    assert causes(trace, None) == {"host": 9_900, "launch": 10}


def test_the_row_of_the_whole_leaves_out_what_leads_and_trails() -> None:
    trace = program(
        [mark(0, 0, 1_000)],
        [launch(400, 410), launch(420, 430)],
        [work(420, 500, 0), work(600, 700, 1)],
    )
    assert causes(trace, 0) == {"host": 400 + 300, "launch": 20, "dependency": 100}
    assert causes(trace, None) == {"dependency": 100}


def test_without_marks_all_that_was_recorded_counts() -> None:
    trace = program([span("annotation", "data", 0, 500)], [launch(500, 510)], [work(520, 600, 0)])
    assert places(trace) == [("input", "data", 500), ("launch", "cudaLaunchKernel", 20)]


def test_another_thread_that_launches_for_the_main_one() -> None:
    """In backward the main thread waits, and autograd's launches.

    Between ops it runs Python, then a hook allocates.
    """
    spans = [mark(0, 0, 10_000), span("op", "MulBackward0", 2_000, 3_000, thread_id=7)]
    calls = [
        launch(0, 10),
        launch(2_100, 2_110, thread_id=7),
        api("cudaMalloc", 5_000, 6_000, thread_id=7),
        launch(8_000, 8_010, thread_id=7),
    ]
    trace = program(
        spans, calls, [work(0, 1_000, 0), work(2_120, 4_000, 1), work(8_020, 10_000, 3)]
    )
    assert causes(trace) == total(
        (1_000, 2_000, "host"),
        (2_000, 2_120, "launch"),
        (4_000, 5_000, "host"),
        (5_000, 6_000, "allocation"),
        (6_000, 8_000, "host"),
        (8_000, 8_020, "launch"),
    )


def test_a_python_thread_may_wait_for_one_that_works() -> None:
    """The main thread launches at 5,000.

    Before, a helper thread that launches too loads data for it.
    """
    spans = [mark(0, 0, 6_000), span("annotation", "dataloader", 1_000, 4_000, thread_id=7)]
    calls = [launch(0, 10), launch(5_000, 5_010), launch(5_500, 5_510, thread_id=7)]
    trace = program(spans, calls, [work(0, 1_000, 0), work(5_020, 6_000, 1)])
    assert causes(trace) == {"input": 3_000, "host": 1_000, "launch": 20}


def test_a_steps_end_is_told_by_the_launching_thread() -> None:
    """Two processes in one export: device 0 is used by process 2 alone."""
    spans = [
        span("nvtx", "step 0", 0, 1_000, process_id=2),
        span("annotation", "data", 0, 1_000, process_id=1),
    ]
    calls = [
        launch(0, 10, process_id=2),
        launch(900, 910, process_id=1),
        api("cudaFree", 500, 1_000, process_id=2),
    ]
    trace = program(
        spans,
        calls,
        [work(10, 500, 0, process_id=2), work(920, 1_000, 1, process_id=1, device_id=1)],
    )
    assert causes(trace) == {"launch": 10, "allocation": 500}


def test_a_kernel_that_is_first_used_is_loaded_in_its_launch() -> None:
    spans = [
        mark(0, 0, 9_000),
        span("op", "aten::conv2d", 1_000, 4_000),
        span("op", "aten::conv2d", 7_700, 8_000),
    ]
    calls = [launch(0, 10), launch(3_900, 3_910), launch(7_900, 7_910)]
    kernels = [
        work(0, 1_000, 0, name="a"),
        work(3_920, 7_700, 1, name="b"),
        work(7_920, 9_000, 2, name="b"),
    ]
    trace = program(spans, calls, kernels)
    assert causes(trace) == total((1_000, 3_920, "loading"), (7_700, 7_920, "launch"))


def test_loading_takes_three_times_a_later_launch() -> None:
    def both(idle_from: int) -> dict[str, float]:
        """The first launch of b takes 2,920 µs, the second from `idle_from` to 7,920."""
        spans = [
            mark(0, 0, 9_000),
            span("op", "conv2d", 1_000, 4_000),
            span("op", "conv2d", idle_from, 8_000),
        ]
        calls = [launch(0, 10), launch(3_900, 3_910), launch(7_900, 7_910)]
        kernels = [
            work(0, 1_000, 0, name="a"),
            work(3_920, idle_from, 1, name="b"),
            work(7_920, 9_000, 2, name="b"),
        ]
        return causes(program(spans, calls, kernels))

    assert both(6_947) == total(
        (1_000, 3_920, "loading"), (6_947, 7_920, "launch")
    )  # 3 x 973 = 2,919
    assert both(6_946) == total(
        (1_000, 3_920, "launch"), (6_946, 7_920, "launch")
    )  # 3 x 974 = 2,922


def test_an_op_that_always_takes_long_to_launch_loads_nothing() -> None:
    """The host works in it: launching takes microseconds."""
    spans = [
        mark(0, 0, 9_000),
        span("op", "aten::conv2d", 1_000, 4_000),
        span("op", "aten::conv2d", 5_000, 8_000),
    ]
    calls = [launch(0, 10), launch(3_900, 3_910), launch(7_900, 7_910)]
    kernels = [
        work(0, 1_000, 0, name="a"),
        work(3_920, 5_000, 1, name="b"),
        work(7_920, 9_000, 2, name="b"),
    ]
    trace = program(spans, calls, kernels)
    assert causes(trace) == total((1_000, 3_920, "host"), (5_000, 7_920, "host"))
