"""Record which source lines ran while the profiler recorded.

The lines of calls are exact. The lines of other code are sampled, which takes at most 1 % of the
sampled thread's time.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from torch._C._profiler import _EventType

from .modules import name_of

_LEAST_S, _MOST_S, _MOST_SHARE = 0.001, 0.03, 0.01
_SWITCHES_S = 15e-6
"""Seconds that the sampled thread loses in a sample, because Python switches threads twice."""
_ASKED_S = 0.0001
"""Seconds after which the sampler asks for the interpreter's lock, if no other thread waits."""
_MOST_SAMPLES, _MOST_FRAMES = 4_000, 40
_LATE = 10
"""The time of a delayed sample is moved back by its delay divided by this number."""
_OWN_THREADS = "tracelens-"
"""The names of the capture's own threads begin with this."""
_GOLDEN = 0.618034
"""The golden ratio. Its multiples, modulo 1, are distributed evenly."""
_SHORTEST = 20_000
"""A call is short if it takes less than the recording divided by this number.

Calls inside a short call are not recorded, because they explain nothing.
"""
_APART = 4
"""A short call is left out if it begins too soon after the last recorded call of its frame.

Too soon is less than this number times the duration below which a call is short.
"""
_LIBRARIES = tuple(
    {
        path
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_path(name))
    }
)


