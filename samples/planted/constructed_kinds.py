"""Constructed runs on other makers' devices and libraries, and of kinds that others tried."""

from __future__ import annotations

from samples.planted.constructed_case import (
    GEMM,
    POINTWISE,
    Case,
    Truth,
    case,
    compute,
)
from samples.planted.recorder import COMPUTE, Recorder

_TENSILE = "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN"


@case
def split_recorded() -> Case:
    """8 ms of kernels from before the file; then 30 kernels of 200 µs, with gaps of 4 µs."""
    run = Recorder(first_correlation=5_000)
    run.free[COMPUTE] = run.now
    for number in range(8):
        run.work(GEMM, 1_000.0, 100 + number)
    with run.span("execute_64_context_0(0)_generation_64(64)", "user_annotation"):
        for _ in range(30):
            run.op("aten::linear", GEMM, 200.0, host_us=14.0, gap=4.0)
        run.synchronize("EventSynchronize")
    return run, Truth("compute", 200 / 204, step_ms=6.12, says=r"8 kernels of it.*8\.00 ms")


@case
def startup_hip() -> Case:
    """`hipGetDeviceProperties` takes 10 s; 100 kernels of 400 µs, 100 µs apart; 700 unloads."""
    run = Recorder(hip=True)
    run.call("GetDevicePropertiesR0600", 10_000_000.0)
    for _ in range(4):
        run.call("ModuleLoadData", 30_000.0)
    compute(run, 100, 400.0, 100.0)
    for _ in range(700):
        run.call("ModuleUnload", 50.0)
        run.host(5.0)
    return run, Truth("compute", 0.8, second="dependency")


@case
def startup_in_launches() -> Case:
    """The first launches take 900 and 300 ms, as code is loaded; then 200 products of 150 µs."""
    run = Recorder()
    run.op("aten::randn", POINTWISE, 10.0, cost=900_000.0)
    run.op("aten::mm", GEMM, 150.0, cost=300_000.0)
    compute(run, 200, 150.0, 1.0)
    return run, Truth("compute", 150 / 151)


@case
def startup_of_jax() -> Case:
    """Context and module take 2.3 s; then the driver launches 40 fusions of 200 µs, no ops."""
    run = Recorder()
    run.call("CtxCreate_v2", 300_000.0, "cuda_driver")
    run.call("ModuleLoadDataEx", 2_000_000.0, "cuda_driver")
    for _ in range(40):
        correlation = run.call("LaunchKernelEx", 6.0, "cuda_driver")
        run.work("gemm_fusion_dot_1", 200.0, correlation, earliest=run.now, gap=1.0)
    run.call("StreamSynchronize", run.free[COMPUTE] - run.now, "cuda_driver")
    return run, Truth("compute", 200 / 201)


@case
def allocation_in_the_middle() -> Case:
    """30 ms of products; then a first cudaHostAlloc of 60 ms; then 30 ms more."""
    run = Recorder()
    compute(run, 100, 300.0, 0.0)
    run.call("HostAlloc", 60_000.0)
    compute(run, 100, 300.0, 0.0)
    return run, Truth("compute|allocation", 0.5, says="cudaHostAlloc")


@case
def capture_then_replays() -> Case:
    """A graph is captured, then replayed 30 times: 1.55 ms each, after 0.2 ms of host work."""
    run = Recorder()
    for _ in range(5):
        run.op("aten::mm", GEMM, 15.0, host_us=60.0)
    run.synchronize()
    run.call("StreamBeginCapture", 20.0)
    for _ in range(100):
        with run.span("aten::mm"):
            run.host(40.0)
            run.call("LaunchKernel", 5.0)
    run.call("StreamEndCapture", 300.0)
    run.call("GraphInstantiate", 8_000.0)
    for _ in range(30):
        run.host(200.0)
        run.graph([(GEMM, 15.0)] * 100, gap=0.5)
        run.synchronize()
    says = "between cudaStreamSynchronize and cudaGraphLaunch"
    share = 1_500 / 1_753.5
    return run, Truth("compute", share, "host", says=says, says_not="a CUDA graph|is a capture")


