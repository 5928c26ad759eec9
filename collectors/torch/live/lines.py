"""Sample one thread's frames while the profiler records, to know the lines that ran.

Sampling takes at most 1 % of its time.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
import time
from types import FrameType
from typing import Any

_LEAST_S, _MOST_S, _MOST_SHARE = 0.001, 0.02, 0.01
_MOST_SAMPLES, _MOST_FRAMES = 4_000, 40
_LATE = 10
"""A sample is of the moment before it by this part of its delay."""
_LIBRARIES = tuple(
    {
        path
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_path(name))
    }
)


class LineSampler:
    """Samples of one thread: the time, and each frame's file, function and line.

    The innermost frame comes first. The profiler names a Python call by the line of its definition,
    or by the line at which the recording found it; a sample has the line that runs. Call `start`
    after the profiler's own start, so that the sampling thread is not profiled.
    """

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._names: dict[tuple[str, str, bool], int] = {}
        self._samples: list[tuple[int, list[tuple[int, int]]]] = []
        self._least_s = _LEAST_S

    def start(self) -> None:
        """Begin to sample the thread that calls this."""
        sampled = threading.get_ident()
        self._thread = threading.Thread(target=self._run, args=(sampled,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop sampling."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(1)

    def facts(self) -> dict[str, Any]:
        """Return the samples for JSON: frames are pairs of a name's number and a line."""
        return {"names": list(self._names), "samples": self._samples}

    def _run(self, sampled: int) -> None:
        interval_s = self._least_s
        while True:
            asked_ns = time.time_ns() + round(interval_s * 1e9)
            if self._stopped.wait(interval_s):
                return
            began = time.thread_time()
            frame = sys._current_frames().get(sampled)
            if frame is None:
                return
            # A call that holds the interpreter's lock delays the sample to its end, at which the
            # caller's line is still the call's: the sample is of a time shortly before. It is not
            # of the middle, as a busy machine delays samples, too, and other lines ran meanwhile.
            now_ns = time.time_ns()
            delay_ns = max(now_ns - asked_ns, 0)
            self._samples.append((now_ns - delay_ns // _LATE, self._frames(frame)))
            if len(self._samples) >= _MOST_SAMPLES:
                del self._samples[::2]
                self._least_s *= 2
            cost = time.thread_time() - began
            interval_s = max(self._least_s, min(cost / _MOST_SHARE, _MOST_S))

    def _frames(self, frame: FrameType | None) -> list[tuple[int, int]]:
        frames: list[tuple[int, int]] = []
        while frame is not None and len(frames) < _MOST_FRAMES:
            code = frame.f_code
            path = code.co_filename
            name = (path.replace("\\", "/").rpartition("/")[2], code.co_name, _is_own(path))
            frames.append((self._names.setdefault(name, len(self._names)), frame.f_lineno or 0))
            frame = frame.f_back
        return frames


def _is_own(path: str) -> bool:
    """Return whether the file is the program's, not Python's, a package's or this capture's."""
    if path.startswith(("<frozen", "<string")) or "/collectors/torch/live/" in path:
        return False
    return not path.startswith(_LIBRARIES) and "/site-packages/" not in path
