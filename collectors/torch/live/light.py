"""Record a second window of the program with little detail, to get its times.

The first window also records Python calls, shapes and modules, which slows the host.
`collectors.torch.two_windows` combines both windows into one trace.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerAction

from .own_calls import OwnCalls
from .settings import Settings
from .settling import whole_turns
from .step_times import LIGHT, SETTLING, WARMUP
from .window import Window, export_trace

BETWEEN = 3
"""The number of steps without the profiler between the windows.

The step right after the first window is not counted.
"""
_MOST_STEPS = 32
"""The largest number of steps in a window that is extended.

The extension lets each loader worker deliver equally many batches. Each recorded step takes memory
of the program.
"""


class LightWindow:
    """Records a second window of steps, `BETWEEN` steps after the first window.

    Call `plan` when the first window has ended, and `begin_step` when a step begins. The main
    thread makes all calls, because only the thread that starts a profiler can stop it. A window
    that is not complete when the program ends is dropped.
    """

    def __init__(
        self,
        settings: Settings,
        trace: Path,
        own_calls: OwnCalls,
        on_save: Callable[[Window], None],
        note: Callable[[str], None],
    ) -> None:
        self._settings = replace(settings, shapes=False, stacks=False, modules=False, memory=False)
        self._trace = trace
        self._own_calls = own_calls
        self._on_save = on_save
        self._note = note
        has_steps = settings.window_s is None and settings.active is not None
        self._is_dropped = not (settings.light and has_steps)
        self._first: int | None = None
        self._n_steps = settings.active or 0
        self._window: Any = None

    def plan(self, settling: int, turn: int) -> None:
        """Set the steps of this window when the first window is over.

        - `settling`: the latest step in which the program settles after the first window.
        - `turn`: the number of steps in which each worker of a data loader delivers one batch.
        """
        self._first = settling + 1 + BETWEEN
        active = self._settings.active or 0
        self._n_steps = min(whole_turns(active, turn), max(active, _MOST_STEPS))

    def is_over(self, n: int) -> bool:
        """Return whether step n comes after this window, or no window is planned."""
        offset = self._offset(n)
        return offset is None or offset > self._settings.warmup + self._n_steps

    def state(self, n: int) -> str | None:
        """Return the profiler's state in step n, None if the window does not affect this step."""
        offset = self._offset(n)
        if offset is None or offset < 0:
            return None
        if offset < self._settings.warmup:
            return WARMUP
        after = offset - self._settings.warmup - self._n_steps
        return LIGHT if after < 0 else SETTLING if after == 0 else None

    def begin_step(self, n: int) -> None:
        """Switch the profiler on before the window's first step, and off after its last step.

        Step n begins now. If the profiler fails, the window is dropped, and a note says so.
        """
        if self._is_dropped:
            return
        try:
            with self._own_calls.marked():
                self._switch(n)
        except Exception as error:  # noqa: BLE001 - the program must go on
            self._is_dropped = True
            self._window = None
            self._note(f"the second window failed: {type(error).__name__}: {error!s:.300}")

    def drop(self) -> None:
        """Stop the window without keeping its recording, and plan no other window."""
        self._is_dropped = True
        window, self._window = self._window, None
        if window is not None:
            with contextlib.suppress(Exception), self._own_calls.marked():
                window.on_trace_ready = None
                window.stop()

    def _switch(self, n: int) -> None:
        if self._window is not None:
            self._window.step()
            if self.state(n) == SETTLING:
                window, self._window = self._window, None
                window.stop()
        elif self._offset(n) == 0:
            self._window = Window.of(
                self._settings, schedule=self._action, on_trace_ready=self._save
            )
            self._window.step_num = n
            self._window.samples_lines = False
            self._window.is_last = True
            self._window.start()

    def _offset(self, n: int) -> int | None:
        """Return the number of step n, counted from the window's first step.

        Return None without a window.
        """
        return None if self._is_dropped or self._first is None else n - self._first

    def _action(self, n: int) -> ProfilerAction:
        state = self.state(max(n, self._first or 0))
        if state == LIGHT:
            is_last = self.state(n + 1) != LIGHT
            return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD
        return ProfilerAction.WARMUP if state == WARMUP else ProfilerAction.NONE

    def _save(self, profiler: Any) -> None:
        export_trace(profiler, self._trace, [profiler.step_num])
        self._on_save(profiler)
