"""Record the program's beginning, in case no step is found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from .at_exit import before_fork, is_main_thread, later
from .main_thread import can_wake_main_thread, wait_for_main_thread
from .own_calls import OwnCalls
from .settings import Settings
from .window import QuietProfile

_LONGEST_S = 30.0
_WAKING_S = 5.0


class Opening:
    """Records ops, without stacks, from the program's beginning on.

    The recording ends when the first step is over or half a minute has passed. Only the main thread
    starts and stops the recording. `attempt` returns a context manager that turns a failure into a
    note.
    """

    def __init__(
        self,
        settings: Settings,
        own_calls: OwnCalls,
        attempt: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._settings = settings
        self._own_calls = own_calls
        self._attempt = attempt
        self._is_over = False
        self.profiler: Any = None
        """The profiler with the recording, None before it begins and after it was dropped."""

    def begin(self) -> list[Callable[[], None]]:
        """Start recording, and register callbacks that stop the recording.

        Return functions that remove these callbacks.
        """
        profiler = self._profiler(ProfilerActivity.CPU)
        with self._own_calls.marked():
            profiler.start()
        self.profiler = profiler
        can_wake_main_thread()
        undo = [
            later(_LONGEST_S, self.close, self._own_calls.must_wait),
            before_fork(self.close),
        ]
        if torch.version.cuda or torch.version.hip:
            torch.cuda._lazy_call(self._begin_with_gpu)
        return undo

    def close(self) -> None:
        """Stop recording, if this is the main thread."""
        if self._is_open and is_main_thread():
            self._is_over = True
            with self._attempt(), self._own_calls.marked():
                self.profiler.stop()

    def close_from_any_thread(self) -> bool:
        """Stop recording from any thread, and return whether this was possible.

        If another thread calls this, the main thread is woken to stop the recording.
        """
        if not self._is_open:
            return True
        if is_main_thread():
            self.close()
            return True
        return wait_for_main_thread(self.close, _WAKING_S)

    def drop(self) -> None:
        """Stop recording, and keep nothing."""
        is_open, profiler = self._is_open, self.profiler
        self.profiler = None
        if is_open:
            profiler.stop()

    @property
    def _is_open(self) -> bool:
        return self.profiler is not None and not self._is_over

    def _profiler(self, *activities: ProfilerActivity) -> QuietProfile:
        return QuietProfile(activities=[*activities], record_shapes=self._settings.shapes)

    def _begin_with_gpu(self) -> None:
        """Start the recording anew, with the GPU. The recording so far is dropped.

        Called when the program begins to use the GPU.
        """
        if self._is_open and is_main_thread():
            with self._attempt(), self._own_calls.marked():
                self.profiler.stop()
                self.profiler = self._profiler(ProfilerActivity.CPU, ProfilerActivity.CUDA)
                self.profiler.start()
