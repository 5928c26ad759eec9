"""The command tracelens, also as `python -m tracelens`: what has to be settled before Polars is imported."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

_ALLOCATOR = "_RJEM_MALLOC_CONF"
# Polars' allocator keeps freed memory for ten seconds, which is longer than most collects take: half of their peak.
_GIVE_BACK = "dirty_decay_ms:100,muzzy_decay_ms:0"


def main() -> None:
    """Run the command line."""
    begun = None
    if "collect" in sys.argv[1:3]:
        begun = threading.Thread(target=_make_ready, daemon=True)
        begun.start()
        _import_polars()
    from tracelens.cli import main as run  # noqa: PLC0415 - after the allocator is told

    run()


def _import_polars() -> None:
    """Import Polars with an allocator that gives memory back soon; programs started from here are not told so."""
    told = os.environ.get(_ALLOCATOR)
    if told is None:
        os.environ[_ALLOCATOR] = _GIVE_BACK
    import polars  # noqa: F401, ICN001, PLC0415

    if told is None:
        del os.environ[_ALLOCATOR]


def _make_ready() -> None:
    """Make machine code of the torch reader's kernel meanwhile, on the other core."""
    from tracelens.fast import MODE, ahead  # noqa: PLC0415

    if not MODE:
        folder = Path(__file__).parent
        ahead.prepare("parse", folder / "collectors" / "torch" / "fast" / "kernels.py")
        ahead.prepare("walk", folder / "derive" / "nesting_kernel.py")


if __name__ == "__main__":
    main()
