"""Watch a program's outermost calls of modules, in place of torch.nn.Module.__call__."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch


class OutermostCalls:
    """Calls `begins(module)` at each outermost call of a module.

    After each of these calls, `is_needed()` returns whether to watch for the next one.
    """

    def __init__(self, begins: Callable[[Any], None], is_needed: Callable[[], bool]) -> None:
        self._begins = begins
        self._is_needed = is_needed
        self._own_call: Any = None
        self._watching_call: Any = None

    def install(self) -> None:
        """Save torch's own `Module.__call__` for `stop`, and watch calls if they are needed."""
        module = torch.nn.Module
        original = module.__call__
        watch = self
        is_compiling = torch.compiler.is_compiling

        # Not named self: in frames of module calls, the profiler looks for a module under that
        # name.
        def call(called: Any, *args: Any, **kwargs: Any) -> Any:
            # torch.compile may compile this function. The compiled code must contain only the
            # module's own call.
            if is_compiling():
                return original(called, *args, **kwargs)
            # Inner modules' calls cost nothing.
            module.__call__ = original
            watch._begins(called)
            try:
                return original(called, *args, **kwargs)
            finally:
                watch.resume()

        self._own_call, self._watching_call = original, call
        self.resume()

    def resume(self) -> None:
        """Watch calls if they are needed."""
        if self._watching_call is not None and self._is_needed():
            torch.nn.Module.__call__ = self._watching_call

    def stop(self) -> None:
        """Put torch's own call back."""
        if self._own_call is not None:
            torch.nn.Module.__call__ = self._own_call

    def is_inside(self) -> bool:
        """Return whether a watched call is running."""
        return torch.nn.Module.__call__ is self._own_call

    def running(self) -> Iterator[Any]:
        """Yield the modules with a running call, innermost first."""
        code = getattr(self._own_call, "__code__", None)
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            if frame.f_code is code:
                yield frame.f_locals.get("self")
