"""Python's own frames, read by py-spy while gdb holds the program."""

import json
import re
from dataclasses import dataclass
from typing import Any

from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION, PrintedFrame, file_name
from tracelens.errors import ToolError
from tracelens.running.program import ask
from tracelens.trace.capture import Diagnostics

_PATH = re.compile(r"/[^\s:'\"]+")
_PATIENCE_S = 10
_MOST_FAILURES = 3


@dataclass(frozen=True, slots=True)
class PythonFrame:
    """A frame as py-spy reports it; `is_entry`: the interpreter's C function was entered with it.

    CPython 3.11 marks such a frame itself (py-spy's is_entry). From 3.12 on the C function puts a frame of its own, a
    shim, below the first one; py-spy leaves shims out and marks the frame right above (is_shim_entry, from 0.4.1 on).
    """

    printed: PrintedFrame
    is_entry: bool


@dataclass(slots=True)
class PythonStacks:
    """Asks py-spy for Python's frames, until it failed a few times in a row."""

    program: str | None
    diagnostics: Diagnostics
    _n_failures: int = 0

    def read(self, process_id: int) -> dict[int, list[PythonFrame]] | None:
        """Frames from the innermost by the system's thread id; null where they could not be read.

        Python before 3.11 does not know that id: then by pthread's, which is an address.
        """
        if self.program is None:
            self._fail("py-spy is absent: Python's frames are missing; pip install 'tracelens-toolkit[gdb]'")
            return None
        if self._n_failures >= _MOST_FAILURES:
            return None
        try:
            # Nonblocking: gdb holds the program, and a process can have one tracer only.
            answer = ask([self.program, "dump", "--nonblocking", "--json", "--pid", str(process_id)], _PATIENCE_S)
            if answer.returncode == 0:
                threads = json.loads(answer.stdout)
                self._n_failures = 0
                return read_threads(threads)
            lines = answer.stderr.strip().splitlines()
            reason = _PATH.sub("…", lines[-1].removeprefix("Error: "))[:200] if lines else f"code {answer.returncode}"
            why = f"py-spy could not read the program: Python's frames are missing ({reason})"
        except ToolError as error:
            why = f"{error}: Python's frames are missing"
        except ValueError:
            why = "py-spy wrote no JSON: Python's frames are missing"
        self._n_failures += 1
        self._fail(why)
        return None

    def _fail(self, text: str) -> None:
        self.diagnostics.add("warning", "python_frames_unavailable", text)


def read_threads(threads: list[dict[str, Any]]) -> dict[int, list[PythonFrame]]:
    """py-spy's answer by thread, without threads at which it failed."""
    return {
        int(thread.get("os_thread_id") or thread["thread_id"]): [
            _frame(frame) for frame in thread["frames"] if not _is_trampoline(frame)
        ]
        for thread in threads
        if not thread.get("error")
    }


def _frame(frame: dict[str, object]) -> PythonFrame:
    line = frame.get("line")
    place = file_name(str(frame.get("filename", "")))
    printed = PrintedFrame(
        str(frame.get("name", UNKNOWN_FUNCTION)), None, place, line if isinstance(line, int) and line > 0 else None
    )
    return PythonFrame(printed, bool(frame.get("is_entry", True) or frame.get("is_shim_entry")))


def _is_trampoline(frame: dict[str, object]) -> bool:
    """Whether the frame belongs to no function: Python 3.12 adds one that checks the result of `__init__`."""
    return frame.get("name") == frame.get("filename") == "__init__"
