"""Write traces of kinds that public ones have and no program here plants.

    python -m samples.planted.construct

Each is a run that is worked out event by event, so what limits it follows from the construction:
constructed/NAME.pt.trace.json.gz, and constructed/truth.json, which says what a report must say.
Shares are those of the program's time, without start-up, tear-down and work from before the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from samples.planted.recorder import COMPUTE, Recorder

OUT = Path(__file__).parent / "constructed"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn"
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
GATHER, SCATTER = (f"ncclDevKernel_{word}_RING_LL" for word in ("AllGather", "ReduceScatter_Sum"))
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


@dataclass(frozen=True)
class Truth:
    """What is true of a trace, and what a report must and must not say (regular expressions).

    `bound` may name several, of which each is right. `share` is the bound's share of the program's
    time, where the construction gives one; `second` the next part; `step_ms` the median step.
    """

    bound: str
    share: float | None = None
    second: str | None = None
    step_ms: float | None = None
    says: str | None = None
    says_not: str | None = None


Case = tuple[Recorder, Truth]
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """List a trace under its function's name."""
    CASES[make.__name__] = make
    return make


# A serving trace that was split by step: the device still runs what the step before launched.


def _split(n: int, kernel_us: float, earlier_us: float, gap: float) -> tuple[Recorder, float]:
    """Record a step of n kernels, launched while the device is busy with unrecorded work.

    That work takes `earlier_us`.
    """
    run = Recorder()
    earlier = run.now + earlier_us
    for _ in range(n):
        run.op("aten::mm", GEMM, kernel_us, host_us=12.0, earliest=earlier, gap=gap)
    run.synchronize("EventSynchronize")
    return run, n * kernel_us / (n * kernel_us + (n - 1) * gap)


@case
def split_decode() -> Case:
    """40 kernels of 245 µs, 15 µs between; 8.6 ms of earlier work."""
    run, share = _split(40, 245.0, 8_600.0, 15.0)
    return run, Truth("compute", share)


@case
def split_prefill() -> Case:
    """12 kernels of 4 ms; 20 ms of earlier work."""
    run, share = _split(12, 4_000.0, 20_000.0, 5.0)
    return run, Truth("compute", share)


@case
def split_graph() -> Case:
    """A graph of 60 kernels of 150 µs; 5 ms of earlier work."""
    run = Recorder()
    with run.span("execute_context_0(0)_generation_8(8)", "user_annotation"):
        run.graph([(GEMM, 150.0)] * 60, gap=2.0, earliest=run.now + 5_000.0)
        run.synchronize()
    return run, Truth("compute", 9_000 / 9_118, says_not="CUDA graph saves")


@case
def split_server() -> Case:
    """One of five steps, 30 kernels of 300 µs, 3 µs between."""
    run, begins, earlier_done = Recorder(), [], 0.0
    for number in range(5):
        begins.append(run.now)
        with run.span(f"step[DECODE bs={number + 8}]", "user_annotation"):
            for _ in range(30):
                run.op("aten::mm", GEMM, 300.0, host_us=15.0, gap=3.0)
            run.call("EventSynchronize", max(earlier_done - run.now, 0.0) + 4.0)
        earlier_done = run.free[COMPUTE]
    run.keep(begins[2], begins[3])
    return run, Truth("compute", 300 / 303)


@case
def split_end() -> Case:
    """Kernels of 400 µs, 2 µs between; the end is cut off."""
    run = Recorder()
    for number in range(4):
        with run.span(f"step[DECODE bs={number + 8}]", "user_annotation"):
            for _ in range(20):
                run.op("aten::mm", GEMM, 400.0, host_us=20.0, gap=2.0)
    run.keep(0.0, run.now, device_until_us=run.now + 12_000.0)
    return run, Truth("compute", 400 / 402)


# Start-up and tear-down around a short program.


def _compute(run: Recorder, n: int, us: float, gap: float) -> None:
    for _ in range(n):
        run.op("aten::mm", GEMM, us, host_us=20.0, gap=gap)
    run.synchronize()


