"""Distinguish this recorder's calls of torch.profiler from the program's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch.profiler import profile

from .at_exit import held_interrupts, is_importing
from .window import quiet_profiler


class OwnCalls:
    """Marks the recorder's own calls of the profiler. All other calls are the program's."""

    def __init__(self) -> None:
        self._is_inside = False

    @contextlib.contextmanager
    def marked(self) -> Iterator[None]:
        """Mark calls of the profiler in the `with` block as the recorder's own."""
        self._is_inside = True
        try:
            # A Ctrl-C has to wait, because a half-started profiler cannot be stopped.
            with held_interrupts(), quiet_profiler():
                yield
        finally:
            self._is_inside = False

    def must_wait(self) -> bool:
        """Return whether a profiler must not start or stop now.

        It must not during a `with` block of `marked`, or during an import.
        """
        return self._is_inside or is_importing()

    def guard(self, on_foreign: Callable[[], None]) -> Callable[[], None]:
        """Call `on_foreign` before the program starts a profiler itself.

        Return a function that ends these calls.
        """
        original = profile.start

        def start(profiler: Any) -> None:
            if not self._is_inside:
                on_foreign()
            original(profiler)

        def undo() -> None:
            profile.start = original

        profile.start = start
        return undo
