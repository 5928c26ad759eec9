"""Take captures and what they are compared with within seconds; retake what did not hold still.

python samples/blind/take_still.py --out DIR --programs MODULE [--seconds S] [-- nsys profile …]

A take of a program has a process that never records, and a captured one: under the command that
follows `--`, or captured live without one. The first computes right before and right after the
second. Programs take turns in rounds. Later rounds are for those whose host did not hold its speed
in any take before. README.md has the rules.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import take
import take_alone
from take import IS_QUICK, KEY, counted_ns, is_loaded, say
from take_turns import import_all, warm_s

N_PARTS, N_OF_PART, N_RECORDED, N_OF_LOADER = (2, 2, 2, 3) if IS_QUICK else (5, 8, 8, 24)
"""A block has five parts of eight steps. So many steps are recorded; of loaders more."""
AGAIN_S, AGAIN_LOADED_S, N_AGAIN = (0, 0, 1) if IS_QUICK else (0.2, 0.4, 8)
"""A process that has waited warms up again for so many seconds and steps."""
N_LIVE, N_MORE, LIVE_LIMIT_S = (20, 5, 120) if IS_QUICK else (60, 10, 12)
"""A captured process runs so many steps, and more until its recordings are written."""
FILLING_S = 0.3
"""Workers of a loader get so much time to fill their queue before another process computes."""
N_TAKES = 5
STILL = 1.1
"""A take held still if the slowest median count is at most so many times the fastest one."""
BEGIN_LIMIT_S, BUILD_LIMIT_S, BLOCK_LIMIT_S, END_LIMIT_S = (
    (200,) * 4 if IS_QUICK else (60, 40, 40, 20)
)
TAKE_S, BEGIN_S = 6, 10
"""About what a take needs, and what starting the processes of a round needs."""
BLOCKS = ("never_before", "before", "recorded", "after", "never_after")
Block = dict[str, list[float]]


class Worker(take_alone.Worker):
    """The program of one process."""

    def ready(self) -> bool:
        """Say that all is imported."""
        return True

    def begin(self, name: str) -> float:
        """Build the program and warm up; return the seconds that this took."""
        took_s = self.build(name, "-")
        self._steps(self.running[name, "-"], warm_s(name), 3)
        return took_s

    def never(self, name: str) -> Block:
        """Warm up again, then time a block, in a process that never records."""
        return self._block_again(self.running[name, "-"], name)

    def nsys(self, name: str, _: str) -> dict[str, Block]:
        """Time a block, record steps, and time a block."""
        steps = self.running[name, "-"]
        before = self._block_again(steps, name)
        self.profiler("Start", "")
        recorded = self._recorded(steps, N_OF_LOADER if is_loaded(name) else N_RECORDED)
        self.profiler("Stop", "")
        return {"before": before, "recorded": recorded, "after": self._block_of(steps)}

    def live(self, name: str, folder: str) -> dict[str, Any]:
        """Begin the program, run it until its recordings are written, and time a block."""
        steps = self.running[name, "-"] = self.known[name].steps()
        began = time.monotonic()
        self._run(steps, N_LIVE)
        while not (is_written := _is_written(Path(folder))):
            if time.monotonic() - began > LIVE_LIMIT_S:
                break
            self._run(steps, N_MORE)
        self._run(steps, N_AGAIN)
        return {"after": self._block_of(steps), "is_written": is_written}

    def _run(self, steps: Iterator[None], n: int) -> None:
        """Run steps without a wait of this script's own."""
        for _ in islice(steps, n):
            counted_ns()

    def _block_again(self, steps: Iterator[None], name: str) -> Block:
        self._steps(steps, AGAIN_LOADED_S if is_loaded(name) else AGAIN_S, N_AGAIN)
        return self._block_of(steps)

    def _block_of(self, steps: Iterator[None]) -> Block:
        """Time parts of a block, each between two waits for the device."""
        parts = [self._steps(steps, 0, N_OF_PART) for _ in range(N_PARTS)]
        return {
            "ms": [round(step_s * 1e3, 4) for _, step_s in parts],
            "counts_ns": [count for counts, _ in parts for count in counts],
        }

    def _recorded(self, steps: Iterator[None], n: int) -> Block:
        """Run steps, each in an NVTX range, between two waits for the device."""
        counts: list[float] = []
        self._synchronize()
        began = time.perf_counter()
        for number in range(n):
            self._push(f"step {number}")
            counts.append(counted_ns())
            next(steps)
            self._pop("step")
        self._synchronize()
        step_s = (time.perf_counter() - began) / n
        return {"ms": [round(step_s * 1e3, 4)], "counts_ns": counts}


