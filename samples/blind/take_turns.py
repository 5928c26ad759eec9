"""Take turns in processes of their own, and captures between them, live or under nsys.

python samples/blind/take_turns.py --out DIR --programs MODULE [--seconds S] [-- nsys profile …]

This process imports torch and all that the programs need, but never asks for the GPU. For each
turn it forks a process, which begins the program anew, warms up, is timed and ends. Rounds go
through all programs until the time is over. Without a command after `--`, every second program is
captured live after its turn in the first round, the others in the second round. With a command, a
process under it records some steps of each program after its turn in the second round; programs
come in reverse order then. One process runs at a time. README.md has the rules.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import take
import take_alone
import take_nsys
from take import IS_QUICK, entered, is_loaded, say

WARM_S, WARM_LOADED_S = (0.1, 0.2) if IS_QUICK else (0.4, 1.0)
"""A turn warms up for eight steps and so many seconds."""
TURN_LIMIT_S, RECORD_LIMIT_S = 40, 30
LEAST_S = 6
"""With less time left, nothing more is begun."""
SETTLING_S = 8
"""nsys has so much time to write what it recorded, while nothing is timed."""
WAKING_S = 0.3
"""A captured process that was stopped gets so much time before it begins its program."""


def import_all() -> None:
    """Import the programs without a call of the GPU's driver, after which no fork could use it."""
    import torch  # noqa: PLC0415 - not in a process that is captured

    is_on_gpu = Path("/dev/nvidiactl").exists()
    torch.cuda.is_available = lambda: is_on_gpu
    entered()


def warm_s(name: str) -> float:
    """Return the seconds for which a program warms up."""
    return WARM_LOADED_S if is_loaded(name) else WARM_S


def timed(name: str) -> list[dict[str, float]]:
    """Begin a program in this process and time blocks of its steps."""
    worker = take_alone.Worker()
    worker.build(name, "-")
    return worker.turn(name, "-", str(warm_s(name)))


class Worker(take_nsys.Worker):
    """The programs of the process that nsys records."""

    def record(self, name: str, step_ms: str) -> dict[str, Any]:
        """Warm up as before a turn, then run some steps, marked for the recording."""
        self._steps(self.running[name, "-"], warm_s(name), 3)
        return super().record(name, step_ms)


class Asked(take.Asked):
    """A started process that answers requests."""

    script = "take_turns.py"


