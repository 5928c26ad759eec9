"""A kernel as a function to call, whichever way it can be had on this machine."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tracelens.fast import MODE, ahead

MACHINE = Path(ahead.__file__).with_name("compiled.py")
"""A source of every kernel."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of the address of its state, and how it was had."""

    run: Callable[[int], int]
    path: str


@functools.cache
def ready(module: str, name: str, sources: tuple[Path, ...]) -> Kernel | None:
    """The kernel `name` of a module, made of `sources`; None where numba is not there or TRACELENS_KERNELS=off."""
    if MODE == "off" or (MODE != "checked" and importlib.util.find_spec("numba") is None):
        return None
    if not MODE:
        run = ahead.load(name, sources)
        if run is not None:
            return Kernel(run, "numba (compiled ahead)")
    try:
        from tracelens.fast.machine import make_ready  # noqa: PLC0415 - numba is optional
    except ImportError:  # numba is there, but not for the NumPy that is there
        return None
    function = getattr(importlib.import_module(module), name)
    if MODE == "checked":
        return Kernel(function, "checked")
    return Kernel(function, "numba (compiled this run)" if make_ready(function) else "numba")