@case
def startup_free() -> Case:
    """A context is created in 266 ms; then 60 ms of kernels."""
    run = Recorder()
    run.call("Free", 266_000.0)
    for _ in range(3):
        run.call("ModuleLoadData", 5_000.0, "cuda_driver")
    _compute(run, 200, 300.0, 3.0)
    return run, Truth("compute", 300 / 303)


@case
def startup_malloc() -> Case:
    """The first cudaMalloc takes 2,079 of 2,107 ms; then 79 ops of 350 µs with kernels of 5 µs."""
    run = Recorder()
    run.call("Malloc", 2_079_000.0)
    for _ in range(79):
        run.op("aten::add_", POINTWISE, 5.0, host_us=350.0)
    run.synchronize()
    return run, Truth("launch", 345 / 350)


@case
def startup_priority() -> Case:
    """29.9 s of start-up; then 36 ms, of which 30 compute."""
    run = Recorder()
    run.call("DeviceGetStreamPriorityRange", 29_900_000.0)
    run.call("Malloc", 400.0)
    _compute(run, 150, 200.0, 40.0)
    return run, Truth("compute", 200 / 240)


@case
def startup_teardown() -> Case:
    """715 ms of start-up and 39 ms of unloading around 30 ms of kernels."""
    run = Recorder()
    run.call("Free", 715_000.0)
    _compute(run, 100, 300.0, 3.0)
    for _ in range(600):
        run.call("ModuleUnload", 60.0, "cuda_driver")
        run.host(5.0)
    return run, Truth("compute", 300 / 303)


@case
def startup_alone() -> Case:
    """Start-up, and one kernel of 4 µs."""
    run = Recorder()
    run.call("Free", 266_000.0)
    run.call("Malloc", 300.0)
    run.op("aten::fill_", POINTWISE, 4.0, host_us=60.0)
    run.synchronize()
    return run, Truth("too little to judge")


# A program that replays a CUDA graph, and the capture of one.


@case
def replay_dense() -> Case:
    """20 replays of 50 kernels of 20 µs, 0.5 µs between."""
    run = Recorder()
    for number in range(20):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.graph([(GEMM, 20.0)] * 50, gap=0.5)
            run.synchronize()
    return run, Truth("compute", 0.97, says_not="with a CUDA graph|a CUDA graph saves")


@case
def replay_gaps() -> Case:
    """Replays of 100 kernels of 8 µs, 5 µs between, which no host can shorten."""
    run = Recorder()
    for number in range(10):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.graph([(POINTWISE, 8.0)] * 100, gap=5.0)
            run.synchronize()
    return run, Truth("compute", 0.61, says_not="with a CUDA graph|a CUDA graph saves")


@case
def replay_host() -> Case:
    """2.5 ms of unrecorded host work before each replay of 1 ms."""
    run = Recorder()
    for number in range(10):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.host(2_500.0)
            run.graph([(GEMM, 20.0)] * 50, gap=0.5)
            run.synchronize()
    return run, Truth("host", 0.71, second="compute", says_not="a CUDA graph saves")


def _capture(run: Recorder, n: int) -> None:
    run.call("StreamBeginCapture", 20.0)
    for _ in range(n):
        with run.span("aten::mm"):
            run.host(40.0)
            run.call("LaunchKernel", 5.0)
    run.call("StreamEndCapture", 300.0)
    run.call("GraphInstantiate", 8_000.0)


@case
def capture_alone() -> Case:
    """300 launches into a graph that is captured; nothing runs."""
    run = Recorder()
    _capture(run, 300)
    return run, Truth("too little to judge", says="captur", says_not="a CUDA graph saves")


@case
def capture_warm() -> Case:
    """Three kernels of 3 µs, then 400 launches into a graph."""
    run = Recorder()
    for _ in range(3):
        run.op("aten::mm", GEMM, 3.0, host_us=60.0)
    run.synchronize()
    _capture(run, 400)
    return run, Truth("too little to judge", says="captur", says_not="a CUDA graph saves")


# A last step in which nothing but a tail ran.


