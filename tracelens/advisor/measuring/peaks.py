"""Measure a GPU's peaks: matrix products by element type, and copies within its memory."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Any

from tracelens.advisor.measuring.benchmark_target import clocked
from tracelens.advisor.plan import load_torch
from tracelens.errors import ToolError, first_line
from tracelens.running.program import driver_version

_DTYPES = {
    "fp32": "float32",
    "tf32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp8": "float8_e4m3fn",
}
_ROUNDS, _ROUND_NS = 7, 20_000_000
_SIZES, _COPIED_BYTES = (4096, 8192), 1 << 31


def measure_peaks(
    device: str = "cuda", *, sizes: Sequence[int] = _SIZES, copied_bytes: int = _COPIED_BYTES
) -> dict[str, Any]:
    """Return the peaks of a device, in the form of `read_peaks`.

    A copy's bandwidth counts read and written bytes. If the peak of an element type cannot be
    measured, the key `missing` has the reason. Raises ToolError without torch or a GPU.
    """
    torch = load_torch("peaks")
    if device == "cuda" and not torch.cuda.is_available():
        raise ToolError(
            "tracelens peaks measures a GPU, and torch finds none here (torch.cuda.is_available() is"
            " False); run it where the GPU is"
        )
    wait: Callable[[], Any] = torch.cuda.synchronize if device == "cuda" else lambda: None
    rates: dict[str, float] = {}
    missing: dict[str, str] = {}
    before = torch.get_float32_matmul_precision()
    for name, dtype in _DTYPES.items():
        try:
            torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
            products = {
                size: _product(torch, getattr(torch, dtype), device, size) for size in sizes
            }
            # The best size counts.
            rates[name] = max(2 * size**3 / _seconds(run, wait) for size, run in products.items())
        except (AttributeError, RuntimeError, ValueError) as error:
            # This torch or this device lacks the type.
            missing[name] = first_line(error)
        finally:
            torch.set_float32_matmul_precision(before)
    source = torch.zeros(copied_bytes, dtype=torch.uint8, device=device)
    copied = partial(torch.empty_like(source).copy_, source)
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else device,
        "driver": driver_version(),
        "torch": str(torch.__version__),
        "date": datetime.now(UTC).date().isoformat(),
        "flops_per_s": rates,
        "bandwidth_bytes_per_s": 2 * copied_bytes / _seconds(copied, wait),
        "missing": missing,
    }


def _product(torch: Any, dtype: Any, device: str, size: int) -> Callable[[], Any]:
    """Return a function that multiplies two square matrices of the element type."""
    # Random numbers, because a GPU multiplies zeros faster.
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    if dtype.itemsize > 1:
        return partial(torch.mm, left, right)
    scale = torch.ones((), device=device)
    scaled = torch._scaled_mm  # noqa: SLF001 - there is no other product of fp8
    return partial(
        scaled,
        left,
        right.t(),
        scale_a=scale,
        scale_b=scale,
        out_dtype=torch.bfloat16,
        use_fast_accum=True,
    )


def _seconds(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Return the median seconds that one call takes.

    A round has enough calls to make the time of waiting for the device negligible.
    """
    clocked(run, wait)  # the first call loads the library and chooses the kernel
    n_calls = 1
    while (ns := clocked(lambda: [run() for _ in range(n_calls)], wait)) < _ROUND_NS:  # noqa: B023 - called at once
        n_calls = max(2 * n_calls, int(n_calls * 1.2 * _ROUND_NS / max(ns, 1)))
    return (
        median(
            clocked(lambda: [run() for _ in range(n_calls)], wait) / n_calls for _ in range(_ROUNDS)
        )
        / 1e9
    )