@case
def replays_and_ops() -> Case:
    """Each step replays a graph of 1.83 ms, waits, and runs ten ops of 60 µs (kernels: 5 µs)."""
    run = Recorder()
    for number in range(8):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.graph([(GEMM, 30.0)] * 60, gap=0.5)
            run.synchronize()
            for _ in range(10):
                run.op("aten::add", POINTWISE, 5.0, host_us=60.0)
            run.synchronize()
    return run, Truth("compute", 0.75, "launch", says_not="a CUDA graph")


@case
def allocator_off_driver() -> Case:
    """Without steps, 60 times: cuMemAlloc takes 100 µs, a product 80 µs, cuMemFree 150 µs."""
    run = Recorder()
    for _ in range(60):
        with run.span("aten::mm"):
            run.call("MemAlloc_v2", 100.0, "cuda_driver")
            run.launch(GEMM, 80.0)
        run.call("MemFree_v2", 230.0, "cuda_driver")
    run.synchronize("DeviceSynchronize")
    return run, Truth("allocation", 0.75, "compute", says="[Cc]aching allocator")


@case
def pinned_each_step_hip() -> Case:
    """Each step pins for 1 ms, unpins for 0.8 ms and computes for 3 ms; memory is cached."""
    run = Recorder(hip=True)
    for number in range(4):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            run.call("HostMalloc", 1_000.0)
            run.call("HostFree", 800.0)
            compute(run, 10, 300.0, 0.0)
    return run, Truth("compute", 3 / 4.8, "allocation", says_not="[Cc]aching allocator")


@case
def rank_of_sixteen_hip() -> Case:
    """Only rank 5 of 16 is given: 4 ms of products and 5 ms of all-reduce by RCCL per step."""
    run = Recorder(hip=True, distributedInfo={"backend": "nccl", "rank": 5, "world_size": 16})
    for number in range(3):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(10):
                run.op("aten::mm", _TENSILE, 400.0, host_us=15.0)
            reduce = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
            run.op("c10d::allreduce_", reduce, 5_000.0, host_us=30.0)
            run.synchronize()
    return run, Truth("communication", 5 / 9, "compute", says="cannot be told apart")


@case
def xpu_reads_back() -> Case:
    """An Intel GPU runs 20 kernels of 100 µs a step; `item` waits for each; gaps take 62 µs."""
    name = "Intel(R) Data Center GPU Max 1550"
    run = Recorder(prefix="ur", runtime="xpu_runtime", deviceProperties=[{"id": 0, "name": name}])
    for number in range(4):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            for _ in range(20):
                with run.span("aten::mm"):
                    run.host(20.0)
                    run.launch("gemm_kernel", 100.0, api="EnqueueKernelLaunch")
                with run.span("aten::item"), run.span("aten::_local_scalar_dense"):
                    run.host(5.0)
                    run.synchronize("EventWait")
                run.host(30.0)
    return run, Truth("compute", 100 / 157, "sync", says="urEventWait")


@case
def two_gpus_wait_for_one_place() -> Case:
    """One process, two GPUs: 3 ms of `normalize` on the host, then 2 ms of products on each."""
    gpus = [{"id": number, "name": "NVIDIA H100"} for number in range(2)]
    run = Recorder(deviceProperties=gpus)
    for number in range(5):
        with run.span(f"ProfilerStep#{number}", "user_annotation"):
            with run.span("normalize", "user_annotation"):
                run.host(3_000.0)
            for device in (0, 1):
                run.op("aten::mm", GEMM, 2_000.0, host_us=20.0, device=device, stream=7 + device)
            run.synchronize("DeviceSynchronize")
    return run, Truth("host", 3 / 5.02, "compute", says="mostly in normalize; it", step_ms=5.04)


@case
def server_waits_for_a_socket() -> Case:
    """Without steps, `recv` of a socket takes 20 ms before each of eight requests of 5 ms."""
    run = Recorder()
    for _ in range(8):
        recv = "/usr/lib/python3.11/site-packages/zmq/sugar/socket.py(790): recv"
        with run.span(recv, "python_function"):
            run.host(20_000.0)
        with run.span("/opt/serve/engine.py(88): step", "python_function"):
            compute(run, 10, 500.0, 1.0)
    return run, Truth("host", 140 / 180.2, "compute", says="program only waits")
