"""Constructed runs of ranks and devices: waits, allocators, small kernels, gloo, MTIA, streams."""

from __future__ import annotations

from samples.planted.constructed_case import (
    GATHER,
    GEMM,
    POINTWISE,
    REDUCE,
    SCATTER,
    Case,
    Truth,
    case,
)
from samples.planted.recorder import COMPUTE, Recorder

# One rank of a larger job.


def _rank(compute_us: float, reduce_us: float, *, hidden: bool) -> Recorder:
    run = Recorder(distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8})
    for number in range(3):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(10):
                run.op("aten::mm", GEMM, compute_us / 10, host_us=15.0)
            stream = 20 if hidden else 7
            run.op("c10d::allreduce_", REDUCE, reduce_us, host_us=30.0, stream=stream)
            run.synchronize()
    return run


@case
def rank_of_eight() -> Case:
    """Only rank 3 of 8 is given: 6.2 of 10 ms are in an all-reduce, waiting or not."""
    run = _rank(3_700.0, 6_200.0, hidden=False)
    return run, Truth("communication", 0.62, second="compute", says="cannot|other ranks")


@case
def rank_of_eight_mixed() -> Case:
    """Only rank 3 of 8 is given: 7 of 10 ms compute, and 2.9 ms are in an all-reduce."""
    run = _rank(7_000.0, 2_900.0, hidden=False)
    return run, Truth("compute", 0.7, second="communication")


@case
def sharded_overlap() -> Case:
    """Eight layers of 1 ms, with gathers of 0.8 ms beside the layer before; 1 ms of scatter."""
    run = Recorder(distributedInfo={"backend": "nccl", "rank": 0, "world_size": 8})
    for number in range(4):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(8):
                run.op("c10d::_allgather_base_", GATHER, 800.0, host_us=20.0, stream=20)
                run.op("aten::mm", GEMM, 1_000.0, host_us=20.0, earliest=run.free[20])
            last = run.free[COMPUTE]
            run.op("c10d::_reduce_scatter_base_", SCATTER, 1_000.0, stream=20, earliest=last)
            run.synchronize()
    return run, Truth("compute", 8 / 9.8, second="communication")


@case
def rank_of_eight_hidden() -> Case:
    """An all-reduce of 6 ms runs beside products, which take 9.8 of 10 ms."""
    run = _rank(9_800.0, 6_000.0, hidden=True)
    return run, Truth("compute", 0.98)


# The caching allocator is off: device memory is allocated and released again and again.


def _allocating(*, hip: bool, malloc_us: float, free_us: float) -> Recorder:
    run = Recorder(hip=hip)
    for number in range(4):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(12):
                with run.span("aten::mm"):
                    run.call("Malloc", malloc_us)
                    run.launch(GEMM, 90.0)
                run.call("Free", 90.0 + free_us)
            run.synchronize("DeviceSynchronize")
    return run


@case
def allocator_off() -> Case:
    """For each product, allocating takes 150 µs, computing 90 µs and releasing 120 µs."""
    run = _allocating(hip=False, malloc_us=150.0, free_us=120.0)
    return run, Truth("allocation", 0.74, says="[Cc]aching allocator")


@case
def allocator_off_hip() -> Case:
    """With HIP, allocating takes 60 µs, computing 90 µs and releasing 200 µs for each product."""
    run = _allocating(hip=True, malloc_us=60.0, free_us=200.0)
    return run, Truth("allocation", 0.73, says="[Cc]aching allocator")


@case
def allocator_warms_up() -> Case:
    """Only the first step allocates; each of five steps has 4 ms of products."""
    run = Recorder()
    for number in range(5):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(10):
                if number == 0:
                    run.call("Malloc", 200.0)
                run.op("aten::mm", GEMM, 400.0, host_us=15.0)
            run.synchronize()
    return run, Truth("compute", says_not="[Cc]aching allocator")


# Few kernels of one block each.


@case
def one_block() -> Case:
    """One kernel of one block runs for 25.8 s, with 0.4 s of host work after it."""
    run = Recorder()
    run.host(1_500_000.0)
    run.op("my::scan", "scan_kernel(float*, int)", 25_800_000.0, grid=[1, 1, 1], block=[1, 1, 1])
    run.synchronize()
    run.host(400_000.0)
    run.op("aten::add", POINTWISE, 10.0)
    run.synchronize()
    return run, Truth("too little to judge|compute", says="(1|one|single) (block|thread)")


@case
def one_block_each() -> Case:
    """Three kernels of one block run for 8 s each, with gaps of 0.2 s."""
    run = Recorder()
    for _ in range(3):
        run.op(
            "my::scan", "scan_kernel(float*, int)", 8_000_000.0, grid=[1, 1, 1], block=[32, 1, 1]
        )
        run.synchronize()
        run.host(200_000.0)
    return run, Truth("too little to judge|compute", says="(1|one|single) (block|thread)")


