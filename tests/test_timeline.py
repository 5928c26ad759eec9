"""What a page draws of events: one step as bars, kernel time by path, stacks side by side."""

from pathlib import Path

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens import collect
from tracelens.analyses import time_breakdown
from tracelens.derive.stacks.stack_listing import pair_stacks, side_by_side
from tracelens.derive.time.model import time_model
from tracelens.derive.time.timeline import (
    DrawnStep,
    Timeline,
    draw_timeline,
    median_and_longest,
)
from tracelens.trace import Trace
from tracelens.views.bar_views import timeline_note
from tracelens.views.drawings import first_rank, kernel_paths

SAMPLES = Path(__file__).parents[1] / "samples"


def one_thread(**event: object) -> dict[str, object]:
    return {"process_id": 1, "thread_id": 5} | event


def case() -> Trace:
    """Three steps of 100, 300 and 200 ns.

    In the last a module calls an op, which launches a kernel of 40 ns.
    """
    steps = [(0, 100), (100, 300), (400, 200)]
    return make_trace(
        steps=[{"step": i, "start_ns": at, "duration_ns": ns} for i, (at, ns) in enumerate(steps)],
        spans=[
            one_thread(kind="module", name="net", start_ns=390, duration_ns=150),
            one_thread(kind="op", name="aten::mm", start_ns=420, duration_ns=60),
            one_thread(kind="python", name="call", start_ns=425, duration_ns=50),
            one_thread(kind="op", name="aten::add", start_ns=10, duration_ns=20),
        ],
        api_calls=[
            one_thread(api="cudaLaunchKernel", kind="kernel_launch", start_ns=430, duration_ns=10)
        ],
        kernels=[
            {
                "name": "gemm",
                "primitive": "gemm",
                "stream_id": 7,
                "start_ns": 500,
                "duration_ns": 40,
                "api_call_id": 0,
            },
            {"name": "before", "stream_id": 7, "start_ns": 20, "duration_ns": 30},
        ],
    )


def drawn(trace: Trace, most: int = 20_000) -> Timeline:
    """The first drawn step of the first rank."""
    model = time_model(trace)
    found = draw_timeline(model, median_and_longest(model, first_rank(model))[0], most=most)
    assert found is not None
    return found


def test_the_step_of_median_duration_is_drawn_lane_by_lane() -> None:
    found = drawn(case())
    assert (found.drawn_step, found.ranks, found.merged_ns) == (
        DrawnStep(0, 2, "median", 400, 200),
        [0],
        None,
    )
    assert median_and_longest(time_model(case()), 0) == [
        found.drawn_step,
        DrawnStep(0, 1, "longest", 100, 300),
    ]
    work = found.bars.filter(~pl.col("kind").str.contains("^(idle|queue)"))
    assert work.select(
        "lane", "level", "start_ns", "duration_ns", "name", "kind", "api_call_id"
    ).rows() == [
        ("GPU 0 stream 7", 0, 100, 40, "gemm", "gemm", 0),
        ("thread 5", 0, 0, 140, "net", "module", None),
        ("thread 5", 1, 20, 60, "aten::mm", "op", None),
        ("thread 5", 2, 30, 10, "cudaLaunchKernel", "api call", 0),
    ]
    idle = found.bars.filter(pl.col("lane") == "GPU 0 idle")
    assert sum(idle["duration_ns"]) == 200 - 40


def test_the_queue_holds_what_is_launched_and_has_not_begun() -> None:
    """Launches at 10, 20 and 30 begin at 25, 40 and 90; the step ends at 100."""
    calls = [
        one_thread(api="cudaLaunchKernel", kind="kernel_launch", start_ns=at, duration_ns=5)
        for at in (10, 20, 30)
    ]
    kernels = [
        {"start_ns": at, "duration_ns": 5, "api_call_id": call, "stream_id": call}
        for call, at in enumerate((25, 40, 90))
    ]
    steps = [{"step": 0, "start_ns": 0, "duration_ns": 100}]
    found = drawn(make_trace(steps=steps, api_calls=calls, kernels=kernels))
    queue = found.bars.filter(pl.col("lane") == "GPU 0 queue")
    assert queue.select("start_ns", "duration_ns", "name", "kind").rows() == [
        (10, 80, "up to 2 launches wait", "queue: 1 to 9"),
        (90, 10, "no launch waits", "queue: empty"),
    ]


def test_bars_that_are_put_together_are_counted() -> None:
    spans = [
        one_thread(kind="op", name=f"op{i % 2}", start_ns=i * 10, duration_ns=4 + i % 2)
        for i in range(1000)
    ]
    long = one_thread(kind="annotation", name="loop", start_ns=0, duration_ns=10_000)
    found = drawn(make_trace(spans=[long, *spans]), most=50)
    assert found.drawn_step.step is None
    assert found.merged_ns is not None
    assert found.bars.height <= 50
    assert found.bars.group_by("level").agg(pl.col("n").sum()).sort("level").rows() == [
        (0, 1),
        (1, 1000),
    ]
    assert found.bars.filter(level=1)["name"].unique().to_list() == ["op1"]
    assert median_and_longest(time_model(make_trace()), 0) == []


