"""Hand-made traces of steps: a host that launches, a device that works, and calls that wait."""

from typing import Any

import tracelens as tl
from tests.cases import make_trace
from tracelens.trace import Trace

Rows = list[dict[str, Any]]


class StepTrace:
    """Collects the rows of one rank's trace.

    Times are in µs; 0 is the beginning of the first step.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Rows] = {
            "spans": [],
            "api_calls": [],
            "kernels": [],
            "memcpys": [],
            "steps": [],
            "synchronizations": [],
        }

    def step(self, start: float, end: float, *, mark: float = 0, host: float = 0) -> None:
        """Add a step of the device from `start` to `end`.

        The host began it at `mark` and ended it at `host`, if these are given.
        """
        number = len(self.tables["steps"])
        name, began = f"ProfilerStep#{number}", mark or start
        length = (host or end) - began
        self.tables["steps"].append(
            {"step": number, "name": name, **_times(start, end), "host_ns": round(length * 1000)}
        )
        self.span(name, began, began + length, kind="annotation")

    def span(self, name: str, start: float, end: float, **more: Any) -> None:
        """Add a span; it is an op unless `more` says otherwise."""
        row = {"kind": "op", "thread_id": 1, "process_id": 1, "name": name, **_times(start, end)}
        self.tables["spans"].append({**row, **more})

    def call(self, api: str, kind: str, start: float, end: float, *, thread: int = 1) -> int:
        """Add an API call, and return its id."""
        row = {"api": api, "raw_api": api, "kind": kind, "thread_id": thread, "process_id": 1}
        self.tables["api_calls"].append({**row, **_times(start, end)})
        return len(self.tables["api_calls"]) - 1

    def kernel(self, name: str, start: float, end: float, call: int | None, **more: Any) -> None:
        """Add a kernel that this call launched."""
        row = {"name": name, "stream_id": 7, "api_call_id": call, **_times(start, end)}
        self.tables["kernels"].append({**row, **more})

    def launch(self, name: str, called: float, start: float, end: float, **more: Any) -> None:
        """Add a launch that takes 5 µs from `called` on, and its kernel."""
        thread = more.pop("thread", 1)
        call = self.call("cudaLaunchKernel", "kernel_launch", called, called + 5, thread=thread)
        self.kernel(name, start, end, call, **more)

    def copy(self, start: float, end: float, call: int, **more: Any) -> None:
        """Add a copy from the host that this call started."""
        row = {"direction": "h2d", "source_memory": "pageable", "destination_memory": "device"}
        self.tables["memcpys"].append(
            {**row, "stream_id": 7, "api_call_id": call, **_times(start, end), **more}
        )

    def trace(self, kind: str = "torch") -> Trace:
        """Return the trace, as if from a source of this kind."""
        trace = make_trace(**self.tables)
        trace.manifest.sources = [{"name": "run", "kind": kind, "rank": 0}]
        return trace


def _times(start: float, end: float) -> dict[str, int]:
    return {"start_ns": round(start * 1000), "duration_ns": round((end - start) * 1000)}


def launch_bound() -> StepTrace:
    """A step of 400 µs: two kernels of 100 and 50 µs, a wait for both, and 210 µs of Python."""
    made = StepTrace()
    made.step(0, 400)
    made.span("aten::mm", 10, 40)
    made.launch("gemm", 20, 35, 135)
    made.span("aten::relu", 50, 70)
    made.launch("relu", 55, 136, 186)
    made.call("cudaDeviceSynchronize", "sync", 80, 190)
    return made


def after(trace: Trace, *changes: str) -> int:
    """Return the step after the changes. The profiler of the tests' traces has no known costs."""
    return int(tl.whatif(trace, *changes)["after_ns"].item())
