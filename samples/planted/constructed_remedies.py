"""Construct runs for which a report must say what would help, not only what limits them."""

from __future__ import annotations

from samples.planted.constructed_case import GEMM, Case, Truth, case, compute
from samples.planted.recorder import COMPUTE, Recorder


@case
def workers_start_anew() -> Case:
    """Twelve steps of 4 ms; in every fourth an epoch begins, and workers start for 300 ms."""
    run = Recorder()
    for number in range(12):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            if number % 4 == 3:
                with run.span("train.py(5): main", "python_function"):
                    run.host(1.0)
                    frame = "torch/utils/data/dataloader.py(480): __iter__"
                    with run.span(frame, "python_function"):
                        run.host(300_000.0)
            compute(run, 8, 500.0, 0.0)
    share = 300 / (300 + 4 * 4)
    return run, Truth("input", share, "compute", says=r"persistent_workers=True")


@case
def many_small_copies() -> Case:
    """Each step copies 200 values of 8 bytes one by one, 20 µs each, then computes for 2 ms."""
    run = Recorder()
    for number in range(5):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(200):
                with run.span("aten::copy_"):
                    run.copy(1.0, 8)
                    run.call("StreamSynchronize", 15.0)
            compute(run, 4, 500.0, 0.0)
    says = r"each of 200 small copies a step"
    return run, Truth("sync", 3.8 / 6, "compute", says=says)


@case
def memory_freed_for_other_sizes() -> Case:
    """Every other step has another size: an op frees for 3 ms, allocates for 2; 7 compute."""
    run = Recorder()
    for number in range(8):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            if number % 2:
                with run.span("aten::empty"):
                    run.call("Free", 3_000.0)
                    run.call("Malloc", 2_000.0)
            compute(run, 10, 700.0, 0.0)
    share = 14 / 19
    says, says_not = r"expandable_segments", r"[Cc]aching allocator"
    return run, Truth("compute", share, "allocation", says=says, says_not=says_not)


@case
def copies_that_nothing_hides() -> Case:
    """A copy of 3 ms has its own stream, but waits for 4 ms of products, and they for the copy."""
    run = Recorder()
    for number in range(6):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.free[20] = run.free.get(COMPUTE, 0.0)
            run.copy(3_000.0, 60_000_000, stream=20)
            for _ in range(8):
                run.op("aten::mm", GEMM, 500.0, earliest=run.free[20])
            run.synchronize()
    says = r"copies have a stream of their own"
    return run, Truth("compute", 4 / 7, "copy", says=says)