class LineSampler:
    """Samples the stack of one thread: file, function and line of each frame, innermost first.

    The profiler only names the first line of a function. A sample has the line that runs. Call
    `start` after the profiler's start, so that the sampling thread is not profiled.
    """

    def __init__(self) -> None:
        self._is_stopped = False
        self._program_s = self._set_s = sys.getswitchinterval()
        self._names: dict[tuple[str, str, bool], int] = {}
        self._samples: list[tuple[int, list[tuple[CodeType, int]]]] = []
        self._least_s = _LEAST_S

    def start(self) -> None:
        """Start sampling the calling thread."""
        sampled = threading.get_ident()
        self._ask_for_lock(is_alone=_is_alone(sampled, sys._current_frames()))
        threading.Thread(
            target=self._run,
            name=f"{_OWN_THREADS}lines",
            args=(sampled,),
            daemon=True,
        ).start()

    def stop(self) -> None:
        """Stop sampling."""
        self._is_stopped = True
        if sys.getswitchinterval() == self._set_s:
            sys.setswitchinterval(self._program_s)

    def facts(self, profiler: Any) -> dict[str, Any]:
        """Return samples and calls for JSON.

        - names: file name, function, and whether the file is the program's.
        - samples: a time, and a list of frames. A frame is an index in `names`, and a line.
        - calls: start, end, and the frame that makes the call: an index in `names`, and a line.
        """
        calls = [
            (start_ns, end_ns, self._name(path, function), line)
            for start_ns, end_ns, (path, function, line) in _calls(profiler)
        ]
        samples = [(time_ns, self._frames(stack)) for time_ns, stack in self._samples]
        return {"names": list(self._names), "samples": samples, "calls": calls}

    def _run(self, sampled: int) -> None:
        interval_s, n = self._least_s, 0
        spent_s = time.thread_time()
        while True:
            n += 1
            # The interval varies, so that steps of equal length are sampled at different lines.
            wait_s = interval_s * (0.5 + n * _GOLDEN % 1)
            asked_ns = time.time_ns() + round(wait_s * 1e9)
            time.sleep(wait_s)
            if self._is_stopped:
                return
            began, now_ns = time.perf_counter(), time.time_ns()
            frames = sys._current_frames()
            stack = _stack(frames.get(sampled))
            # A call that holds the lock delays the sample to the call's end, when the caller's line
            # is still the line of the call. So the sample is dated shortly before it was taken. The
            # middle of the delay would be wrong, because a busy machine delays samples, too, and
            # other lines ran meanwhile.
            delay_ns = max(now_ns - asked_ns - round(self._set_s * 1e9), 0)
            self._ask_for_lock(is_alone=_is_alone(sampled, frames))
            del frames  # frames keep the objects of the program's functions alive
            if stack:
                self._samples.append((now_ns - delay_ns // _LATE, stack))
            if len(self._samples) >= _MOST_SAMPLES:
                del self._samples[::2]
                self._least_s *= 2
            # The thread's own time includes waking up. The clock includes waits for the lock.
            thread_s = time.thread_time()
            cost_s = max(time.perf_counter() - began, thread_s - spent_s) + _SWITCHES_S
            spent_s = thread_s
            interval_s = max(self._least_s, min(cost_s / _MOST_SHARE, _MOST_S))

    def _ask_for_lock(self, *, is_alone: bool) -> None:
        """Set how long the sampler waits before it asks for the interpreter's lock.

        The time is short if only the sampled thread and this sampler use the lock.
        """
        if sys.getswitchinterval() != self._set_s:
            self._program_s = sys.getswitchinterval()
        sys.setswitchinterval(min(_ASKED_S, self._program_s) if is_alone else self._program_s)
        self._set_s = sys.getswitchinterval()

    def _frames(self, stack: list[tuple[CodeType, int]]) -> list[tuple[int, int]]:
        return [
            (
                self._name(code.co_filename, code.co_name),
                _line(code, offset),
            )
            for code, offset in stack
        ]

    def _name(self, path: str, function: str) -> int:
        name = (
            path.replace("\\", "/").rpartition("/")[2],
            function,
            _is_program_file(_full_path(path)),
        )
        return self._names.setdefault(name, len(self._names))


def _is_alone(sampled: int, running: Collection[int]) -> bool:
    """Return whether only the sampled thread and the capture's own threads run Python code."""
    capture_threads = {
        thread.ident for thread in threading.enumerate() if thread.name.startswith(_OWN_THREADS)
    }
    return capture_threads.union([sampled]).issuperset(running)


def _stack(frame: FrameType | None) -> list[tuple[CodeType, int]]:
    """Return the code and the instruction's offset of a frame and its callers, innermost first.

    Lines are looked up later.
    """
    stack: list[tuple[CodeType, int]] = []
    while frame is not None and len(stack) < _MOST_FRAMES:
        stack.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return stack


def _line(code: CodeType, offset: int) -> int:
    lines = (line for start, end, line in code.co_lines() if start <= offset < end)
    return next(lines, None) or 0


_Place = tuple[str, str, int]
"""File, function and line."""
_PYTHON_CALLS = (_EventType.PyCall, _EventType.PyCCall)


def _calls(profiler: Any) -> list[tuple[int, int, _Place]]:
    """Return start, end and calling line of the Python calls in the thread that marks steps.

    If no thread marks steps, calls of all threads are returned. Most short calls are left out.
    """
    # The event tree has the calling lines. The exported trace lacks them.
    roots = profiler.profiler.kineto_results.experimental_event_tree()
    if not roots:
        return []
    began_ns = min(event.start_time_ns for event in roots)
    ended_ns = max(event.end_time_ns for event in roots)
    shortest_ns = (ended_ns - began_ns) // _SHORTEST
    calls: dict[int, list[tuple[int, int, _Place]]] = {}
    marking_threads: set[int] = set()
    for event in _events_to_note(roots, shortest_ns):
        if event.tag in _PYTHON_CALLS:
            caller = _caller(event.typed[1])
            if caller is not None:
                end_ns = event.start_time_ns + event.duration_time_ns
                call = (event.start_time_ns, end_ns, caller)
                calls.setdefault(event.start_tid, []).append(call)
        elif _op_name(event).startswith("ProfilerStep#"):
            marking_threads.add(event.start_tid)
    return [call for thread in marking_threads or calls for call in calls.get(thread, ())]


def _events_to_note(roots: Any, shortest_ns: int) -> Iterator[Any]:
    """Yield the events of the tree without most short ones.

    A short event is left out if it begins soon after another Python call of the same frame. Events
    inside short events and inside ATen's ops are left out, too.
    """
    siblings = [roots]
    while siblings:
        last_call_ns = 0
        for event in siblings.pop():
            is_long = event.duration_time_ns >= shortest_ns
            if not is_long and event.start_time_ns < last_call_ns + _APART * shortest_ns:
                continue
            yield event
            if event.tag in _PYTHON_CALLS:
                last_call_ns = event.start_time_ns
            if is_long and not _op_name(event).startswith("aten::"):
                siblings.append(event.children)


def _op_name(event: Any) -> str:
    """Return the name of an op, an empty text for other events."""
    return name_of(event) if event.tag == _EventType.TorchOp else ""


def _caller(called: Any) -> _Place | None:
    """Return the calling line of a call, None if it is unknown."""
    # The profiler records a thread's outermost frame as the caller of itself.
    try:
        caller = _place(called.caller)
        callee = getattr(called, "callsite", None)
        is_outermost = callee is not None and _place(callee) == caller
    except UnicodeDecodeError:
        return None
    return None if is_outermost else caller


def _place(frame: Any) -> _Place:
    return frame.file_name, frame.function_name, frame.line_number


@functools.cache
def _full_path(path: str) -> str:
    """Return a file's absolute path; the profiler omits the import folder."""
    whole = (Path(folder, path) for folder in sys.path)
    return next(
        (str(file) for file in whole if file.is_file()),
        path,
    )


@functools.cache
def _is_program_file(path: str) -> bool:
    """Return whether the file belongs to the program, not to Python, a package or this capture."""
    if path.startswith(("<frozen", "<string")) or "/collectors/torch/live/" in path:
        return False
    return not path.startswith(_LIBRARIES) and "/site-packages/" not in path