def _is_written(folder: Path) -> bool:
    """Return whether the recordings of both windows of a live capture are there."""
    return all(any(folder.glob(f"process.*.{end}")) for end in ("light.json", "pt.trace.json"))


def held_still(blocks: dict[str, Any]) -> bool:
    """Return whether the host had one speed in all blocks of a take."""
    counts = [statistics.median(blocks[b]["counts_ns"]) for b in BLOCKS if b in blocks]
    return max(counts) <= STILL * min(counts)


def work(address: str, key: str) -> None:
    """Call the process at this address, and serve its requests until it ends the connection.

    The process ends as a user's program does, so that a live capture can write what it has.
    """
    with Client(address, authkey=KEY) as asker:
        asker.send(key)
        worker = Worker()
        while True:
            try:
                what, *words = asker.recv()
            except EOFError:
                return
            try:
                answer = getattr(worker, what)(*words)
            except Exception as error:  # noqa: BLE001 - the other programs go on
                answer = f"failed: {type(error).__name__}: {error}"[:400]
            asker.send(answer)


def be_forked(address: str, log: Path) -> None:
    """Serve requests as a process forked from the one that takes, never recording anything."""
    os.setsid()
    # What its parent does at SIGTERM is not for this process.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    work(address, "never")


class Asked(take.Asked):
    """A process that answers requests once it has called."""

    def __init__(self, process: Any) -> None:
        self.process = process
        self.pending: list[tuple[str, ...]] = []
        self.is_lost = True

    def called(self, line: Any) -> None:
        """Take the process's call."""
        self.line = line
        self.is_lost = False

    def kill(self) -> None:
        """Kill the process, its loaders and its recorder."""
        for end in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                end(self.process.pid, signal.SIGKILL)


