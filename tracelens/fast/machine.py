"""The machine operations that kernels are made of: numba's, or those that check every access."""

from __future__ import annotations

from tracelens.fast import MODE

if MODE == "checked":
    from tracelens.fast.checked import (
        call,
        entry,
        float_bits,
        high32,
        inline,
        load8,
        load32,
        load64,
        make_ready,
        plus,
        special32,
        store32,
        store64,
        times,
        trailing_zeros,
        wrap,
    )
else:
    from tracelens.fast.compiled import (
        call,
        entry,
        float_bits,
        high32,
        inline,
        load8,
        load32,
        load64,
        make_ready,
        plus,
        special32,
        store32,
        store64,
        times,
        trailing_zeros,
        wrap,
    )

__all__ = [
    "call",
    "entry",
    "float_bits",
    "high32",
    "inline",
    "load8",
    "load32",
    "load64",
    "make_ready",
    "plus",
    "special32",
    "store32",
    "store64",
    "times",
    "trailing_zeros",
    "wrap",
]
