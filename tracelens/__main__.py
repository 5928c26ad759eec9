"""The command `tracelens`, and `python -m tracelens`: Ctrl-C ends it from here on, before the modules are imported."""

import os
import signal
import sys
from typing import NoReturn

_SAID, _EXIT_INTERRUPTED = b"interrupted\n", 130


def main() -> NoReturn:
    """Run the command line and exit; interrupted while it is imported or reads its words, at once.

    Where something is at work that must be cleaned up, the command line has Ctrl-C raise
    KeyboardInterrupt again.
    """
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # it may be ignored, as behind a script's `&`
        signal.signal(signal.SIGINT, _exit)
    from tracelens.cli.app import main as run  # noqa: PLC0415

    run()


def _exit(*_: object) -> NoReturn:
    if sys.stderr is not None:
        os.write(sys.stderr.fileno(), _SAID)
    os._exit(_EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
