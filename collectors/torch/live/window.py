"""Synchronize the program's devices, time work on them, and run torch.profiler."""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from .cupti import detach_after_recording
from .lines import LineSampler
from .settings import Settings

_KINDS = ("cuda", "xpu", "mtia", "hpu", "npu")
_LOG_LEVEL, _ABOVE_USDT = "KINETO_LOG_LEVEL", "6"
_WHOLE, _PART = b'"ProfilerStep#%d"', b'"ProfilerPart#%d"'


def drain() -> None:
    """Wait until every device that this process uses has finished its work.

    Return at once if the program uses no device. Return at once, too, while it captures a graph,
    because waiting would break the capture.
    """
    module = _used()
    if module is None or _is_capturing(module):
        return
    # An error of an earlier launch must reach the program, at its own next call.
    with contextlib.suppress(RuntimeError):
        for index in _indices(module):
            module.synchronize(*index)


def _used() -> Any:
    """Return torch's module of the device in use, such as torch.cuda, None without a device."""
    # In torch 2.6, torch.accelerator counts the devices, and a forked child could then not use
    # them.
    for name in _KINDS:
        module = getattr(torch, name, None)
        if module is not None and module.is_initialized():
            return module
    mps = getattr(torch, "mps", None)  # it has no is_initialized, and exists on every Mac
    return (
        mps
        if mps is not None and torch.backends.mps.is_available() and mps.current_allocated_memory()
        else None
    )


def _is_capturing(module: Any) -> bool:
    asked = getattr(module, "is_current_stream_capturing", None)
    return asked is not None and bool(asked())


def _indices(module: Any) -> list[tuple[int, ...]]:
    """Return arguments for calls of `synchronize`, one per device with a context.

    Waiting for a device without a context would create a context.
    """
    has_context = getattr(torch._C, "_cuda_hasPrimaryContext", None)
    if module is not torch.cuda or has_context is None:
        return [()]
    return [(index,) for index in range(module.device_count()) if has_context(index)]


@dataclass(frozen=True)
class Moment:
    """Holds a time on the host, and a device event that was recorded at this time.

    The event occurs when the device has finished the work that was launched earlier.
    """

    host_ns: int
    event: Any
    is_device_used: bool

    @classmethod
    def now(cls) -> Moment:
        """Return the present moment.

        The event is None on a device without events, and while a graph is captured.
        """
        module = _used()
        event = None
        if module is not None and hasattr(module, "Event") and not _is_capturing(module):
            with contextlib.suppress(RuntimeError):
                new_event = module.Event(enable_timing=True)
                new_event.record()
                event = new_event
        return cls(time.perf_counter_ns(), event, module is not None)

    def until(self, end: Moment) -> int | None:
        """Return the nanoseconds to a later moment, after waiting for the device.

        With a device, this is the device's time between the two events, right to about a
        microsecond. Return None if it cannot be measured.
        """
        if not end.is_device_used:
            return end.host_ns - self.host_ns
        if self.event is None or end.event is None:
            return None
        try:
            end.event.synchronize()
            elapsed_ms: float = self.event.elapsed_time(end.event)
        except (RuntimeError, ValueError):  # a device failed, or the events are of two devices
            return None
        return round(elapsed_ms * 1e6)


class QuietProfile(profile):  # type: ignore[misc]
    """Runs torch.profiler without the warning that the events of a cycle are cleared."""

    def prepare_trace(self) -> None:
        """Create the profiler, and set `acc_events` to True only while it is created."""
        self.profiler = None
        # torch 2.6 to 2.11 warns here without acc_events, even if there is only one cycle.
        self.acc_events = True
        super().prepare_trace()
        created_profiler: Any = self.profiler
        # With acc_events, torch would parse all events when recording stops.
        self.acc_events = created_profiler.acc_events = False


class Window(QuietProfile):
    """Runs torch.profiler, and waits for the devices before the recording begins and ends.

    So every recorded kernel has its launch, and every kernel is complete. `stopped_ns` is the end
    of the last wait, by the host's clock.
    """

    stopped_ns: int | None = None
    samples_lines = True
    is_last = False
    """True if no other window follows. CUPTI is then detached from the process, if possible."""
    is_cupti_detached = False
    lines: LineSampler | None = None

    @classmethod
    def of(cls, settings: Settings, **more: Any) -> Window:
        """Return the profiler with these settings. `more` is passed to torch.profiler.profile."""
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
        """Begin to record.

        Torch calls this after the warm-up steps, or at once if there are none.
        """
        drain()
        super().start_trace()
        if self.samples_lines:
            self.lines = LineSampler()
            self.lines.start()

    def stop_trace(self) -> None:
        """End the recording."""
        if self.lines is not None:
            self.lines.stop()
        drain()
        self.stopped_ns = time.perf_counter_ns()
        if self.is_last:
            self.is_cupti_detached = detach_after_recording()
        super().stop_trace()


@contextlib.contextmanager
def quiet_profiler() -> Iterator[None]:
    """Keep the profiler's log off standard error during the `with` block.

    A log level that the user has set stays.
    """
    if _LOG_LEVEL in os.environ:
        yield
        return
    # Kineto 2.13 prints `USDT:… profiler_start`. It reads the variable when it is first used.
    os.environ[_LOG_LEVEL] = _ABOVE_USDT
    try:
        yield
    finally:
        os.environ.pop(_LOG_LEVEL, None)


def export_trace(profiler: profile, trace: Path, part_steps: Iterable[int] = ()) -> None:
    """Write a profiler's recording as a Chrome trace, and rename the marks of incomplete steps."""
    # An export that runs out of space leaves its file open, and writes the rest into it when the
    # process ends. So the export goes to another file, which then replaces the trace.
    part = Path(f"{trace}.{time.perf_counter_ns()}.part.json")
    profiler.export_chrome_trace(str(part))
    _rename_parts(part, part_steps)
    part.replace(trace)


def _rename_parts(trace: Path, steps: Iterable[int]) -> None:
    """Rename the marks of incomplete steps to `ProfilerPart#7` inside the trace's file."""
    for step in steps:
        whole, part = _WHOLE % step, _PART % step
        with trace.open("r+b") as file, mmap.mmap(file.fileno(), 0) as text:
            position = text.find(whole)
            while position >= 0:
                text[position : position + len(part)] = part
                position = text.find(whole, position + len(part))
