"""What the command line settles before Polars is imported: imported by the package before anything else."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path, PurePath

from tracelens.allocator import gives_back_soon

_KERNELS = {"parse": "collectors/torch/fast/kernels.py"}


def is_command() -> bool:
    """Whether this process is the command `tracelens`, or `python -m tracelens`."""
    # While the package of `python -m` is imported, the program has no name yet.
    is_module = sys.argv[:1] == ["-m"] and "tracelens" in sys.orig_argv
    return is_module or PurePath(sys.argv[0] if sys.argv else "").stem == "tracelens"


def imported() -> None:
    """All is imported: collect garbage from now on, but not among what was imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def settle() -> None:
    """Import Polars and Arrow with their allocators told, and make machine code meanwhile, on another core."""
    threading.Thread(target=_make_ready, daemon=True).start()
    with gives_back_soon(sys.argv[2:]):
        import polars  # noqa: F401, ICN001, PLC0415 - with the allocator told
        import pyarrow  # noqa: F401, ICN001, PLC0415 - likewise


def _make_ready() -> None:
    from tracelens.fast import MODE, ahead  # noqa: PLC0415

    # An export mostly has too few spans for machine code to be worth while; where it is, it is made then.
    if not MODE and sys.argv[2:3] != ["nsys"]:
        for name, source in _KERNELS.items():
            ahead.prepare(name, Path(__file__).parent / source)


if is_command():
    gc.disable()  # a sixth of the time that importing takes
    if "collect" in sys.argv[1:3]:
        settle()
