"""Take every pair while one process runs and all others are stopped.

python samples/blind/take_alone.py --out DIR --programs MODULE [--only WORD,WORD] [--seconds S]

All programs begin at once, each in a process of its own, with its changes. Then only the process
that is measured runs. All others have got SIGSTOP. Three rounds follow. In each, every program
takes a turn. In the first and third round, its changes take turns beside it. In the second, a
process of its own is captured live. At the end of the third round, the program is recorded by
torch.profiler. If time is short, the last programs are dropped, never a turn of another one.
BLIND_PACE in the environment shortens all turns (1 is usual). README.md beside this file has the
rules.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

import take
from take import BEGUN, IS_QUICK, KEY, counted_ns, entered, is_loaded, say

N_ROUNDS = 3
PACE = float(os.environ.get("BLIND_PACE", "1"))
"""Warm-ups, turns and captures take this share of their usual time."""
WARM_S = 0.2 if IS_QUICK else 2 * PACE
"""A program warms up for so long before its turn, and its changes, which follow, for less."""
WARM_CHANGE_S = 0.1 if IS_QUICK else 0.4 * PACE
WARM_LOADED_S = 0.2 if IS_QUICK else 1.5 * PACE
TURN_S, N_LEAST, N_BLOCKS = (0.2, 5, 3) if IS_QUICK else (2 * PACE, 30, 5)
"""A turn takes at least so many seconds and so many steps, in blocks."""
LIVE_S, LIVE_STEPS = (1, (40, 60)) if IS_QUICK else (4 * PACE, (60, 2000))
"""A captured process runs for so many seconds, but at least and at most so many steps."""
TRACE_S, LIVE_MORE_S = 2.5, 3
"""Time that a trace takes, and a live capture besides its steps."""


class Worker(take.Worker):
    """The programs of one process, timed in long turns."""

    def turn(self, name: str, option: str, warm_s: str) -> list[dict[str, float]]:
        """Warm up, then time blocks of steps, each between two waits for the device."""
        steps = self.running[name, option]
        _, pace_s = self._steps(steps, float(warm_s), 3)
        n = math.ceil(max(TURN_S / N_BLOCKS / pace_s, N_LEAST / N_BLOCKS))
        blocks: list[dict[str, float]] = []
        total_s = 0.0
        while total_s < TURN_S or len(blocks) < N_BLOCKS:
            counts, step_s = self._steps(steps, 0, n)
            total_s += n * step_s
            count_ns = statistics.median(counts)
            blocks.append({"ms": round(step_s * 1e3, 4), "count_ns": count_ns, "n": n})
        return blocks

    def _steps(
        self, steps: Iterator[None], least_s: float, least_n: int
    ) -> tuple[list[int], float]:
        """Run steps for a time and a number; return their counts and the mean step in seconds."""
        counts: list[int] = []
        self._synchronize()
        began = time.perf_counter()
        while len(counts) < least_n or time.perf_counter() - began < least_s:
            counts.append(counted_ns())
            next(steps)
        self._synchronize()
        return counts, (time.perf_counter() - began) / len(counts)


class Asked(take.Asked):
    """A started process that answers requests. It is stopped unless it is asked something."""

    script = "take_alone.py"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the process and its loaders run, then stop them again."""
        os.killpg(self.process.pid, signal.SIGCONT)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGSTOP)

    def kill(self) -> None:
        """Kill the process and its loaders."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


class Taking(take.Results):
    """Takes the parts of a judgement. Results are written after each step."""

    def __init__(self, out: Path, only: str, seconds: float, build_seconds: float) -> None:
        module = entered()
        words = getattr(module, only, None) or only.split(",")
        super().__init__(out, seconds)
        self.build_s = build_seconds
        self.known = module.PROGRAMS
        self.names = [name for name in self.known if any(word in name for word in words)]
        self.live = [name for name in module.LIVE if name in self.names]
        self.is_traced = getattr(module, "IS_TRACED", True)
        self.scratch = Path(tempfile.mkdtemp())
        self.door = Listener(f"{self.scratch}/door", authkey=KEY)
        self.workers: dict[str, Asked] = {}
        self.options: dict[str, list[str]] = {}
        self.captured: dict[str, subprocess.Popen[str]] = {}
        self.took_s: dict[str, float] = {}
        self.report["machine"] = []

    def all_parts(self) -> None:
        """Take everything."""
        for name in self.names:
            self.begin(name)
        for name in self.live:
            self.captured[name] = self.begin_live(name)
        for name in self.names:
            self.wait_for(name)
        for name, process in self.captured.items():
            line = process.stdout.readline() if process.stdout else ""
            if line != "ready\n":
                self.failed(f"live {name}: not begun")
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGSTOP)
        say("all have begun")
        for number in range(N_ROUNDS):
            self.machine()
            self.fit(number)
            for name in list(self.names):
                began = time.monotonic()
                try:
                    self.visit(name, number)
                except (OSError, ValueError, RuntimeError) as error:
                    self.drop(name, str(error))
                self.took_s.setdefault(name, time.monotonic() - began)
                self.write()
            say("round", number)

    def fit(self, number: int) -> None:
        """Drop the last programs until the others can take all turns that are left."""
        while number and self.names:
            needed_s = sum(self.took_s[name] + TRACE_S for name in self.names)
            if number < N_ROUNDS - 1:
                needed_s += len(self.names) * (WARM_S + TURN_S)
                needed_s += len(self.captured) * (LIVE_S + LIVE_MORE_S)
            say("needed", round(needed_s), "left", round(self.left_s()))
            if needed_s <= self.left_s():
                break
            self.drop(self.names[-1], "no time")

    def drop(self, name: str, why: str) -> None:
        """Leave out a program that cannot take all of its turns."""
        self.failed(f"{name}: {why}")
        self.names.remove(name)
        self.workers[name].kill()
        captured = self.captured.pop(name, None)
        if captured is not None:
            self.kill(captured)
        self.report["changes"].pop(name, None)
        self.report["live"] = [row for row in self.report["live"] if row["program"] != name]

    def machine(self) -> None:
        """Note the speed of this host and of the GPU while all programs are stopped."""
        counts = sorted(counted_ns() for _ in range(10_000))
        clocks = ""
        with suppress(OSError):
            asked = "clocks.sm,clocks.mem,temperature.gpu,power.draw"
            words = ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"]
            clocks = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        noted = {"counts_ns": counts[::1000], "gpu": clocks.strip(), "load": os.getloadavg()}
        self.report["machine"].append(noted)
        say("machine", noted)

    def begin(self, name: str) -> None:
        """Start the process of a program, and let it build the program and its changes."""
        worker = Asked(self.door, self.scratch, [], self.out / f"{name}.txt")
        self.workers[name] = worker
        changes = sorted(self.known[name].changes, key=lambda option: option == "compile")
        for option in ("-", *changes):
            worker.send("build", name, option)

    def begin_live(self, name: str) -> subprocess.Popen[str]:
        """Start a program that is captured as `tracelens run` captures."""
        folder = self.out / "live" / f"{name}.usual"
        folder.mkdir(parents=True)
        on_start = take.HERE.parents[1] / "collectors" / "torch" / "live" / "on-start"
        path = [str(on_start), *filter(None, [os.getenv("PYTHONPATH")])]
        environment = {
            "OMP_NUM_THREADS": "4",
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path),
            "TRACELENS_LIVE": json.dumps({"folder": str(folder), "light": True}),
        }
        with (self.out / f"live.{name}.txt").open("w") as log:
            return subprocess.Popen(
                [sys.executable, str(take.HERE / "take.py"), "--one", name, "captured"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                text=True,
                cwd=self.scratch,
                start_new_session=True,
            )

    def wait_for(self, name: str) -> None:
        """Wait until a process has built its programs, then stop it."""
        worker, done = self.workers[name], []
        while worker.pending and not worker.is_lost:
            option = worker.pending[0][2]
            try:
                took = worker.answer(self.build_s - (time.monotonic() - BEGUN))
                done.append(option)
                say("built", name, option, f"in {took:.1f} s")
            except RuntimeError as error:
                self.failed(f"{name} {option}: {error}")
        self.options[name] = [option for option in done if option != "-"]
        with suppress(ProcessLookupError):
            os.killpg(worker.process.pid, signal.SIGSTOP)
        changes = self.known[name].changes
        self.report["changes"][name] = {
            "options": changes,
            "rounds": N_ROUNDS,
            "turns": [],
            "traced": {},
        }

    def visit(self, name: str, number: int) -> None:
        """Let a program take its turns of a round; changes come first in the last one."""
        worker, row = self.workers[name], self.report["changes"][name]
        is_last = number == N_ROUNDS - 1
        options = ["-"] if number % 2 else ["-", *self.options[name]]
        if is_last:
            options.reverse()
        turn: dict[str, Any] = {}
        with worker.running():
            for place, option in enumerate(options):
                is_fed = is_loaded(name) and option != "input_ready"
                warm_s = WARM_LOADED_S if is_fed else WARM_CHANGE_S
                warm_s = WARM_S if place == 0 else warm_s
                try:
                    turn[option] = worker.ask("turn", name, option, str(warm_s), limit_s=60)
                except RuntimeError as error:
                    if worker.is_lost or option == "-":
                        raise
                    self.leave_out(name, option, str(error))
            if is_last and self.is_traced:
                traced = worker.ask("trace", name, "-", limit_s=60)
                row["traced"]["-"] = traced["counts_ns"]
                self.keep(name, Path(traced["path"]))
        row["turns"].append(turn)
        say(name, {o: [block["ms"] for block in blocks] for o, blocks in turn.items()})
        if is_last:
            worker.kill()
        elif number % 2 and name in self.captured:
            try:
                self.capture(name)
            except (IndexError, OSError, ValueError, RuntimeError) as error:
                self.failed(f"live {name}: {error}")

    def leave_out(self, name: str, option: str, why: str) -> None:
        """Leave out a change that cannot take all of its turns."""
        self.failed(f"{name} {option}: {why}")
        self.options[name].remove(option)
        for turn in self.report["changes"][name]["turns"]:
            turn.pop(option, None)

    def keep(self, name: str, raw: Path) -> None:
        """Move a trace beside the results."""
        folder = self.out / "traces"
        folder.mkdir(exist_ok=True)
        shutil.move(raw, folder / f"{name}.-.pt.trace.json")
        say("traced", name)

    def pack(self) -> None:
        """Compress the traces."""

        def packed(path: Path) -> None:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), 6))
            path.unlink()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(packed, (self.out / "traces").glob("*.json")))

    def capture(self, name: str) -> None:
        """Run the captured process to its end."""
        process = self.captured.pop(name)
        step_s = self.report["changes"][name]["turns"][-1]["-"][-1]["ms"] / 1000
        fewest, most = LIVE_STEPS
        n = min(max(round(LIVE_S / step_s), fewest), most)
        os.killpg(process.pid, signal.SIGCONT)
        try:
            line, _ = process.communicate(f"{n}\n", timeout=45)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError("captured for too long") from error
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.report["live"].append(
            {"program": name, "number": "usual", "captured": json.loads(line.splitlines()[0])}
        )
        say("live", name, n, "steps")

    def end(self) -> None:
        """Kill what is left; leave out programs that have not ended."""
        for name in list(self.names):
            if len(self.report["changes"].get(name, {}).get("turns", [])) < N_ROUNDS:
                self.drop(name, "not ended")
        for worker in self.workers.values():
            worker.kill()
        for process in self.captured.values():
            self.kill(process)

    def kill(self, process: subprocess.Popen[str]) -> None:
        """Kill a captured process."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def main() -> None:
    """Take all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--programs", required=True, help="the module that has them")
    parser.add_argument(
        "--only",
        default="",
        help="programs with these words, joined by commas, or the name of a tuple of the module",
    )
    parser.add_argument("--seconds", type=float, default=520)
    parser.add_argument("--build-seconds", type=float, default=110)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["BLIND_PROGRAMS"] = given.programs
    # A limit on time, as of `timeout`, ends this like Ctrl-C: results are written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    taking = Taking(given.out.resolve(), given.only, given.seconds, given.build_seconds)
    try:
        taking.all_parts()
    finally:
        taking.end()
        taking.write()
        taking.pack()
        say("end")


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        take.work(sys.argv[2], Worker)
    else:
        main()