def _steps(n: int, *, tail_op: bool) -> Recorder:
    run = Recorder()
    for number in range(n):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(19):
                run.op("aten::mm", GEMM, 500.0, host_us=20.0, gap=2.0)
            run.op("aten::mm", GEMM, 450.0, host_us=20.0, gap=2.0)
            run.synchronize()
    with run.span(f"ProfilerStep#{n}", "user_annotation"):
        run.host(40.0)
        if tail_op:
            with run.span("aten::empty"):
                run.host(8.0)
    return run


@case
def tail_after_one() -> Case:
    """A step of 10 ms and one of 0.04 ms."""
    run = _steps(1, tail_op=False)
    return run, Truth("compute", 0.99, step_ms=10.0)


@case
def tail_after_two() -> Case:
    """Two steps of 10 ms and one of 0.05 ms."""
    run = _steps(2, tail_op=True)
    return run, Truth("compute", 0.99, step_ms=10.0)


@case
def tail_after_three() -> Case:
    """Three steps of 10 ms and one of 0.04 ms."""
    run = _steps(3, tail_op=False)
    return run, Truth("compute", 0.99, step_ms=10.0)


# A server: requests that come seldom, a prefill before decoding; and a file that ends within a
# kernel.


@case
def server_without_requests() -> Case:
    """Ten requests of 5 ms, 95 ms in which `queue.get` waits before each."""
    run = Recorder()
    for number in range(10):
        with run.span("queue.py(171): get", "python_function"):
            run.host(95_000.0)
        with (
            run.span("serve.py(40): handle", "python_function"),
            run.span(f"ProfilerStep#{number}", "user_annotation"),
        ):
            _compute(run, 10, 480.0, 0.0)
    return run, Truth("host", 0.95, second="compute", says="waits here for a request")


@case
def prefill_then_decode() -> Case:
    """A prefill of 40 ms, then 60 graphs of 2 ms with 0.3 ms of host work before each."""
    run = Recorder()
    with run.span("execute_context_1(4096)_generation_0(0)", "user_annotation"):
        _compute(run, 80, 500.0, 0.0)
    for _ in range(60):
        run.host(300.0)
        with run.span("execute_context_0(0)_generation_8(8)", "user_annotation"):
            run.graph([(GEMM, 20.0)] * 100, gap=0.2)
            run.synchronize("EventSynchronize")
    return run, Truth("compute", 160 / 179.5, second="host", says_not="a CUDA graph saves")


@case
def cut_in_a_kernel() -> Case:
    """30 kernels of 500 µs; the file ends within the next one, of 20 ms."""
    run = Recorder()
    for _ in range(30):
        run.op("aten::mm", GEMM, 500.0, host_us=20.0, gap=2.0)
    run.keep(0.0, run.now)
    with run.span("aten::mm"):
        run.host(15.0)
        run.call("LaunchKernel", 5.0)
    run.call("DeviceSynchronize", 33_000.0)
    return run, Truth("compute", 500 / 502, says="whose end the trace does not hold")


@case
def replays_of_a_diffusion() -> Case:
    """20 ranges of a user's, each one graph of 200 kernels of 100 µs, 1 µs between."""
    run = Recorder()
    for _ in range(20):
        with run.span("denoise", "user_annotation"):
            run.graph([(GEMM, 100.0)] * 200, gap=1.0)
            run.synchronize()
    return run, Truth("compute", 0.99, says_not="CUDA graph")


@case
def no_calls_recorded() -> Case:
    """As JAX may record it: no calls, 30 kernels of 300 µs, 100 µs between."""
    run = Recorder()
    for number in range(30):
        run.work("gemm_fusion_dot", 300.0, 10_000 + number, gap=100.0, earliest=run.now + 60.0)
    return run, Truth("compute", 300 / 400, second="unknown")


