"""Distinguish this recorder's calls of torch.profiler from the program's."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from torch.autograd import profiler as autograd_profiler
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
        undo: list[Callable[[], None]] = []

        def patch(owner: Any, name: str) -> None:
            original = getattr(owner, name)

            @functools.wraps(original)
            def start(profiler: Any) -> Any:
                if not self._is_inside:
                    on_foreign()
                return original(profiler)

            setattr(owner, name, start)
            undo.append(lambda: setattr(owner, name, original))

        patch(profile, "start")
        patch(autograd_profiler.profile, "__enter__")

        def undo_all() -> None:
            while undo:
                undo.pop()()

        return undo_all
