"""Ops in which the host is busy for long before they launch, and steps whose sizes change."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import tracelens as tl
from tests.torch_files import call, kernel, span, write
from tracelens.analyses import idle_gaps, verdict
from tracelens.answers import make_answer
from tracelens.derive.time import idle_sums
from tracelens.derive.time.launch_advice import op_of_changing_sizes
from tracelens.trace import Trace

ATTENTION = "aten::_flash_attention_forward"
PLANS = 20_000
"""How long attention takes before it launches, in µs."""
STEP = 10 * 20 + 40 + PLANS
"""How long a step takes: ten products of 20 µs each, and attention."""


def generation(folder: Path, *, n_views: int = 0, sizes: Sequence[int] = range(8)) -> Trace:
    """Eight steps, each of ten products that launch 10 µs of work, and attention.

    While attention plans it calls so many ops. `sizes` say by how much the keys of each step are
    longer than 64.
    """
    events = []
    for step in range(8):
        begin, id_ = 1_000 + step * STEP, 1 + 100 * step
        events.append(span(f"ProfilerStep#{step}", begin, STEP, cat="user_annotation"))
        for n in range(10):
            at = begin + 20 * n
            events.append(span("aten::mm", at, 20, args={"Input Dims": [[4, 8], [8, 8]]}))
            events.append(call("cudaLaunchKernel", at + 10, 5, id_ + n))
            events.append(kernel("gemm", at + 16, 10, id_ + n))
        at = begin + 200
        keys = [4, 8, 64 + sizes[step], 64]
        args = {"Input Dims": [[4, 8, 1, 64], keys, keys]}
        events.append(span(ATTENTION, at, PLANS + 30, args=args))
        each = PLANS / max(n_views, 1)
        events += [span("aten::view", at + n * each, each - 0.5) for n in range(n_views)]
        events.append(call("cudaLaunchKernel", at + PLANS + 10, 5, id_ + 10))
        events.append(kernel("flash", at + PLANS + 16, 10, id_ + 10))
    return tl.collect(write(folder / "run.json", events))


@pytest.mark.parametrize("is_native", [True, False])
def test_an_op_that_works_for_long_is_no_launching(
    tmp_path: Path, is_native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a step the device waits PLANS µs, and 16 of the launch, for attention."""
    if not is_native:
        monkeypatch.setattr(idle_sums, "LIBRARY", None)
    trace = generation(tmp_path)
    row = verdict(trace).row(0, named=True)
    assert (row["bound"], row["what"]) == ("host", ATTENTION)
    assert row["bound_frac"] == pytest.approx(PLANS / STEP, abs=0.01)
    gap = idle_gaps(trace).row(0, named=True)
    assert (gap["cause"], gap["what"], gap["n_gaps"]) == ("host", ATTENTION, 8)
    answer = make_answer(trace)
    assert answer.sentence.startswith("The GPU waits for the host, which is busy inside an op: ")
    assert answer.place == f"in {ATTENTION}"
    (change,) = answer.changes
    assert change.text == (
        "the host works in this op before it launches: keep its sizes the same, or use another"
        " implementation"
    )


def test_many_ops_before_a_launch_are_launching(tmp_path: Path) -> None:
    """2,000 ops of 10 µs are what a CUDA graph leaves out; sizes that change forbid one."""
    trace = generation(tmp_path, n_views=2_000)
    assert verdict(trace)["bound"].to_list() == ["launch"]
    (change,) = make_answer(trace).changes
    assert change.text == (
        "launch fewer kernels: larger batches, or a CUDA graph once sizes stay the same (those of"
        f" {ATTENTION} change from step to step)"
    )
    assert change.after_ns is None
    same = make_answer(generation(tmp_path, n_views=2_000, sizes=[0] * 8)).changes[0]
    assert same.text == "launch fewer kernels: a CUDA graph, torch.compile or larger batches"
    assert same.after_ns is not None


def steps(
    path: Path, *, thread: int, long: str, calls_ops: bool, launching: str = "aten::linear"
) -> Trace:
    """Eight steps of 19 ms: an op of 17 ms, which nothing is launched in, then a launch.

    With `calls_ops`, the launching thread is all that time in an op that calls others.
    """
    events = []
    for step in range(8):
        begin = 1_000 + step * 19_000
        events.append(span(f"ProfilerStep#{step}", begin, 19_000, cat="user_annotation"))
        events.append(span(long, begin + 10, 17_000, tid=thread))
        if calls_ops:
            events.append(span("aten::linear", begin + 10, 18_090))
            events += [span("aten::view", begin + 20 + 20 * n, 18) for n in range(890)]
        else:
            events.append(span(launching, begin + 18_000, 100))
        events.append(call("cudaLaunchKernel", begin + 18_050, 5, 1 + step))
        events.append(kernel("gemm", begin + 18_060, 900, 1 + step))
    return tl.collect(write(path / "run.json", events))


def test_an_op_of_another_thread_leaves_launching_as_it_is(tmp_path: Path) -> None:
    trace = steps(tmp_path, thread=2, long="aten::stack", calls_ops=True)
    assert verdict(trace)["bound"].to_list() == ["launch"]


@pytest.mark.parametrize("launching", ["aten::linear", "aten::sort"])
def test_an_op_that_launches_nothing_is_not_said_to_launch(tmp_path: Path, launching: str) -> None:
    """It works on the host alone, so that its sizes or implementation need not be to blame.

    Short calls of an op of the same name may launch.
    """
    trace = steps(tmp_path, thread=1, long="aten::sort", calls_ops=False, launching=launching)
    answer = make_answer(trace)
    assert answer.place == "in aten::sort"
    assert answer.changes[0].text.startswith("this op computes on the CPU: run it on the device")


@pytest.mark.parametrize(("n_sizes", "op"), [(1, None), (5, None), (6, ATTENTION)])
def test_sizes_change_where_no_graph_fits_half_of_the_steps(
    tmp_path: Path, n_sizes: int, op: str | None
) -> None:
    """Of eight steps the last `n_sizes` - 1 are of sizes of their own, the others alike."""
    grown = [max(0, step - (8 - n_sizes)) for step in range(8)]
    assert op_of_changing_sizes(generation(tmp_path, sizes=grown)) == op


def test_the_first_use_of_a_kernel_loads_it(tmp_path: Path) -> None:
    """An op takes 20 ms before its kernel's first launch, and 4 ms before the seven later ones."""
    events = [call("cudaLaunchKernel", 900, 5, 90), kernel("relu", 906, 10, 90)]
    for step in range(8):
        begin, length = 1_000 + step * 30_000, 20_000 if step == 0 else 4_000
        events.append(span("aten::mm", begin, length + 20))
        events.append(call("cudaLaunchKernel", begin + length, 5, 1 + step))
        events.append(kernel("gemm", begin + length + 6, 100, 1 + step))
        events.append(span(f"ProfilerStep#{step}", begin, 30_000, cat="user_annotation"))
    gaps = idle_gaps(tl.collect(write(tmp_path / "run.json", events)))
    of_op = gaps.filter(what="aten::mm").select("cause", "n_gaps", "longest_ns")
    assert sorted(of_op.rows()) == [("host", 7, 4_006_000), ("loading", 1, 20_006_000)]
