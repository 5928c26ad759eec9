"""Take captures under nsys, and the same programs' turns without it.

python samples/blind/take_nsys.py --out DIR --programs MODULE [--seconds S] -- nsys profile …

Two processes build all programs: one without nsys, and one under the command that follows `--`.
One of them works at a time. Every program takes a turn in both, before the range that is recorded.
Then the range begins, and some steps of each program are recorded after a turn without nsys. The
range ends, and every program takes a turn in both once more. README.md has the rules.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

import take
import take_alone
from take import KEY, counted_ns, entered, is_loaded, say
from take_alone import WARM_LOADED_S, WARM_S

N_SETTLE, N_STEPS_OF_LOADER = (1, 2) if take.IS_QUICK else (4, 24)
RECORDED_S, FEWEST, MOST = (0.1, 2, 4) if take.IS_QUICK else (0.4, 8, 24)
"""So many seconds are recorded of a program, but at least and at most so many steps."""
SETTLING_S = 8
"""After its range, nsys has so much time to write what it recorded, while nothing is timed."""


class Worker(take_alone.Worker):
    """The programs of one process."""

    def record(self, name: str, step_ms: str) -> dict[str, Any]:
        """Run some steps, marked for the recording; return how long they took."""
        steps = self.running[name, "-"]
        n = min(max(round(RECORDED_S * 1e3 / float(step_ms)), FEWEST), MOST)
        n = N_STEPS_OF_LOADER if is_loaded(name) else n
        for _ in islice(steps, n if is_loaded(name) else N_SETTLE):
            counted_ns()
        counts: list[int] = []
        self._synchronize()
        self._push(f"program {name}")
        began = time.perf_counter()
        for number in range(n):
            self._push(f"step {number}")
            counts.append(counted_ns())
            next(steps)
            self._pop("step")
        self._synchronize()
        took_s = time.perf_counter() - began
        self._pop("program")
        return {"n": n, "ms": round(took_s / n * 1e3, 4), "counts_ns": counts}


class Asked(take.Asked):
    """A started process that answers requests."""

    script = "take_nsys.py"


class Taking(take.Results):
    """Takes all turns and captures. Results are written after each."""

    def __init__(self, out: Path, seconds: float, recorder: list[str]) -> None:
        super().__init__(out, seconds)
        self.names = list(entered().NSYS)
        self.scratch = Path(tempfile.mkdtemp())
        door = Listener(f"{self.scratch}/door", authkey=KEY)
        self.beside = Asked(door, self.scratch, [], out / "beside.txt")
        self.under = Asked(door, self.scratch, recorder, out / "under.txt")

    def all_parts(self) -> None:
        """Take everything."""
        for name in self.names:
            for process in (self.beside, self.under):
                process.send("build", name, "-")
        for name in list(self.names):
            self.each(name, self.wait_for)
        say("all have begun")
        self.round("before", self.pair)
        self.under.ask("profiler", "Start", "")
        self.round("recorded", self.recorded)
        self.under.ask("profiler", "Stop", "", limit_s=40)
        time.sleep(SETTLING_S)
        self.round("after", self.pair)

    def round(self, word: str, visit: Callable[[str], None]) -> None:
        """Let each program take its part of a round."""
        for name in list(self.names):
            if self.left_s() < 0:
                self.failed(f"{name}: no time {word}")
            else:
                self.each(name, visit)
        say("round", word)

    def each(self, name: str, visit: Callable[[str], None]) -> None:
        """Visit a program; name and drop it if it fails."""
        try:
            visit(name)
        except RuntimeError as error:
            self.failed(f"{name}: {error}")
            self.names.remove(name)
        self.write()

    def wait_for(self, name: str) -> None:
        """Wait until both processes have built a program."""
        took = [process.answer(100) for process in (self.beside, self.under)]
        self.report["nsys"][name] = {"plain": [], "outside": []}
        say("built", name, [round(seconds, 1) for seconds in took])

    def pair(self, name: str) -> None:
        """Take a turn without nsys, and one under nsys outside of its range."""
        row = self.report["nsys"][name]
        row["plain"].append(self.turn(self.beside, name))
        row["outside"].append(self.turn(self.under, name))
        say(name, *([b["ms"] for b in row[which][-1]] for which in ("plain", "outside")))

    def recorded(self, name: str) -> None:
        """Take a turn without nsys, then record some steps."""
        row = self.report["nsys"][name]
        row["plain"].append(self.turn(self.beside, name))
        step_ms = statistics.median(block["ms"] for block in row["plain"][-1])
        row["recorded"] = self.under.ask("record", name, str(step_ms), limit_s=40)
        say(name, [b["ms"] for b in row["plain"][-1]], "recorded", row["recorded"]["ms"])

    def turn(self, process: take.Asked, name: str) -> Any:
        """Let a process time blocks of steps."""
        warm_s = WARM_LOADED_S if is_loaded(name) else WARM_S
        return process.ask("turn", name, "-", str(warm_s), limit_s=40)

    def end(self) -> None:
        """Let both processes end, and wait until the recorder has written its file."""
        self.write()
        for process in (self.beside, self.under):
            process.end()
        try:
            self.under.process.wait(20)
        except subprocess.TimeoutExpired:
            self.failed("the recorder goes on")
        for process in (self.beside, self.under):
            with suppress(ProcessLookupError):
                os.killpg(process.process.pid, signal.SIGKILL)
        self.write()


def main() -> None:
    """Take all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--programs", required=True, help="the module that has them")
    parser.add_argument("--seconds", type=float, default=230)
    words = sys.argv[1:]
    place = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:place])
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["BLIND_PROGRAMS"] = given.programs
    # A limit on time, as of `timeout`, ends this like Ctrl-C: results are written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    taking = Taking(given.out.resolve(), given.seconds, words[place + 1 :])
    try:
        taking.all_parts()
    finally:
        taking.end()
        say("end")


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        take.work(sys.argv[2], Worker)
    else:
        main()