# Processes without a GPU that communicate.


def _gloo(op_us: float, reduce_us: float) -> Recorder:
    run = Recorder(distributedInfo={"backend": "gloo", "rank": 0, "world_size": 2})
    for number in range(3):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(8):
                with run.span("aten::mm"):
                    run.host(op_us / 8)
                run.host(3.0)
            with run.span("c10d::allreduce_"):
                run.host(40.0)
            with run.span("gloo:all_reduce", "user_annotation"):
                run.host(reduce_us)
    return run


@case
def gloo_waits() -> Case:
    """Gloo sums on the CPU for 6 of 10 ms."""
    run = _gloo(4_000.0, 6_000.0)
    return run, Truth("communication", 0.6, second="compute")


@case
def gloo_little() -> Case:
    """Ops run for 8.5 of 10 ms, and gloo for 1.4 ms."""
    run = _gloo(8_500.0, 1_400.0)
    return run, Truth("compute", 0.85)


def _gloo_beside(op: str, word: str, on_host_us: float) -> Recorder:
    """Return steps of 4 ms of products on a GPU, after which the host sums gradients itself."""
    run = Recorder(distributedInfo={"backend": word, "rank": 0, "world_size": 2})
    for number in range(4):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(10):
                run.op("aten::mm", GEMM, 400.0, host_us=15.0)
            run.synchronize()
            with run.span(op):
                run.host(40.0)
            with run.span(f"{word}:all_reduce", "user_annotation"):
                run.host(on_host_us)
    return run


@case
def gloo_beside_gpu() -> Case:
    """Products take 4 ms on the GPU; then gloo sums for 6 ms on the CPU."""
    run = _gloo_beside("c10d::allreduce_", "gloo", 5_960.0)
    return run, Truth("communication", 0.6, second="compute")


@case
def mpi_beside_gpu() -> Case:
    """Products take 4 ms on the GPU; then mpi sums for 1 ms on the CPU."""
    run = _gloo_beside("c10d::allreduce_", "mpi", 960.0)
    return run, Truth("compute", 0.8, second="communication")


# MTIA: waits, and events that enclose others, are among the device's events.


def _mtia(name: str, us: float, run: Recorder, **options: object) -> None:
    began = run.now
    correlation = run.call("runFunction", 5.0)
    options = {"category": "mtia_ccp_events", "earliest": began + 3.0} | options
    run.work(name, us, correlation, **options)


@case
def mtia_waits() -> Case:
    """In a step of 9.5 ms, Event_wait takes 7 ms and products take 2.5 ms."""
    run = Recorder()
    for number in range(3):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(5):
                _mtia("event_wait", 1_400.0, run)
                _mtia("fbgemm::mm", 500.0, run)
            run.call("waitForCompletion", run.free[7] - run.now)
    return run, Truth(
        "dependency|waiting|unknown", 0.73, second="compute", step_ms=9.5, says_not="earlier work"
    )


@case
def mtia_encloses() -> Case:
    """The host starts ten products of 0.25 ms, every 0.7 ms; `remote` and `merge` enclose them."""
    run = Recorder()
    for number in range(3):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            outer = run.now
            for _ in range(10):
                with run.span("aten::mm"):
                    run.host(700.0)
                    _mtia("fbgemm::mm", 250.0, run)
            length = run.free[7] - outer
            run.free[9] = outer
            _mtia("remote", length, run, stream=9, earliest=outer)
            run.free[10] = outer
            _mtia("merge", length, run, stream=10, earliest=outer)
            run.call("waitForCompletion", 20.0)
    return run, Truth("launch", 0.64, second="compute")


# Several streams.


@case
def streams_overlap() -> Case:
    """Three streams run products side by side: 9 ms of work in 3 ms."""
    run = Recorder()
    for number in range(3):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(10):
                for stream in (7, 13, 17):
                    run.op("aten::mm", GEMM, 300.0, host_us=12.0, stream=stream)
            run.synchronize("DeviceSynchronize")
    return run, Truth("compute", 0.98)


@case
def streams_hide_copies() -> Case:
    """Copies of 2.5 ms run beside products of 3 ms."""
    run = Recorder()
    for number in range(3):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.copy(2_500.0, 100 << 20, stream=20)
            for _ in range(10):
                run.op("aten::mm", GEMM, 300.0, host_us=12.0)
            run.synchronize("DeviceSynchronize")
    return run, Truth("compute", 0.98)


@case
def streams_show_copies() -> Case:
    """Products of 3.5 ms wait for a copy of 6 ms on another stream."""
    run = Recorder()
    for number in range(3):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.copy(6_000.0, 240 << 20, stream=20)
            ready = run.free[20]
            run.call("StreamWaitEvent", 2.0)
            for _ in range(10):
                run.op("aten::mm", GEMM, 350.0, host_us=12.0, earliest=ready)
            run.synchronize("DeviceSynchronize")
    return run, Truth("copy", 0.63, second="compute")
