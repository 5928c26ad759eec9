"""Prepare this process for a captured program, and replace it by the program with exec.

This file is started as a script and uses only the standard library. Popen's preexec_fn is not safe
in a process with threads.

- `launch.py child SIGNAL REPORT PARENT PROGRAM ARGUMENTS…` runs the file PROGRAM. The kernel sends
  the program SIGNAL when PARENT dies. If the program cannot start, its errno is written to the file
  descriptor REPORT. The first of ARGUMENTS is the program's argv[0].
- `launch.py under_gdb IN OUT ERR UNSET PARENT PROGRAM ARGUMENTS…` is run by gdb. The program gets
  the user's standard streams IN, OUT and ERR instead of gdb's. The environment variables UNSET,
  joined by commas, are removed.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress

_PR_SET_PDEATHSIG, _PR_SET_PTRACER = 1, 0x59616D61


def main(role: str, words: list[str]) -> None:
    """Replace this process by the program in `words`; `role` is `child` or `under_gdb`."""
    # Python ignores these two signals, and the program would inherit that.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    if role == "child":
        _become_child(int(words[0]), int(words[1]), int(words[2]), words[3:])
    else:
        streams = [int(word) for word in words[:3]]
        _become_traced(streams, words[3].split(","), int(words[4]), words[5:])


def _become_child(number: int, error_pipe: int, parent: int, command: list[str]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)
    os.set_inheritable(error_pipe, False)
    try:
        os.execv(command[0], command[1:])  # noqa: S606 - becomes what it was told to
    except OSError as error:
        os.write(error_pipe, str(error.errno).encode())
        os._exit(126)


def _become_traced(streams: list[int], unset: list[str], parent: int, command: list[str]) -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _take_streams(streams, parent)
    # If Yama restricts ptrace, py-spy may read the program only if the program permits py-spy or
    # its parent.
    libc.prctl(_PR_SET_PTRACER, ctypes.c_ulong(parent), 0, 0, 0)
    for name in unset:
        os.environ.pop(name, None)
    os.execv(command[0], command)  # noqa: S606 - as above


def _take_streams(streams: list[int], parent: int) -> None:
    """Use the file descriptors `streams` as standard input, output and error.

    This process also gets a process group of its own. If the parent's group is the foreground group
    of the terminal, the new group becomes the foreground group instead.
    """
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in set(streams):
        os.close(stream)
    with suppress(OSError):
        os.setpgid(0, 0)
    if os.isatty(0):
        # A background group that takes the terminal would be stopped by this signal.
        kept = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(OSError):
            if os.tcgetpgrp(0) == os.getpgid(parent):
                os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, kept)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
