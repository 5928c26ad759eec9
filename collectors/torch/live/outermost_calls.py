"""Watch a program's outermost calls of modules, in place of torch.nn.Module.__call__."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch


class OutermostCalls:
    """Calls `begins(module)` at each outermost call of a module.

    After each of these calls, `is_needed()` returns whether to watch for the next one.
    `is_recording()` returns whether the profiler records or warms up.
    """

    def __init__(
        self,
        begins: Callable[[Any], None],
        is_needed: Callable[[], bool],
        is_recording: Callable[[], bool],
    ) -> None:
        self._begins = begins
        self._is_needed = is_needed
        self._is_recording = is_recording
        self._own_call: Any = None
        self._watching_call: Any = None
        self._is_inside = False

    def install(self) -> None:
        """Save torch's own `Module.__call__` for `stop`, and watch calls if they are needed."""
        original = torch.nn.Module.__call__
        watch = self
        is_compiling = torch.compiler.is_compiling

        # Not named self: in frames of module calls, the profiler looks for a module under that
        # name.
        def call(called: Any, *args: Any, **kwargs: Any) -> Any:
            # torch.compile may compile this function. The compiled code must contain only the
            # module's own call.
            if is_compiling() or watch._is_inside:
                return original(called, *args, **kwargs)
            watch._is_inside = True
            try:
                watch._stop_if_recording()
                watch._begins(called)
                watch._stop_if_recording()
                return original(called, *args, **kwargs)
            finally:
                watch._is_inside = False
                watch.resume()

        self._own_call, self._watching_call = original, call
        self.resume()

    def resume(self) -> None:
        """Watch calls if they are needed. During an outermost call, do so when it ends."""
        if self._watching_call is None or self._is_inside:
            return
        if self._is_needed():
            _replace(self._watching_call)
        elif torch.nn.Module.__call__ is self._watching_call:
            self.stop()

    def stop(self) -> None:
        """Put torch's own call back."""
        if self._own_call is not None:
            _replace(self._own_call)

    def _stop_if_recording(self) -> None:
        """Put torch's own call back while the profiler records or warms up.

        Otherwise torch would take the watching call for its own, and record inner modules twice.
        """
        if self._is_recording():
            self.stop()

    def is_inside(self) -> bool:
        """Return whether an outermost call is running, or no calls are watched."""
        return self._is_inside or torch.nn.Module.__call__ is self._own_call

    def running(self) -> Iterator[Any]:
        """Yield the modules with a running call, innermost first."""
        code = getattr(self._own_call, "__code__", None)
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            if frame.f_code is code:
                yield frame.f_locals.get("self")


def _replace(call: Any) -> None:
    """Make `call` the method that calls modules.

    Each change of this method empties Python's caches of the attributes of all modules. So it is
    changed only if it is another one.
    """
    if torch.nn.Module.__call__ is not call:
        torch.nn.Module.__call__ = call
