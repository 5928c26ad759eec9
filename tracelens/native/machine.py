"""Which machine the kernels run on: numba's, or plain Python with every access checked (TRACELENS_KERNELS=checked)."""

from __future__ import annotations

import os

MODE = os.environ.get("TRACELENS_KERNELS", "compiled")

if MODE == "checked":
    from tracelens.native.checked import (
        call,
        entry,
        float_bits,
        high32,
        inline,
        load8,
        load64,
        special32,
        store64,
        trailing_zeros,
        was_compiled,
        wrap,
    )
else:
    from tracelens.native.compiled import (  # type: ignore[assignment]
        call,
        entry,
        float_bits,
        high32,
        inline,
        load8,
        load64,
        special32,
        store64,
        trailing_zeros,
        was_compiled,
        wrap,
    )

__all__ = [
    "MODE",
    "call",
    "entry",
    "float_bits",
    "high32",
    "inline",
    "load8",
    "load64",
    "special32",
    "store64",
    "trailing_zeros",
    "was_compiled",
    "wrap",
]
