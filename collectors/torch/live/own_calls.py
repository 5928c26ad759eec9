"""Tell this recorder's calls of torch.profiler from those of the program."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch.profiler import profile

from .at_exit import held_interrupts, is_importing
from .window import quiet_profiler


class OwnCalls:
    """Marks the calls to the profiler that the recorder makes; the program makes all others."""

    def __init__(self) -> None:
        self._is_inside = False

    @contextlib.contextmanager
    def marked(self) -> Iterator[None]:
        """Mark the profiler's calls in the body as the recorder's.

        A Ctrl-C waits for them: a profiler that is interrupted half-started can neither go on nor
        be stopped.
        """
        self._is_inside = True
        try:
            with held_interrupts(), quiet_profiler():
                yield
        finally:
            self._is_inside = False

    def are_to_wait(self) -> bool:
        """Return whether nothing may start or stop now: in such a call, or in an import."""
        return self._is_inside or is_importing()

    def guard(self, on_foreign: Callable[[], None]) -> Callable[[], None]:
        """Call back before the program starts a profiler of its own; return what ends that."""
        original = profile.start

        def start(profiler: Any) -> None:
            if not self._is_inside:
                on_foreign()
            original(profiler)

        def undo() -> None:
            profile.start = original

        profile.start = start
        return undo
