"""Decide in each step whether the profiler is off, warms up or records."""

from __future__ import annotations

from torch.profiler import ProfilerAction

from .settings import Settings


class Schedule:
    """Decides for each step whether it is left out, warms the profiler up, or is recorded.

    Steps are counted from step `first` on. If the settings give seconds to record instead of steps
    (`window_s`), every step is recorded.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.first = 0

    def action(self, n: int) -> ProfilerAction:
        """Return what the profiler does in step n."""
        settings = self._settings
        if settings.window_s is not None:
            return ProfilerAction.RECORD
        active = n - self.first - settings.wait - settings.warmup
        if active < -settings.warmup:
            return ProfilerAction.NONE
        if active < 0:
            return ProfilerAction.WARMUP
        if settings.active is None or active < settings.active - 1:
            return ProfilerAction.RECORD
        is_last = active == settings.active - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.NONE

    def is_on(self, n: int) -> bool:
        """Return whether the profiler is on in step n."""
        return self.action(n) is not ProfilerAction.NONE
