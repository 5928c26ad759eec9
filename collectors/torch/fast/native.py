"""The parsing kernel as a function to call, whichever way it can be had on this machine."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tracelens.fast import MODE, ahead

_HERE = Path(__file__).parent
SOURCES = [
    *(_HERE / f"{name}.py" for name in ("kernels", "scanning", "layout", "fields")),
    Path(ahead.__file__).with_name("compiled.py"),
]
"""What the kernel is made of; the text compiled ahead stands beside the first."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """The entry point, which takes the address of its state, and how it was had."""

    parse: Callable[[int], int]
    path: str


@functools.cache
def kernels() -> Kernels | None:
    """The kernel in machine code; None where numba is not there, or TRACELENS_KERNELS=off."""
    if MODE == "off" or (MODE != "checked" and importlib.util.find_spec("numba") is None):
        return None
    if not MODE:
        parse = ahead.load("parse", SOURCES)
        if parse is not None:
            return Kernels(parse, "numba (compiled ahead)")
    from tracelens.collectors.torch.fast import kernels as source  # noqa: PLC0415 - numba is optional
    from tracelens.fast.machine import make_ready  # noqa: PLC0415

    if MODE == "checked":
        return Kernels(source.parse, "checked")
    return Kernels(source.parse, "numba (compiled this run)" if make_ready(source.parse) else "numba")
