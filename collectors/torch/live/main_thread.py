"""Make the main thread run a function, or run a function when the present thread ends.

This is needed because only the thread that started the profiler can stop it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

from .at_exit import in_main_thread, is_main_thread

# The signal is ignored unless the program handles it. Windows has no such signal.
_SIGNAL = getattr(signal, "SIGURG", None)
_local = threading.local()


def can_wake_main_thread() -> None:
    """Let `wait_for_main_thread` wake a main thread that waits, for example in `Thread.join`.

    SIGURG gets a handler, unless the program has one, because an ignored signal wakes no thread.
    """
    if _SIGNAL is None or not is_main_thread():
        return
    if signal.getsignal(_SIGNAL) in (signal.SIG_DFL, signal.SIG_IGN):
        signal.signal(_SIGNAL, _woken)


def wait_for_main_thread(call: Callable[[], None], seconds: float) -> bool:
    """Run `call` in the main thread, and wait for its end.

    Return False if `call` did not end within `seconds`. If `call` has not begun by then, it never
    runs.
    """
    is_over = threading.Event()
    is_given_up = threading.Event()

    def called() -> None:
        if not is_given_up.is_set():
            call()
            is_over.set()

    in_main_thread(called)
    main = threading.main_thread().ident
    if _SIGNAL is not None and main is not None and signal.getsignal(_SIGNAL) is _woken:
        signal.pthread_kill(main, _SIGNAL)
    if not is_over.wait(seconds):
        is_given_up.set()
    return is_over.is_set()


def at_thread_end(call: Callable[[], None]) -> None:
    """Run the function `call` in the present thread when that thread ends.

    `call` does not run if the end of the program cuts the thread off.
    """
    _local.end = _End(call)


def _woken(_number: int, _frame: object) -> None:
    """Do nothing. A handled signal interrupts a wait, and Python then runs pending calls."""


class _End:
    """Makes a call when it is deleted.

    Only one thread holds the object, and Python deletes it when this thread ends.
    """

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def __del__(self) -> None:
        self._call()
