"""The command `tracelens`, and `python -m tracelens`: Ctrl-C ends it from here on, before the modules are imported."""

import os
import signal
import sys
from typing import NoReturn

_SAID, _EXIT_INTERRUPTED = b"interrupted\n", 130


def main() -> NoReturn:
    """Run the command line and exit; interrupted while it is imported or reads its words, at once.

    Where something is at work that must be cleaned up, the command line has Ctrl-C raise KeyboardInterrupt again.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it may be ignored, as behind a script's `&`
        signal.signal(signal.SIGINT, _exit)
    if "report" in sys.argv[1:3]:
        _keep_memory()
    from tracelens.cli.app import main as run  # noqa: PLC0415 - it takes the time in which Ctrl-C may come

    run()


def _keep_memory() -> None:
    """Have Polars and Arrow keep freed memory for ten seconds, unless somebody has told it something.

    Analyses need as much memory one after the other: a page of 1 M kernels has a third fewer page faults so.
    """
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10000,oversize_threshold:0,narenas:1")
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")


def _exit(*_: object) -> NoReturn:
    if sys.stderr is not None:
        os.write(sys.stderr.fileno(), _SAID)
    os._exit(_EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