class Taking(take_alone.Taking):
    """Takes rounds of turns with captures between them."""

    def __init__(self, out: Path, seconds: float, recorder: list[str]) -> None:
        import_all()
        say("imported")
        super().__init__(out, "", seconds, 100)
        self.recorder = recorder
        self.under: Asked | None = None
        for name in self.names:
            self.report["changes"][name] = {"options": {}, "traced": {}, "rounds": 0, "turns": []}

    def all_parts(self) -> None:
        """Take everything."""
        if self.recorder:
            self.begin_under()
        else:
            self.captured = {name: self.begin_live(name) for name in self.live}
        self.wait_for_all()
        say("all have begun")
        number = 0
        while self.left_s() >= LEAST_S:
            self.machine()
            self.round(number)
            say("round", number)
            number += 1

    def begin_under(self) -> None:
        """Start the process that nsys records, and let it build all programs."""
        self.names.reverse()
        self.under = Asked(self.door, self.scratch, self.recorder, self.out / "under.txt")
        for name in self.names:
            self.under.send("build", name, "-")

    def wait_for_all(self) -> None:
        """Wait until what is captured has begun; processes that are captured live stop then."""
        for name, process in self.captured.items():
            line = process.stdout.readline() if process.stdout else ""
            if line != "ready\n":
                self.failed(f"live {name}: not begun")
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGSTOP)
        for name in self.names if self.under else ():
            try:
                say("built", name, round(self.under.answer(60), 1))
                self.report["nsys"][name] = {}
            except RuntimeError as error:
                self.failed(f"nsys {name}: {error}")

    def round(self, number: int) -> None:
        """Let each program take a turn, and capture those whose round it is."""
        is_recorded = self.under is not None and number == 1
        if is_recorded:
            self.ask_profiler("Start")
        for place, name in enumerate(self.names):
            if self.left_s() < LEAST_S:
                say("no time from", name)
                break
            if self.take_turn(name):
                if is_recorded and name in self.report["nsys"]:
                    self.record(name)
                elif name in self.captured and number == place % 2:
                    self.capture_live(name)
            self.write()
        if is_recorded:
            self.ask_profiler("Stop")
            time.sleep(0 if IS_QUICK else SETTLING_S)

    def ask_profiler(self, word: str) -> None:
        """Let nsys begin or end to record."""
        try:
            self.under.ask("profiler", word, "", limit_s=40)
        except RuntimeError as error:
            self.failed(f"nsys: {error}")

    def take_turn(self, name: str) -> bool:
        """Take a turn in a new process; return whether it ended well."""
        began = time.monotonic()
        try:
            turn = self.forked(name)
        except RuntimeError as error:
            self.failed(f"{name}: {error}")
            return False
        row = self.report["changes"][name]
        row["turns"].append({"-": turn})
        row["rounds"] += 1
        took_s = time.monotonic() - began
        say(name, [block["ms"] for block in turn], f"in {took_s:.1f} s")
        return True

    def forked(self, name: str) -> list[dict[str, float]]:
        """Return a turn of a process that is forked for it.

        Raises RuntimeError if it fails or takes too long.
        """
        receiver, sender = Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            self.be_forked(name, sender)
        sender.close()
        try:
            if not receiver.poll(TURN_LIMIT_S):
                raise RuntimeError(f"no turn in {TURN_LIMIT_S} s")
            turn = receiver.recv()
        except EOFError as error:
            raise RuntimeError("the turn's process ended") from error
        finally:
            for kill in (os.killpg, os.kill):
                with suppress(ProcessLookupError):
                    kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        if "failed" in turn:
            raise RuntimeError(turn["failed"])
        return turn["blocks"]

    def be_forked(self, name: str, sender: Connection) -> None:
        """Take a turn as the forked process, send it, and end."""
        try:
            os.setsid()
            with (self.out / f"{name}.txt").open("a") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            sender.send({"blocks": timed(name)})
        except BaseException as error:  # noqa: BLE001 - the process must end here
            sender.send({"failed": f"{type(error).__name__}: {error}"[:400]})
        os._exit(0)

    def record(self, name: str) -> None:
        """Let nsys record some steps of a program."""
        step_s = self.last_step_s(name)
        row = self.report["nsys"][name]
        try:
            row["recorded"] = self.under.ask(
                "record", name, str(1000 * step_s), limit_s=RECORD_LIMIT_S
            )
            say(name, "recorded", row["recorded"]["ms"])
        except RuntimeError as error:
            self.failed(f"nsys {name}: {error}")

    def last_step_s(self, name: str) -> float:
        """Return the time of a step in the last block of the program's last turn."""
        return self.report["changes"][name]["turns"][-1]["-"][-1]["ms"] / 1000

    def capture_live(self, name: str) -> None:
        """Run the captured process of a program to its end."""
        process = self.captured[name]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGCONT)
        time.sleep(WAKING_S)
        try:
            self.capture(name)
        except (IndexError, OSError, ValueError, RuntimeError) as error:
            self.failed(f"live {name}: {error}")

    def end(self) -> None:
        """Name the captures for which no time was left; end all processes."""
        for name, process in self.captured.items():
            self.failed(f"live {name}: no time")
            self.kill(process)
        if self.under is None:
            return
        for name, row in self.report["nsys"].items():
            if "recorded" not in row:
                self.failed(f"nsys {name}: not recorded")
        self.write()
        self.under.end()
        with suppress(Exception):
            self.under.process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(self.under.process.pid, signal.SIGKILL)


def main() -> None:
    """Take all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--programs", required=True, help="the module that has them")
    parser.add_argument("--seconds", type=float, default=240)
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
        taking.write()
        say("end")
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        take.work(sys.argv[2], Worker)
    else:
        main()
