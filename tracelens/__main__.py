"""Run the command line, as `tracelens` or as `python -m tracelens`.

Ctrl-C ends it at once, even while modules are imported.
"""

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

_INTERRUPTED_MESSAGE, _EXIT_INTERRUPTED = b"interrupted\n", 130
_LEAST_BYTES = 2_000_000_000
"""Smallest address space with which the command starts.

With less, the loaded libraries end the process without a message. In tests, this happened with 1.1
to 2 GB. Most of the space is reserved but never used.
"""
_SMALL_BYTES = 20_000_000
"""Most bytes of files that are answered on one core."""
_ANSWERING = ("report", "whatif")
_COMPRESSED = (".gz", ".zst", ".xz", ".bz2")


def main() -> NoReturn:
    """Run the command line and exit. Ctrl-C ends it at once, even while modules are imported."""
    # A background job (`&` in a script) ignores SIGINT, and keeps doing so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)
    _refuse_little_memory()
    _stay_on_one_core(sys.argv[1:])
    # Python's last garbage collection walks all objects, which takes 6 % of the time of a page.
    atexit.register(gc.freeze)
    from tracelens.cli.app import main as run  # noqa: PLC0415

    run()


def _refuse_little_memory() -> None:
    """Exit with a message if `ulimit -v` or `-d` leaves less memory than the libraries need."""
    try:
        import resource  # noqa: PLC0415 - Windows has no such module, and no such limits
    except ImportError:
        return
    for letter, kind in (("v", resource.RLIMIT_AS), ("d", resource.RLIMIT_DATA)):
        allowed = resource.getrlimit(kind)[0]
        if allowed != resource.RLIM_INFINITY and allowed < _LEAST_BYTES:
            sys.exit(
                f"error: ulimit -{letter} {allowed >> 10} allows {allowed / 1e9:.1f} GB of memory;"
                f" tracelens reserves {_LEAST_BYTES / 1e9:.0f} GB: raise it"
            )


def _stay_on_one_core(arguments: Sequence[str]) -> None:
    """Keep the process on its present core if it only answers small files.

    Polars has a thread per core and hands each of a thousand small queries to them. Waking these
    threads on other cores takes a quarter of such an answer's time.
    """
    paths = [argument for argument in arguments if os.path.exists(argument)]
    is_answer = arguments[:1] == paths[:1] or (arguments and arguments[0] in _ANSWERING)
    if not paths or not is_answer or not all(map(os.path.isfile, paths)):
        return
    if sum(map(_weight, paths)) > _SMALL_BYTES:
        return
    try:
        with open("/proc/self/stat") as file:
            core = int(file.read().rpartition(")")[2].split()[36])
        os.sched_setaffinity(0, {core})
    except (OSError, ValueError, IndexError, AttributeError):
        pass  # not on Linux, or not allowed: the answer takes a little longer


def _weight(path: str) -> int:
    """Return a file's bytes, about as many as it has when it is unpacked."""
    return os.path.getsize(path) * (10 if path.endswith(_COMPRESSED) else 1)


def _exit(*_: object) -> NoReturn:
    if sys.stderr is not None:
        os.write(sys.stderr.fileno(), _INTERRUPTED_MESSAGE)
    os._exit(_EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
