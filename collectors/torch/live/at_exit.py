"""Call functions at the end of the program, before its forks, and in its main thread."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing import util
from types import FrameType
from typing import Any

_PENDING = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_AGAIN_S = 0.02
_kept: list[Any] = []

OWN_THREADS = "tracelens"
"""Prefix of the names of the recorder's own threads."""


def is_main_thread() -> bool:
    """Return whether this is the main thread."""
    return threading.current_thread() is threading.main_thread()


def at_end(finish: Callable[[], None], in_child: Callable[[], None]) -> Callable[[], None]:
    """Call `finish` when this process exits, raises or gets SIGTERM.

    `in_child` is called in each forked child process. Return a function that removes both calls.
    """
    process_id = os.getpid()
    active = [True]

    def finish_here() -> None:
        if active and os.getpid() == process_id:
            finish()

    def forget() -> None:
        active.clear()
        atexit.unregister(finish_at_exit)

    def forked() -> None:
        if active:
            in_child()

    def finish_at_exit() -> None:
        finish_here()
        if issubclass(getattr(sys, "last_type", None) or Exception, KeyboardInterrupt):
            _remember_interrupt()

    atexit.register(finish_at_exit)
    # multiprocessing ends its child processes without running atexit functions.
    util.Finalize(None, finish_here, exitpriority=0)
    os.register_at_fork(after_in_child=forked)
    # Interrupts and exceptions end in an exit by themselves, but SIGTERM does not. A program that
    # handles SIGTERM keeps its handler.
    if is_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(
            signal.SIGTERM,
            lambda number, _frame: _terminate(number, finish_here),
        )
    return forget


def _remember_interrupt() -> None:
    """Make sure that Python ends by SIGINT after an uncaught KeyboardInterrupt."""
    # Python forgets the interrupt if code is run from text at exit. Stopping torch's profiler may
    # import a module with a dataclass, which runs such code.
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")  # noqa: S102 - Python notes an interrupt where code from text raises one


def _terminate(number: int, finish: Callable[[], None]) -> None:
    finish()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def before_fork(call: Callable[[], None]) -> Callable[[], None]:
    """Call the function before each fork of this process.

    Return a function that ends these calls.
    """
    active = [True]
    os.register_at_fork(before=lambda: call() if active else None)
    return active.clear


def later(
    seconds: float,
    call: Callable[[], None],
    is_busy: Callable[[], bool],
) -> Callable[[], None]:
    """Call the function in the main thread after `seconds`, as soon as `is_busy` returns False.

    Return a function that cancels the call.
    """
    cancels: list[Callable[[], None]] = []

    def come() -> None:
        if not cancels:
            return
        if is_busy():
            start(_AGAIN_S)
        else:
            call()

    def start(after: float) -> None:
        released = threading.Lock()
        released.acquire()
        cancels[:] = [released.release]
        # The waiting thread runs no Python code, because the profiler would record it.
        waits = map(released.acquire, [True], [after])
        _thread.start_new_thread(deque, (map(go_on, waits), 0))

    def go_on(is_cancelled: bool) -> None:
        if not is_cancelled:
            in_main_thread(come)

    def forget() -> None:
        for cancel in cancels:
            cancel()
        cancels.clear()

    start(seconds)
    return forget


def is_importing() -> bool:
    """Return whether a module is being imported, so that modules may be half initialised."""
    specs = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
    return any(getattr(spec, "_initializing", False) is True for spec in specs)


def in_main_thread(call: Callable[[], None]) -> None:
    """Make the main thread run the call between two of its instructions.

    A profiler can be stopped only in the thread that started it.
    """

    def pending(_: object) -> int:
        call()
        return 0

    callback = _PENDING(pending)
    _kept.append(callback)
    ctypes.pythonapi.Py_AddPendingCall(callback, None)


@contextlib.contextmanager
def held_interrupts() -> Iterator[None]:
    """Delay a Ctrl-C until the `with` block ends, so that files written in the block are whole."""
    held: list[tuple[int, FrameType | None]] = []
    if not is_main_thread():
        yield
        return
    old = signal.getsignal(signal.SIGINT)
    if old is None or old is signal.SIG_IGN:
        yield
        return
    signal.signal(
        signal.SIGINT,
        lambda number, frame: held.append((number, frame)),
    )
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
        if held and callable(old):
            old(*held[0])
