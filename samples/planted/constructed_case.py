"""A constructed trace: its run, what is true of it, and the list to which it belongs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from samples.planted.recorder import Recorder

GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn"
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
GATHER, SCATTER = (f"ncclDevKernel_{word}_RING_LL" for word in ("AllGather", "ReduceScatter_Sum"))
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


@dataclass(frozen=True)
class Truth:
    """The truth about a trace, and what a report must and must not say (regular expressions).

    `bound` may name several verdicts, each of which is right. `share` is the bound's share of the
    program's time, if the construction gives one. `second` is the next largest part; `step_ms` is
    the median step.
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
    """Register a trace under its function's name."""
    CASES[make.__name__] = make
    return make


def compute(run: Recorder, n: int, us: float, gap: float) -> None:
    """Launch n kernels of `us` µs, `gap` µs apart, and wait for them."""
    for _ in range(n):
        run.op("aten::mm", GEMM, us, host_us=20.0, gap=gap)
    run.synchronize()
