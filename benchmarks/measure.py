"""Measure time and peak memory of a command, and of everything that it starts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SAMPLE_S = 0.02
# On Linux a child's ru_maxrss starts at what its parent held when it forked: a small process stands
# between. It writes wait status, ru_maxrss and seconds to the file descriptor that is its first
# argument.
_LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(int(sys.argv[1]), f"{status} {usage.ru_maxrss} {time.perf_counter() - begin}".encode())
"""
_ROOT = Path(__file__).resolve().parents[1]
_PATH = re.compile(r"(?:/[\w.+~-]+){2,}/?")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run: `seconds` of the work itself, `process_s` from start to exit, and its output.

    They are equal for a command line. A contender that times itself leaves out the start of Python
    and its imports.
    """

    seconds: float
    process_s: float
    peak_bytes: int
    said: dict[str, Any] = field(default_factory=dict)


class ContenderError(Exception):
    """Raised if a command failed; the text says how, without paths."""


def measure(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
) -> Measurement:
    """Run the command to its end. Raises ContenderError if it fails.

    Peak memory is the largest resident set of one process (wait4). Of several processes at once, it
    is the largest sum of proportional shares, if that is larger.
    """
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.TemporaryFile() as usage,
    ):
        launcher = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            _LAUNCHER,
            str(usage.fileno()),
            *command,
        ]
        with subprocess.Popen(
            launcher,
            stdout=out,
            stderr=err,
            cwd=_ROOT,
            env={**os.environ, **(env or {})},
            pass_fds=[usage.fileno()],
        ) as process:
            watcher = _Watcher(process.pid)
            watcher.start()
        watcher.over.set()
        watcher.join()
        for file in (out, err, usage):
            file.seek(0)
        status, peak, process_s = map(
            float,
            usage.read().split() or (256, 0, 0),
        )
        if status:
            raise ContenderError(
                _why(
                    os.waitstatus_to_exitcode(int(status)),
                    err.read(),
                )
            )
        printed = _said(out.read())
    peak_bytes = int(peak) * (1 if sys.platform == "darwin" else 1024)
    return Measurement(
        printed.pop("seconds", process_s),
        process_s,
        max(peak_bytes, watcher.peak_bytes),
        printed,
    )


class _Watcher(threading.Thread):
    """Measures the peak memory of all processes below the launcher, if there are several."""

    def __init__(self, launcher: int) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.peak_bytes = 0
        self._launcher = launcher

    def run(self) -> None:
        """Look again and again until `over` is set."""
        while not self.over.wait(_SAMPLE_S):
            family = _below(self._launcher)
            if len(family) > 1:
                self.peak_bytes = max(self.peak_bytes, sum(map(_share, family)))


def _below(pid: int) -> list[int]:
    """Return the descendants of a process; none without /proc."""
    pids = [pid]
    for member in pids:
        try:
            tasks = list(Path(f"/proc/{member}/task").iterdir())
            pids += [
                int(child) for task in tasks for child in (task / "children").read_text().split()
            ]
        except OSError:
            continue
    return pids[1:]


def _share(pid: int) -> int:
    """Return a process's share of memory. Pages of several processes are divided between them."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    match = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def _said(out: bytes) -> dict[str, Any]:
    """Parse the last line of output, if it is JSON."""
    last = out.strip().rsplit(b"\n", 1)[-1]
    try:
        printed = json.loads(last)
    except ValueError:
        return {}
    return printed if isinstance(printed, dict) else {}


def _why(code: int, err: bytes) -> str:
    lines = err.decode(errors="replace").strip().splitlines()
    last = _PATH.sub("…", lines[-1])[:160] if lines else "it said nothing"
    return f"exit code {code}: {last}"
