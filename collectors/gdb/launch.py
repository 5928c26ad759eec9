"""Start gdb, and under it the program: run as a script by the live capture, once for each.

`launch.py gdb PARENT GDB ARGUMENTS…` becomes gdb, which the kernel kills when its parent dies. gdb runs
`launch.py program PARENT IN OUT ERR UNSET PROGRAM ARGUMENTS…`, which becomes the program, with the user's own standard
streams in place of gdb's, and without the environment variables UNSET (joined by commas) that gdb sets.

A script of its own because Popen's preexec_fn is not safe in a process with threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

_PR_SET_PDEATHSIG, _PR_SET_PTRACER = 1, 0x59616D61


def main() -> None:
    """Become what the arguments say."""
    role, parent, *words = sys.argv[1:]
    # Python ignores these two, and what is ignored stays so in the program.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if role == "gdb":
        if os.getppid() != int(parent):
            os._exit(1)
        os.execv(words[0], words)  # noqa: S606 - becomes what it was told to
    _take_streams([int(word) for word in words[:3]], int(parent))
    # Where Yama restricts ptrace, py-spy may read the program only if the program names it or its parent.
    libc.prctl(_PR_SET_PTRACER, ctypes.c_ulong(int(parent)), 0, 0, 0)
    for name in filter(None, words[3].split(",")):
        os.environ.pop(name, None)
    os.execv(words[4], words[4:])  # noqa: S606


def _take_streams(streams: list[int], parent: int) -> None:
    """Make the user's streams the standard ones, and this process group the terminal's, where the parent's was."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in set(streams):
        os.close(stream)
    with suppress(OSError):
        os.setpgid(0, 0)
    if os.isatty(0):
        kept = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a group in the background may not take it otherwise
        with suppress(OSError):
            if os.tcgetpgrp(0) == os.getpgid(parent):
                os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, kept)


if __name__ == "__main__":
    main()