@case
def validation_between_steps() -> Case:
    """Make six steps of 10 ms, 9 of which compute.

    After the third come 80 ms of validation, of which 20 compute.
    """
    run = Recorder()
    for number in range(6):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            _compute(run, 10, 900.0, 0.0)
            run.host(1_000.0)
        if number == 2:
            with run.span("validate", "user_annotation"):
                _compute(run, 10, 2_000.0, 0.0)
                run.host(60_000.0)
    return run, Truth("compute", 74 / 140, second="host", step_ms=10.0)


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
    """Rank 3 of 8 alone: 6.2 of 10 ms in an all-reduce, waiting or not."""
    run = _rank(3_700.0, 6_200.0, hidden=False)
    return run, Truth("communication", 0.62, second="compute", says="cannot|other ranks")


@case
def rank_of_eight_mixed() -> Case:
    """Rank 3 of 8 alone: 7 of 10 ms compute, 2.9 in an all-reduce."""
    run = _rank(7_000.0, 2_900.0, hidden=False)
    return run, Truth("compute", 0.7, second="communication")


@case
def sharded_overlap() -> Case:
    """Make eight layers of 1 ms, their gathers of 0.8 ms beside the layer before.

    1 ms of scatter is at the end.
    """
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
    """An all-reduce of 6 ms beside 9.8 of 10 ms of products."""
    run = _rank(9_800.0, 6_000.0, hidden=True)
    return run, Truth("compute", 0.98)


# The caching allocator off: memory of the device is allocated and released again and again.


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
    """Each product allocates for 150 µs, computes for 90 and releases for 120."""
    run = _allocating(hip=False, malloc_us=150.0, free_us=120.0)
    return run, Truth("allocation", 0.74, says="[Cc]aching allocator")


@case
def allocator_off_hip() -> Case:
    """The same by HIP: 60 µs, 90 µs and 200 µs."""
    run = _allocating(hip=True, malloc_us=60.0, free_us=200.0)
    return run, Truth("allocation", 0.73, says="[Cc]aching allocator")


@case
def allocator_warms_up() -> Case:
    """The first step alone allocates; five steps of 4 ms of products."""
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
    """Three kernels of one block, 8 s each, with 0.2 s between them."""
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
    """Gloo sums for 6 of 10 ms, on the CPU."""
    run = _gloo(4_000.0, 6_000.0)
    return run, Truth("communication", 0.6, second="compute")


@case
def gloo_little() -> Case:
    """Ops for 8.5 of 10 ms, gloo for 1.4."""
    run = _gloo(8_500.0, 1_400.0)
    return run, Truth("compute", 0.85)


def _gloo_beside(op: str, word: str, on_host_us: float) -> Recorder:
    """Steps of 4 ms of products on a GPU, after which the host sums gradients itself."""
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
    """4 ms of products on the GPU, then gloo sums for 6 ms on the CPU."""
    run = _gloo_beside("c10d::allreduce_", "gloo", 5_960.0)
    return run, Truth("communication", 0.6, second="compute")


@case
def mpi_beside_gpu() -> Case:
    """4 ms of products on the GPU, then mpi sums for 1 ms on the CPU."""
    run = _gloo_beside("c10d::allreduce_", "mpi", 960.0)
    return run, Truth("compute", 0.8, second="communication")


# MTIA: waits and enclosing events among the device's.


def _mtia(name: str, us: float, run: Recorder, **options: object) -> None:
    began = run.now
    correlation = run.call("runFunction", 5.0)
    options = {"category": "mtia_ccp_events", "earliest": began + 3.0} | options
    run.work(name, us, correlation, **options)


@case
def mtia_waits() -> Case:
    """Event_wait for 7 of 9.5 ms of a step; products for 2.5."""
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
    """Ten products of 0.25 ms that the host starts every 0.7; `remote` and `merge` enclose them."""
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
    """Three streams of products side by side: 9 ms in 3 ms."""
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
    """2.5 ms of copies beside 3 ms of products."""
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


def main() -> None:
    """Write every trace and truth.json."""
    OUT.mkdir(exist_ok=True)
    truths = {}
    for name, make in CASES.items():
        run, truth = make()
        run.write(OUT / f"{name}.pt.trace.json.gz")
        known = {key: value for key, value in asdict(truth).items() if value is not None}
        truths[name] = {"why": make.__doc__} | known
    (OUT / "truth.json").write_text(json.dumps(truths, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
