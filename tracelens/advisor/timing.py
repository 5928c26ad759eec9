"""Time calls of library functions, each alone on the device."""

import json
import statistics
import timeit
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import polars as pl

from tracelens.advisor.lowering import laid_out, lowerings
from tracelens.advisor.plan import load_torch
from tracelens.derive.calls.op_catalog import ATTENTION
from tracelens.errors import first_line
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.capture import Capture, SourceFile
from tracelens.trace.combine import combine

KIND = "calls"
_FLUSH_BYTES = 256 << 20
"""Bytes that exceed the second-level cache of any device."""
_BUSY_CYCLES = 200_000


def time_calls(
    candidates: Iterable[Mapping[str, str]],
    n_calls: int = 20,
    warmup: int = 3,
    *,
    flush: bool = True,
) -> Trace:
    """Time each candidate library call alone, and return a trace with the table call_costs.

    The table has one row per candidate. A row has `problem` instead of times if the call fails.
    Times are of CUDA events on a GPU, of the clock on a CPU. With `flush`, the GPU's cache is
    flushed before each call.
    """
    torch = load_torch("timing calls")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    timer = _events(torch, flush=flush) if device.type == "cuda" else _clock
    rows = []
    with torch.no_grad():
        for candidate in candidates:
            row: dict[str, Any] = {
                key: candidate[key] for key in ("function", "call", "dtype", "layout")
            }
            row |= {"n_calls": 0, "device": name}
            try:
                call = _prepare_call(torch, candidate, device)
                for _ in range(warmup):
                    call()
                low, median, high = _quartiles(timer(call, n_calls))
                row |= {"n_calls": n_calls, "median_ns": median, "q1_ns": low, "q3_ns": high}
            except (RuntimeError, KeyError, NotImplementedError) as error:
                row["problem"] = f"{type(error).__name__}: {first_line(error)[:200]}"
            rows.append(row)
    frame = pl.DataFrame(rows, schema=TABLES["call_costs"].without("rank").schema)
    capture = Capture(
        kind=KIND,
        source=SourceFile("calls", KIND, 0, ""),
        tables={"call_costs": frame} if rows else {},
        producer="tracelens collect calls",
        versions={"torch": torch.__version__},
        settings={"device": name, "n_calls": n_calls},
        reasons=dict.fromkeys(TABLES, "tracelens collect calls times single calls only"),
    )
    return combine([capture])


def _quartiles(times: list[float]) -> list[int]:
    quartiles = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    return [round(max(quartile, 0.0)) for quartile in quartiles]


def _clock(call: Callable[[], Any], n: int) -> list[float]:
    return [1e9 * seconds for seconds in timeit.repeat(call, number=1, repeat=n)]


def _events(torch: Any, *, flush: bool) -> Callable[[Callable[[], Any], int], list[float]]:
    """Return a timer that uses CUDA events."""
    cache_sized = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
    keep_busy: Callable[[], Any] = (
        cache_sized.zero_ if flush else partial(torch.cuda._sleep, _BUSY_CYCLES)  # noqa: SLF001
    )

    def timed_ns(call: Callable[[], Any], n: int) -> list[float]:
        pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(n)]
        for begin, end in pairs:
            # The device is kept busy, so that the host is ahead when a call begins.
            keep_busy()
            keep_busy()
            begin.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) * 1e6 for begin, end in pairs]

    of_events_ns = statistics.median(timed_ns(lambda: None, 50))
    return lambda call, n: [max(ns - of_events_ns, 0.0) for ns in timed_ns(call, n)]


def _prepare_call(torch: Any, candidate: Mapping[str, str], device: Any) -> Callable[[], Any]:
    """Return a function that makes the candidate's call, on random tensors.

    Raises KeyError for a function that cannot be called alone.
    """
    op, shapes, arguments = json.loads(candidate["call"])
    function = candidate["function"]
    layout = candidate["layout"]
    dtype = getattr(torch, candidate["dtype"])

    def tensor(shape: list[int]) -> Any:
        return laid_out(
            torch.randn(shape, device=device, dtype=dtype),
            layout,
        )

    x = tensor(shapes[0])
    if function in ("to_nhwc", "to_nchw"):
        source = laid_out(x, "NCHW" if layout == "NHWC" else "NHWC")
        return partial(laid_out, source, layout)
    call = lowerings()[function]
    inputs: list[Any] = [x]
    if op in ("conv2d", "linear"):
        weight = tensor(shapes[1])
        bias = tensor(shapes[2]) if shapes[2] else None
        inputs += [weight, bias]
        if function == "conv_add_relu":
            inputs.append(torch.conv2d(x, weight, bias, *arguments))
        elif function == "linear_add":
            inputs.append(torch.nn.functional.linear(x, weight))
        inputs += arguments
    elif op == ATTENTION:
        inputs += [tensor(shape) if shape else None for shape in shapes[1:]]
    elif op == "batch_norm":
        norm = [torch.rand(shapes[0][1], device=device, dtype=dtype) + 0.5 for _ in range(4)]
        inputs += [*norm, 0.1, 1e-5]
    elif op in ("add", "mul"):
        inputs.append(tensor(shapes[1]))
    else:
        inputs += arguments
    return partial(call, *inputs)
