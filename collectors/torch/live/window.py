"""torch.profiler as a live capture uses it: between idle devices, and with marks of complete steps only."""

from __future__ import annotations

import mmap
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from .device import drain
from .settings import Settings

_WHOLE, _PART = b'"ProfilerStep#%d"', b'"ProfilerPart#%d"'


class Window(profile):  # type: ignore[misc]
    """A profiler that waits for the devices right before its recording begins, and again before it ends.

    Work that ran while it warmed up is over by then, so no kernel is recorded without its launch; and none is cut at
    the end. The wait at the end comes after the last step's mark, and is over at `stopped_ns` of the host's clock.
    """

    stopped_ns: int | None = None

    @classmethod
    def of(cls, settings: Settings, **more: Any) -> Window:
        """The profiler with these settings; `more` goes to torch.profiler.profile."""
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        if settings.cuda_sync:
            config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
            more["experimental_config"] = config
        return cls(
            activities=activities,
            record_shapes=settings.shapes,
            profile_memory=settings.memory,
            with_stack=settings.stacks,
            with_modules=settings.modules and settings.stacks,
            **more,
        )

    def start_trace(self) -> None:
        """Begin to record; torch calls this after the warm-up steps, or at once where there are none."""
        drain()
        super().start_trace()

    def stop_trace(self) -> None:
        """End the recording."""
        drain()
        self.stopped_ns = time.perf_counter_ns()
        super().stop_trace()


def rename_parts(trace: Path, steps: Iterable[int]) -> None:
    """Rename the marks of incomplete steps in a Chrome trace to `ProfilerPart#7`, in place."""
    for step in steps:
        whole, part = _WHOLE % step, _PART % step
        with trace.open("r+b") as file, mmap.mmap(file.fileno(), 0) as text:
            at = text.find(whole)
            while at >= 0:
                text[at : at + len(part)] = part
                at = text.find(whole, at + len(part))
