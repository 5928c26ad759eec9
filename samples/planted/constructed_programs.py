"""Constructed runs of one program: cut out of a server, starting, replaying graphs, ending."""

from __future__ import annotations

from samples.planted.constructed_case import GEMM, POINTWISE, Case, Truth, case, compute
from samples.planted.recorder import COMPUTE, Recorder

# A serving trace that was split by step: the device still runs work that the step before launched.


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
    """40 kernels of 245 µs run with gaps of 15 µs, after 8.6 ms of earlier work."""
    run, share = _split(40, 245.0, 8_600.0, 15.0)
    return run, Truth("compute", share)


@case
def split_prefill() -> Case:
    """12 kernels of 4 ms run after 20 ms of earlier work."""
    run, share = _split(12, 4_000.0, 20_000.0, 5.0)
    return run, Truth("compute", share)


@case
def split_graph() -> Case:
    """A graph of 60 kernels of 150 µs runs after 5 ms of earlier work."""
    run = Recorder()
    with run.span("execute_context_0(0)_generation_8(8)", "user_annotation"):
        run.graph([(GEMM, 150.0)] * 60, gap=2.0, earliest=run.now + 5_000.0)
        run.synchronize()
    return run, Truth("compute", 9_000 / 9_118, says_not="CUDA graph saves")


@case
def split_server() -> Case:
    """One of five steps is given, with 30 kernels of 300 µs and gaps of 3 µs."""
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
    """Kernels of 400 µs run with gaps of 2 µs, and the end of the trace is cut off."""
    run = Recorder()
    for number in range(4):
        with run.span(f"step[DECODE bs={number + 8}]", "user_annotation"):
            for _ in range(20):
                run.op("aten::mm", GEMM, 400.0, host_us=20.0, gap=2.0)
    run.keep(0.0, run.now, device_until_us=run.now + 12_000.0)
    return run, Truth("compute", 400 / 402)


# Start-up and tear-down around a short program.


@case
def startup_free() -> Case:
    """Creating a context takes 266 ms; then kernels run for 60 ms."""
    run = Recorder()
    run.call("Free", 266_000.0)
    for _ in range(3):
        run.call("ModuleLoadData", 5_000.0, "cuda_driver")
    compute(run, 200, 300.0, 3.0)
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
    """Start-up takes 29.9 s; then the program takes 36 ms, of which 30 ms compute."""
    run = Recorder()
    run.call("DeviceGetStreamPriorityRange", 29_900_000.0)
    run.call("Malloc", 400.0)
    compute(run, 150, 200.0, 40.0)
    return run, Truth("compute", 200 / 240)


@case
def startup_teardown() -> Case:
    """Start-up takes 715 ms, kernels 30 ms, and unloading 39 ms."""
    run = Recorder()
    run.call("Free", 715_000.0)
    compute(run, 100, 300.0, 3.0)
    for _ in range(600):
        run.call("ModuleUnload", 60.0, "cuda_driver")
        run.host(5.0)
    return run, Truth("compute", 300 / 303)


@case
def startup_alone() -> Case:
    """There is only start-up, and one kernel of 4 µs."""
    run = Recorder()
    run.call("Free", 266_000.0)
    run.call("Malloc", 300.0)
    run.op("aten::fill_", POINTWISE, 4.0, host_us=60.0)
    run.synchronize()
    return run, Truth("too little to judge")


# A program that replays a CUDA graph, and the capture of one.


@case
def replay_dense() -> Case:
    """20 replays run 50 kernels of 20 µs each, with gaps of 0.5 µs."""
    run = Recorder()
    for number in range(20):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.graph([(GEMM, 20.0)] * 50, gap=0.5)
            run.synchronize()
    return run, Truth("compute", 0.97, says_not="with a CUDA graph|a CUDA graph saves")


