"""The command tracelens, also as `python -m tracelens`: what has to be settled before Polars is imported."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from tracelens.allocator import gives_back_soon


def main() -> None:
    """Run the command line."""
    if "collect" in sys.argv[1:3]:
        threading.Thread(target=_make_ready, daemon=True).start()
        with gives_back_soon():
            import polars  # noqa: F401, ICN001, PLC0415 - with the allocator told
    from tracelens.cli import main as run  # noqa: PLC0415 - imports Polars

    run()


def _make_ready() -> None:
    """Make the torch reader's machine code on another core while this one imports."""
    from tracelens.fast import MODE, ahead  # noqa: PLC0415

    if not MODE:
        folder = Path(__file__).parent
        ahead.prepare("parse", folder / "collectors" / "torch" / "fast" / "kernels.py")
        ahead.prepare("walk", folder / "derive" / "nesting_kernel.py")


if __name__ == "__main__":
    main()