class Taking(take_alone.Taking):
    """Takes rounds of takes. Results are written after each take."""

    def __init__(self, out: Path, seconds: float, recorder: list[str]) -> None:
        import_all()
        say("imported")
        super().__init__(out, "", seconds, 100)
        self.recorder = recorder
        self.kind = "nsys" if recorder else "live"
        self.started: dict[str, Asked] = {}
        self.ending: list[Asked] = []
        self.takes: dict[str, list[dict[str, Any]]] = {name: [] for name in self.names}
        self.report = {"kind": self.kind, "takes": self.takes, "errors": [], "machine": []}
        (out / self.kind).mkdir()

    def all_parts(self) -> None:
        """Take everything."""
        for number in range(N_TAKES):
            n = int((self.left_s() - (number > 0) * BEGIN_S) // TAKE_S)
            names = [name for name in self.names if not self.has_still(name)][: max(n, 0)]
            if not names:
                break
            self.machine()
            self.begin_all(names, number)
            say("all have begun:", *names)
            for name in names:
                if self.left_s() < TAKE_S:
                    say("no time from", name)
                    break
                self.take_one(name, number)
                self.write()
            for process in self.started.values():
                process.kill()
            say("round", number)

    def has_still(self, name: str) -> bool:
        """Return whether a program has a take that held still."""
        return any(take_of.get("still") for take_of in self.takes[name])

    def begin_all(self, names: list[str], number: int) -> None:
        """Start the captured processes of a round, and wait until they have imported all."""
        self.started = {name: Asked(self.start(name, number)) for name in names}
        signal.alarm(BEGIN_LIMIT_S)
        with suppress(TimeoutError):
            for _ in names:
                line = self.door.accept()
                self.started[line.recv()].called(line)
        signal.alarm(0)
        for process in self.started.values():
            with suppress(RuntimeError):
                process.send("ready")
        for name, process in self.started.items():
            try:
                process.answer(BEGIN_LIMIT_S)
            except RuntimeError as error:
                self.failed(f"{name}: not begun: {error}")

    def start(self, name: str, number: int) -> subprocess.Popen[str]:
        """Start a captured process."""
        place = self.out / self.kind / f"{name}.{number}"
        environment = {"OMP_NUM_THREADS": "4", **os.environ}
        if not self.recorder:
            place.mkdir()
            site = take.HERE.parents[1] / "collectors" / "torch" / "live" / "on-start"
            path = [str(site), *filter(None, [os.getenv("PYTHONPATH")])]
            environment["PYTHONPATH"] = os.pathsep.join(path)
            environment["TRACELENS_LIVE"] = json.dumps({"folder": str(place), "light": True})
        before = [*self.recorder, "-o", str(place)] if self.recorder else []
        script = str(take.HERE / "take_still.py")
        words = [*before, sys.executable, script, "--work", str(self.door.address), name]
        with (self.out / f"{name}.{number}.txt").open("w") as log:
            return subprocess.Popen(
                words,
                env=environment,
                cwd=self.scratch,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def take_one(self, name: str, number: int) -> None:
        """Take a program once."""
        captured = self.started.pop(name)
        row: dict[str, Any] = {"number": number, "began_s": round(time.monotonic() - take.BEGUN, 1)}
        self.takes[name].append(row)
        never = self.forked(name)
        try:
            self.blocks(name, row, never, captured)
            row["still"] = held_still(row)
        except RuntimeError as error:
            row["failed"] = str(error)
            self.failed(f"{name}: {error}")
        never.kill()
        never.process.join()
        self.end_of(captured)
        medians = {b: statistics.median(row[b]["ms"]) for b in BLOCKS if b in row}
        say(name, number, medians, "still" if row.get("still") else "not still")

    def blocks(self, name: str, row: dict[str, Any], never: Asked, captured: Asked) -> None:
        """Take the blocks of a take. One process computes at a time once both have begun.

        A live capture records what its program does first, so that its process begins in its turn.
        Raises RuntimeError if a process fails.
        """
        building = [never, captured] if self.recorder else [never]
        for process in building:
            process.send("begin", name)
        for process in building:
            process.answer(BUILD_LIMIT_S)
        self.pause(name)
        row["never_before"] = never.ask("never", name, limit_s=BLOCK_LIMIT_S)
        self.pause(name)
        folder = str(self.out / self.kind / f"{name}.{row['number']}")
        row |= captured.ask(self.kind, name, folder, limit_s=BLOCK_LIMIT_S)
        self.pause(name)
        row["never_after"] = never.ask("never", name, limit_s=BLOCK_LIMIT_S)

    def pause(self, name: str) -> None:
        """Wait until the workers of a loader have filled their queue."""
        time.sleep(FILLING_S if is_loaded(name) else 0)

    def forked(self, name: str) -> Asked:
        """Fork the process that never records."""
        log = self.out / f"{name}.never.txt"
        words = (str(self.door.address), log)
        process = multiprocessing.get_context("fork").Process(target=be_forked, args=words)
        process.start()
        line = self.door.accept()
        while line.recv() != "never":  # a captured process that begins too late
            line.close()
            line = self.door.accept()
        found = Asked(process)
        found.called(line)
        return found

    def end_of(self, captured: Asked) -> None:
        """Let a captured process end. Its recorder may go on until the end of all."""
        if captured.is_lost:
            captured.kill()
            return
        captured.end()
        self.ending.append(captured)
        if not self.recorder:
            self.wait_for_end(captured, END_LIMIT_S)

    def wait_for_end(self, process: Asked, limit_s: float) -> None:
        """Wait until a process has ended; kill it if it does not."""
        with suppress(subprocess.TimeoutExpired):
            process.process.wait(limit_s)
        process.kill()

    def end(self) -> None:
        """End all processes. Leave out takes that no row needs."""
        for process in self.started.values():
            process.kill()
        until = time.monotonic() + END_LIMIT_S
        for process in self.ending:
            self.wait_for_end(process, max(until - time.monotonic(), 0.1))
        needed: set[str] = set()
        for name, takes in self.takes.items():
            still = [row["number"] for row in takes if row.get("still")]
            needed |= {f"{name}.{number}" for number in (0, *still[:1])}
        for path in (self.out / self.kind).iterdir():
            if ".".join(path.name.split(".")[:2]) not in needed:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def main() -> None:
    """Take all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--programs", required=True, help="the module that has them")
    parser.add_argument("--seconds", type=float, default=245)
    words = sys.argv[1:]
    place = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:place])
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["BLIND_PROGRAMS"] = given.programs

    def late(*_: object) -> None:
        raise TimeoutError

    # A limit on time, as of `timeout`, ends this like Ctrl-C: results are written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGALRM, late)
    taking = Taking(given.out.resolve(), given.seconds, words[place + 1 :])
    try:
        taking.all_parts()
    finally:
        taking.write()
        taking.end()
        say("end")
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(*sys.argv[2:])
    else:
        main()