def test_the_deepest_levels_are_left_out_where_they_are_too_many() -> None:
    spans = [
        one_thread(kind="op", name=f"f{level}", start_ns=level, duration_ns=200 - 2 * level)
        for level in range(60)
    ]
    found = drawn(make_trace(spans=spans), most=50)
    assert found.bars["name"].to_list() == [f"f{level}" for level in range(12)]
    assert found.n_left_out == 48
    assert "48 bars, are left out" in timeline_note(found)


def test_lanes_are_left_out_where_they_are_too_many() -> None:
    kernels = [{"stream_id": at, "start_ns": at, "duration_ns": 9} for at in range(100)]
    found = drawn(make_trace(kernels=kernels), most=50)
    assert found.bars.select("lane", "level").unique().height == 12
    assert found.bars["n"].sum() + found.n_left_out == 100


@pytest.mark.parametrize(
    "source", ["torch/resnet50_eager.pt.trace.json.gz", "nsys/eager_resnet50.sqlite"]
)
def test_bars_and_paths_sum_to_the_tables(source: str) -> None:
    made = collect(SAMPLES / source)
    found = drawn(made)
    idle = (
        found.bars.filter(pl.col("kind").str.starts_with("idle: "))
        .group_by("kind")
        .agg(pl.col("duration_ns").sum())
    )
    (row,) = (
        time_breakdown(made).filter(pl.col("step").eq_missing(found.drawn_step.step)).to_dicts()
    )
    told = {
        f"idle: {name[5:-3]}": ns
        for name, ns in row.items()
        if name.startswith("idle_") and name[-3:] == "_ns"
    }
    assert dict(idle.iter_rows()) == {
        cause: ns for cause, ns in told.items() if ns and cause != "idle: "
    }
    paths = kernel_paths(made, 0)
    assert paths["duration_ns"].sum() == made.kernels["duration_ns"].sum()
    assert paths["n"].sum() == made.kernels.height
    short = kernel_paths(made, 0, most=5)
    assert short.select(pl.col("duration_ns", "n").sum()).equals(
        paths.select(pl.col("duration_ns", "n").sum())
    )
    assert short.head(5).equals(paths.head(5))


def test_kernels_stand_below_layer_and_op() -> None:
    made = make_trace(
        sites=[{"site_id": 3, "op": "aten::mm", "module_path": "net.0", "phase": "forward"}],
        kernels=[
            {"site_id": 3, "name": "gemm", "primitive": "gemm", "duration_ns": ns} for ns in (5, 7)
        ]
        + [{"name": "lost", "duration_ns": 2, "link": "unlinked"}],
    )
    assert kernel_paths(made, 0).rows() == [
        ("forward", "net.0", "aten::mm", "gemm", "gemm", 2, 12),
        (None, "(unattributed)", None, "lost", "unknown", 1, 2),
    ]
    assert kernel_paths(make_trace(), 0).is_empty()


def test_frames_of_one_function_stand_in_one_row() -> None:
    """The other stack goes through c and d where this one goes through x.

    Both begin with a, b and end with main.
    """
    one, two = (
        pl.DataFrame({"function": [*names]})
        for names in (["a", "b", "x", "main"], ["a", "b", "c", "d", "main"])
    )
    assert side_by_side(one, two) == [
        (0, 0, True),
        (1, 1, True),
        (2, 2, False),
        (None, 3, False),
        (3, 4, True),
    ]


def test_stacks_are_paired_by_symbol() -> None:
    def stacks(*symbols: str) -> Trace:
        return make_trace(
            stacks=[
                {"stack_id": i, "symbol": symbol, "hit": 1} for i, symbol in enumerate(symbols)
            ],
            frames=[
                {"stack_id": i, "level": level, "function": f"{symbol}{level * len(symbols)}"}
                for i, symbol in enumerate(symbols)
                for level in range(3)
            ],
        )

    ((one, two),) = pair_stacks(stacks("launch"), stacks("run", "launch"))
    assert (one["symbol"], two["symbol"]) == ("launch", "launch")
    assert one["frames"]["function"].to_list() == ["launch0", "launch1", "launch2"]
    assert two["frames"]["function"].to_list() == ["launch0", "launch2", "launch4"]
    assert [(a["symbol"], b["symbol"]) for a, b in pair_stacks(stacks("x"), stacks("y"))] == [
        ("x", "y")
    ]
    assert pair_stacks(stacks(), stacks("y")) == []