@case
def replay_gaps() -> Case:
    """Replays run 100 kernels of 8 µs, with gaps of 5 µs that no host can shorten."""
    run = Recorder()
    for number in range(10):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.graph([(POINTWISE, 8.0)] * 100, gap=5.0)
            run.synchronize()
    return run, Truth("compute", 0.61, says_not="with a CUDA graph|a CUDA graph saves")


@case
def replay_host() -> Case:
    """The host works for 2.5 ms, unrecorded, before each replay of 1 ms."""
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
    """300 launches go into a graph that is captured, and no kernel runs."""
    run = Recorder()
    _capture(run, 300)
    return run, Truth("too little to judge", says="captur", says_not="a CUDA graph saves")


@case
def capture_warm() -> Case:
    """Three kernels of 3 µs run, then 400 launches go into a graph."""
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
    """A step takes 10 ms, and the last one 0.04 ms."""
    run = _steps(1, tail_op=False)
    return run, Truth("compute", 0.99, step_ms=10.0)


@case
def tail_after_two() -> Case:
    """Two steps take 10 ms each, and the last one 0.05 ms."""
    run = _steps(2, tail_op=True)
    return run, Truth("compute", 0.99, step_ms=10.0)


@case
def tail_after_three() -> Case:
    """Three steps take 10 ms each, and the last one 0.04 ms."""
    run = _steps(3, tail_op=False)
    return run, Truth("compute", 0.99, step_ms=10.0)


# A server: rare requests, or a prefill before decoding; and a file that ends within a kernel.


@case
def server_without_requests() -> Case:
    """Ten requests take 5 ms each; before each one, `queue.get` waits for 95 ms."""
    run = Recorder()
    for number in range(10):
        with run.span("queue.py(171): get", "python_function"):
            run.host(95_000.0)
        with (
            run.span("serve.py(40): handle", "python_function"),
            run.span(f"ProfilerStep#{number}", "user_annotation"),
        ):
            compute(run, 10, 480.0, 0.0)
    return run, Truth("host", 0.95, second="compute", says="program only waits")


@case
def prefill_then_decode() -> Case:
    """A prefill takes 40 ms; then 60 graphs of 2 ms run, each after 0.3 ms of host work."""
    run = Recorder()
    with run.span("execute_context_1(4096)_generation_0(0)", "user_annotation"):
        compute(run, 80, 500.0, 0.0)
    for _ in range(60):
        run.host(300.0)
        with run.span("execute_context_0(0)_generation_8(8)", "user_annotation"):
            run.graph([(GEMM, 20.0)] * 100, gap=0.2)
            run.synchronize("EventSynchronize")
    return run, Truth("compute", 160 / 179.5, second="host", says_not="a CUDA graph saves")


@case
def cut_in_a_kernel() -> Case:
    """30 kernels of 500 µs run, and the file ends within the next one, of 20 ms."""
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
    """20 ranges of the user each run one graph of 200 kernels of 100 µs, with gaps of 1 µs."""
    run = Recorder()
    for _ in range(20):
        with run.span("denoise", "user_annotation"):
            run.graph([(GEMM, 100.0)] * 200, gap=1.0)
            run.synchronize()
    return run, Truth("compute", 0.99, says_not="CUDA graph")


@case
def no_calls_recorded() -> Case:
    """Without calls, as JAX may record it: 30 kernels of 300 µs, with gaps of 100 µs."""
    run = Recorder()
    for number in range(30):
        run.work("gemm_fusion_dot", 300.0, 10_000 + number, gap=100.0, earliest=run.now + 60.0)
    return run, Truth("compute", 300 / 400, second="unknown")


@case
def validation_between_steps() -> Case:
    """Six steps take 10 ms, 9 computing; after the third, 80 ms of validation, 20 computing."""
    run = Recorder()
    for number in range(6):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            compute(run, 10, 900.0, 0.0)
            run.host(1_000.0)
        if number == 2:
            with run.span("validate", "user_annotation"):
                compute(run, 10, 2_000.0, 0.0)
                run.host(60_000.0)
    return run, Truth("compute", 74 / 140, second="host", step_ms=10.0)
