"""Breakpoints that are worth having a name, and what to do where one was never reached."""

from __future__ import annotations

from collections.abc import Sequence

DEFAULT_SYMBOL = "cudnnConvolutionForward"
"""The symbol of "Comparing the costs of abstraction for DL frameworks"."""

BACKEND_SYMBOL = "cudnnBackendExecute"
"""How PyTorch 2 calls cuDNN, unless TORCH_CUDNN_V8_API_DISABLED=1 is set."""

PRESETS: dict[str, tuple[str, ...]] = {
    "cudnn": (
        BACKEND_SYMBOL,
        DEFAULT_SYMBOL,
        "cudnnConvolutionBiasActivationForward",
        "cudnnConvolutionBackwardData",
        "cudnnConvolutionBackwardFilter",
    ),
    "launch": ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx"),
    "cpu": ("dnnl_primitive_execute",),
}
"""Symbols by name: convolutions in cuDNN, kernel launches of CUDA's runtime and driver, oneDNN on the CPU."""

_LEGACY = frozenset(symbol for symbol in PRESETS["cudnn"] if symbol != BACKEND_SYMBOL)


def wants_backend_hint(symbols: tuple[str, ...]) -> bool:
    """Whether only functions of cuDNN's older interface were asked for, which torch may go past."""
    return BACKEND_SYMBOL not in symbols and any(symbol in _LEGACY for symbol in symbols)


def never_reached(symbols: Sequence[str], *, resolved: bool, backend_loaded: bool) -> str:
    """Why breakpoints were never hit, and what to do: still pending all, or resolved all and not called."""
    names = ", ".join(symbols)
    said = (
        f"{names}: found, but never called"
        if resolved
        else f"{names}: never found, the breakpoint is still pending: no library that was loaded defines it"
    )
    if backend_loaded and _LEGACY.intersection(symbols):
        return (
            f"{said}. {BACKEND_SYMBOL} is loaded, by which PyTorch 2 calls cuDNN instead: break there "
            f"(--break {BACKEND_SYMBOL}, or --preset cudnn), or run the program with TORCH_CUDNN_V8_API_DISABLED=1"
        )
    if resolved:
        return f"{said}; check that the program comes to it, or name another function with --break"
    return f"{said}; check its spelling (nm -DC LIBRARY lists the names), and that the program loads its library"
