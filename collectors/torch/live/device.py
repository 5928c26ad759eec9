"""The devices that the program computes on: waiting until they are done, and time as they see it."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any

import torch

_KINDS = ("cuda", "xpu", "mtia", "hpu", "npu")


def drain() -> None:
    """Wait until every device that this process uses has done what was launched on it.

    Nothing is initialised by it: a program without a device, or that has not used it yet, waits for nothing. Neither
    does one that is capturing a graph, which waiting would break.
    """
    module = _used()
    if module is None or _is_capturing(module):
        return
    # An error of an earlier launch is the program's to hear of, at its own next call.
    with contextlib.suppress(RuntimeError):
        for index in _indices(module):
            module.synchronize(*index)


def _used() -> Any:
    """The torch.cuda, torch.xpu or whatever the program has used so far; None where it computes on the CPU alone.

    torch.accelerator is not asked which there is: in torch 2.6 that counts the devices, and a child that is forked
    later could not use them.
    """
    for name in _KINDS:
        module = getattr(torch, name, None)
        if module is not None and module.is_initialized():
            return module
    mps = getattr(torch, "mps", None)  # has no is_initialized, and is there on every Mac
    return mps if mps is not None and torch.backends.mps.is_available() and mps.current_allocated_memory() else None


def _is_capturing(module: Any) -> bool:
    asked = getattr(module, "is_current_stream_capturing", None)
    return asked is not None and bool(asked())


def _indices(module: Any) -> list[tuple[int, ...]]:
    """What to give `synchronize`, call by call: each device with a context, for asking another one would make one."""
    has_context = getattr(torch._C, "_cuda_hasPrimaryContext", None)
    if module is not torch.cuda or has_context is None:
        return [()]
    return [(index,) for index in range(module.device_count()) if has_context(index)]


@dataclass(frozen=True)
class Moment:
    """When the host came by, and an event that the device comes by once it has done all that was launched before."""

    host_ns: int
    event: Any
    is_device_used: bool

    @classmethod
    def now(cls) -> Moment:
        """This moment. On a device that takes no events, or while a graph is captured, it cannot be timed."""
        module = _used()
        event = None
        if module is not None and hasattr(module, "Event") and not _is_capturing(module):
            with contextlib.suppress(RuntimeError):
                made = module.Event(enable_timing=True)
                made.record()
                event = made
        return cls(time.perf_counter_ns(), event, module is not None)

    def until(self, end: Moment) -> int | None:
        """Nanoseconds to a later moment, waiting for the device to come by; None where that cannot be told.

        Of a program that uses a device it is the device's time between the two events, right to about a microsecond:
        whichever is later, the host's coming by or the end of the work before. Otherwise it is the host's time.
        """
        if not end.is_device_used:
            return end.host_ns - self.host_ns
        if self.event is None or end.event is None:
            return None
        try:
            end.event.synchronize()
            elapsed_ms: float = self.event.elapsed_time(end.event)
        except (RuntimeError, ValueError):  # a device that failed, or two devices
            return None
        return round(elapsed_ms * 1e6)
