"""Take every pair: under nsys, captured live, and before and after changes, in turns.

python samples/blind/take.py --out DIR [--programs MODULE] [--only WORD,WORD] [-- nsys …]

One process works at a time; all others have begun their programs and wait. In each step of every
process, Python also adds up numbers for some microseconds. The time of this sum shows the host's
speed at that moment. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Timer
from typing import Any

HERE = Path(__file__).resolve().parent
KEY = b"blind"
N_NUMBERS = 1000
IS_QUICK = bool(os.environ.get("QUICK"))
"""True for few steps, to try the script."""
N_SETTLE, N_STEPS, N_BLOCKS, N_TURNS = (1, 2, 1, 1) if IS_QUICK else (3, 8, 3, 3)
N_OF_LOADER = 2 if IS_QUICK else 24
"""Steps to settle and steps to time, after a loader's workers had time to make batches."""
TRACED = 3
LIVE_LIMIT_S = 60
"""Time that the live capture of one program may take."""
USUAL: dict[str, tuple[dict[str, Any], dict[str, str]]] = {"0": ({}, {}), "1": ({}, {})}
"""Captures of each program: settings of the capture, and variables of its process."""
BEGUN = time.monotonic()


def entered() -> Any:
    """Return the module whose programs are taken."""
    return importlib.import_module(os.environ.get("BLIND_PROGRAMS", "programs"))


def is_loaded(name: str) -> bool:
    """Return whether a loader feeds the program."""
    return name.startswith(getattr(entered(), "LOADED", ("rows", "loop")))


def fewer(name: str, n: int) -> int:
    """Divide a number of steps by what `SLOW` says of the program; at least one is left."""
    return max(n // getattr(entered(), "SLOW", {}).get(name, 1), 1)


def counted_ns() -> int:
    """Time the sum of some numbers."""
    began = time.perf_counter_ns()
    total = 0
    for i in range(N_NUMBERS):
        total += i
    return time.perf_counter_ns() - began


def say(*words: object) -> None:
    """Print words, and the time since the beginning."""
    print(round(time.monotonic() - BEGUN, 1), *words, flush=True)


class Worker:
    """The programs of one process, and what can be asked of them."""

    def __init__(self) -> None:
        import torch  # noqa: PLC0415 - not in the process that says whose turn it is

        self.torch, self.is_on_gpu, self.known = (
            torch,
            importlib.import_module("programs").ON_GPU,
            entered().PROGRAMS,
        )
        self.running: dict[tuple[str, str], Any] = {}

    def build(self, name: str, option: str) -> float:
        """Begin a program and let it warm up; return the seconds that this took."""
        began = time.monotonic()
        self.running[name, option] = self.known[name].steps(option)
        for _ in islice(self.running[name, option], 8 if self.is_on_gpu else 2):
            pass
        self._synchronize()
        return time.monotonic() - began

    def time(self, name: str, option: str) -> list[dict[str, float]]:
        """Time some blocks of steps."""
        n_blocks = 1 if self._is_loaded(name, option) else N_BLOCKS
        return [self._block(name, option) for _ in range(n_blocks)]

    def record(self, name: str, option: str) -> list[dict[str, float]]:
        """Run one block under a profiler that is recording; `option` is the name of the turn."""
        return [self._block(name, "-", f"program {name} turn {option}")]

    def profiler(self, word: str, _: str) -> None:
        """Begin or end the range that an outer profiler records."""
        if self.is_on_gpu:
            getattr(self.torch.cuda.cudart(), f"cudaProfiler{word}")()

    def trace(self, name: str, option: str) -> dict[str, Any]:
        """Record some steps with torch.profiler; return the file, and the counts in its steps."""
        profiling = self.torch.profiler
        path = Path.cwd() / f"{name}.{option}.pt.trace.json"
        plan = profiling.schedule(wait=0, warmup=2, active=TRACED, repeat=1)
        kinds = [profiling.ProfilerActivity.CPU]
        kinds += [profiling.ProfilerActivity.CUDA] if self.is_on_gpu else []
        loaded = self._is_loaded(name, option)
        n = N_OF_LOADER if loaded else fewer(name, N_SETTLE)
        for _ in islice(self.running[name, option], n):
            pass
        self._synchronize()
        counts = []
        with profiling.profile(
            activities=kinds,
            schedule=plan,
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        ) as profiler:
            for _ in islice(self.running[name, option], 2 + TRACED):
                counts.append(counted_ns())
                profiler.step()
        return {"path": str(path), "counts_ns": counts[-TRACED:]}

    def _is_loaded(self, name: str, option: str) -> bool:
        return is_loaded(name) and option != "input_ready"

    def _block(self, name: str, option: str, label: str = "") -> dict[str, float]:
        """Return the mean step in ms between two waits for the device, and the host's speed."""
        steps = self.running[name, option]
        loaded = self._is_loaded(name, option)
        for _ in range(N_OF_LOADER if loaded else fewer(name, N_SETTLE)):
            counted_ns()
            next(steps)
        n = N_OF_LOADER if loaded else fewer(name, N_STEPS)
        self._synchronize()
        self._push(label)
        counts = []
        began = time.perf_counter_ns()
        for i in range(n):
            self._push(label and f"step {i}")
            counts.append(counted_ns())
            next(steps)
            self._pop(label)
        self._synchronize()
        took = (time.perf_counter_ns() - began) / n / 1e6
        self._pop(label)
        half = n // 2
        return {
            "ms": round(took, 4),
            "count_ns": statistics.median(counts),
            "first_ns": statistics.median(counts[:half]),
            "last_ns": statistics.median(counts[half:]),
        }

    def _synchronize(self) -> None:
        if self.is_on_gpu:
            self.torch.cuda.synchronize()

    def _push(self, text: str) -> None:
        if self.is_on_gpu and text:
            self.torch.cuda.nvtx.range_push(text)

    def _pop(self, text: str) -> None:
        if self.is_on_gpu and text:
            self.torch.cuda.nvtx.range_pop()


def work(address: str, kind: type[Worker] = Worker) -> None:
    """Serve requests of the process at this address until it closes the connection."""
    with Client(address, authkey=KEY) as asker:
        worker = kind()
        while True:
            try:
                what, *words = asker.recv()
            except EOFError:
                os._exit(0)
            try:
                answer = getattr(worker, what)(*words)
            except Exception as error:  # noqa: BLE001 - the other programs go on
                answer = f"failed: {type(error).__name__}: {error}"[:400]
            asker.send(answer)


def one(name: str, option: str) -> None:
    """Run one program alone, for `live`: a block of steps per line of input."""
    import torch  # noqa: PLC0415 - as above

    is_on_gpu = importlib.import_module("programs").ON_GPU
    steps = entered().PROGRAMS[name].steps()
    print("ready", flush=True)
    for line in sys.stdin:
        n = int(line)
        times: list[int] = []
        counts: list[int] = []
        probed = probe(torch) if is_on_gpu else {}
        began = time.perf_counter_ns()
        for _ in range(n):
            counts.append(counted_ns())
            next(steps)
            times.append(time.perf_counter_ns())
        if is_on_gpu:
            torch.cuda.synchronize()
        times.append(time.perf_counter_ns())
        row = {
            "program": name,
            "option": option,
            "ends_us": [(t - times[0]) // 1000 for t in times],
            "counts_ns": counts,
            "whole_us": (times[-1] - began) // 1000,
            "probed_ns": [probed, probe(torch) if is_on_gpu else {}],
        }
        print(json.dumps(row), flush=True)


def probe(torch: Any) -> dict[str, float]:
    """Time the recording of an event, a launch and a sum in ns, with the device idle."""
    events = [torch.cuda.Event() for _ in range(100)]
    x = torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for event in events:
        event.record()
    recorded = time.perf_counter_ns()
    for _ in range(100):
        x.add_(1)
    launched = time.perf_counter_ns()
    torch.cuda.synchronize()
    return {
        "event": (recorded - began) / 100,
        "launch": (launched - recorded) / 100,
        "count": counted_ns(),
    }


class Asked:
    """A started process that answers requests."""

    script = "take.py"

    def __init__(self, door: Listener, folder: Path, before: list[str], log: Path) -> None:
        words = [*before, sys.executable, str(HERE / self.script), "--work", str(door.address)]
        threads = {"OMP_NUM_THREADS": "4", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        environment = {**threads, **os.environ}
        with log.open("w") as file:
            self.process = subprocess.Popen(
                words,
                env=environment,
                cwd=folder,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.line: Connection = door.accept()
        self.pending: list[tuple[str, ...]] = []
        self.is_lost = False

    def ask(self, *words: str, limit_s: float = 30) -> Any:
        """Send a request and return the answer.

        Raises RuntimeError if it failed or took too long.
        """
        self.send(*words)
        return self.answer(limit_s)

    def send(self, *words: str) -> None:
        """Send a request without waiting."""
        if self.is_lost:
            raise RuntimeError("lost")
        self.line.send(words)
        self.pending.append(words)

    def answer(self, limit_s: float) -> Any:
        """Return the next answer."""
        if self.is_lost or not self.line.poll(max(limit_s, 0.01)):
            self.is_lost = True
            self.process.kill()
            raise RuntimeError(f"{self.pending[:1]}: no answer in {limit_s:.0f} s")
        words = self.pending.pop(0)
        try:
            found = self.line.recv()
        except (EOFError, OSError) as error:
            self.is_lost = True
            raise RuntimeError(f"{words}: ended") from error
        if isinstance(found, str) and found.startswith("failed"):
            raise RuntimeError(f"{words}: {found}")
        return found

    def end(self) -> None:
        """Let the process end."""
        self.line.close()


class Results:
    """Results of turns and captures, in a folder, and the time that is left to take more."""

    def __init__(self, out: Path, seconds: float) -> None:
        self.out, self.seconds = out, seconds
        self.report: dict[str, Any] = {"nsys": {}, "live": [], "changes": {}, "errors": []}

    def left_s(self) -> float:
        """Seconds that are left."""
        return self.seconds - (time.monotonic() - BEGUN)

    def failed(self, error: object) -> None:
        """Note an error and go on."""
        say("ERROR", error)
        self.report["errors"].append(str(error))

    def write(self) -> None:
        """Write the results so far."""
        (self.out / "pairs.json").write_text(json.dumps(self.report))


class Taking(Results):
    """Takes the parts of a judgement. Results are written after each step."""

    def __init__(self, out: Path, only: str, recorder: list[str], seconds: float) -> None:
        module = entered()

        def chosen(names: tuple[str, ...]) -> list[str]:
            return [name for name in names if any(word in name for word in only.split(","))]

        super().__init__(out, seconds)
        self.recorder = recorder
        self.scratch = Path(tempfile.mkdtemp())
        self.door = Listener(f"{self.scratch}/door", authkey=KEY)
        self.known = module.PROGRAMS
        self.nsys, self.live = chosen(module.NSYS), chosen(module.LIVE)
        self.changed = chosen(module.CHANGED)
        self.captures = getattr(module, "CAPTURES", USUAL)

    def begin(self, name: str, before: list[str] | None = None) -> Asked:
        """Start a process."""
        return Asked(self.door, self.scratch, before or [], self.out / f"{name}.txt")

    def groups(self) -> dict[str, list[str]]:
        """Group the changed programs by process: each compiled one alone, the others by kind."""
        found: dict[str, list[str]] = {}
        for name in self.changed:
            alone = "compile" in self.known[name].changes
            found.setdefault(name if alone else name.partition("_")[0], []).append(name)
        return found

    def options(self, name: str) -> list[str]:
        """List the program without a change, then its changes, with compiling last.

        With `batch`, list the second batch size to record, too.
        """
        changes = self.known[name].changes
        options = ["-", *changes, *(["other"] if "batch" in changes else [])]
        return sorted(options, key=lambda option: option == "compile")

    def all_parts(self) -> None:
        """Take everything."""
        groups = self.groups()
        changers = {key: self.begin(key) for key in groups}
        for key, names in groups.items():
            for name in names:
                for option in self.options(name):
                    changers[key].send("build", name, option)
        pair = [self.begin("beside"), self.begin("under", self.recorder)] if self.nsys else []
        for name in self.nsys:
            for process in pair:
                process.send("build", name, "-")
        built = {key: self.wait_for(process, 150) for key, process in changers.items()}
        if self.nsys:
            beside, under = pair
            ready = self.wait_for(beside, 100) & self.wait_for(under, 100)
            with suppress(RuntimeError):
                self.turns(beside, under, [name for name in self.nsys if (name, "-") in ready])
            self.finish(under)
            beside.end()
        for key, names in groups.items():
            try:
                self.change(changers[key], names, built[key])
            except RuntimeError as error:
                self.failed(error)
            changers[key].end()
            self.write()
        self.capture()

    def wait_for(self, process: Asked, seconds: float) -> set[tuple[str, str]]:
        """Wait until all requested programs are built; return those that are."""
        done = set()
        while process.pending:
            words = process.pending[0]
            try:
                took = process.answer(seconds - (time.monotonic() - BEGUN))
                done.add((words[1], words[2]))
                say("built", *words[1:], f"in {took:.1f} s")
            except RuntimeError as error:
                self.failed(error)
                if process.is_lost:
                    break
        return done

    def turns(self, beside: Asked, under: Asked, names: list[str]) -> None:
        """Time each program in turns: in an unrecorded process, and in the recorded one."""
        under.ask("profiler", "Start", "")
        for name in names:
            if self.left_s() < 0.6 * self.seconds:
                self.failed(f"no time for {name} under nsys")
                continue
            row: dict[str, Any] = {"plain": [], "nsys": []}
            try:
                for turn in range(N_TURNS):
                    row["plain"].append(beside.ask("time", name, "-"))
                    row["nsys"].append(under.ask("record", name, str(turn)))
                row["plain"].append(beside.ask("time", name, "-"))
            except RuntimeError as error:
                self.failed(error)
            self.report["nsys"][name] = row
            say(name, json.dumps(row))
            self.write()
            if beside.is_lost or under.is_lost:
                break

    def finish(self, under: Asked) -> None:
        """Let the recorder write its file."""
        with suppress(RuntimeError):
            under.ask("profiler", "Stop", "", limit_s=40)
        under.end()
        try:
            under.process.wait(60)
        except subprocess.TimeoutExpired:
            self.failed("the recorder goes on")
        say("recorder ended")
        export = os.environ.get("AFTER_RECORDER")
        if export:
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(["bash", "-c", export], timeout=60, check=False)
        say("exported")

    def change(self, process: Asked, names: list[str], built: set[tuple[str, str]]) -> None:
        """Time each change of each program in turns, then take traces of all.

        `N_AFTER` times each program once more after that.
        """
        for name in names:
            options = [option for option in self.known[name].changes if (name, option) in built]
            if (name, "-") not in built or self.left_s() < 0.25 * self.seconds:
                self.failed(f"not taken: {name}")
                continue
            turns: list[dict[str, Any]] = [
                {o: process.ask("time", name, o) for o in ("-", *options)} for _ in range(N_TURNS)
            ]
            turns.append({"-": process.ask("time", name, "-")})
            self.report["changes"][name] = {"options": self.known[name].changes, "turns": turns}
            say(name, json.dumps(turns))
        for name in names:
            for option in self.options(name):
                after = option in {"compile", "channels_last", "other"}
                if (name, option) in built and (option == "-" or after):
                    self.trace(process, name, option, option)
        for name in names:
            row = self.report["changes"].get(name)
            if row is not None and getattr(entered(), "N_AFTER", 0):
                row["after"] = process.ask("time", name, "-")
        for name in names:
            for number in range(getattr(entered(), "N_AGAIN", 0)):
                if (name, "-") in built:
                    self.trace(process, name, "-", f"again{number}")

    def trace(self, process: Asked, name: str, option: str, kept_as: str) -> None:
        """Keep a trace of a program, and the counts in its steps."""
        traced = process.ask("trace", name, option)
        raw = Path(traced["path"])
        packed = self.out / "traces" / f"{name}.{kept_as}.pt.trace.json.gz"
        packed.parent.mkdir(exist_ok=True)
        packed.write_bytes(gzip.compress(raw.read_bytes(), 6))
        raw.unlink()
        row = self.report["changes"].get(name)
        if row is not None:
            row.setdefault("traced", {})[kept_as] = traced["counts_ns"]
        say("traced", name, kept_as, packed.stat().st_size)

    def capture(self) -> None:
        """Time each program in turns in three processes.

        One never profiles, the second is captured, and the first runs again.
        """
        waiting = [(name, number) for number in self.captures for name in self.live]
        begun: list[tuple[str, str, Any, Any]] = []
        while waiting or begun:
            while waiting and len(begun) < 3:
                name, number = waiting.pop(0)
                pair = (self.single(name, None), self.single(name, number))
                begun.append((name, number, *pair))
            name, number, alone, captured = begun.pop(0)
            if self.left_s() < 12:
                self.failed(f"no time to capture {name} {number}")
                for process in (alone, captured):
                    process.kill()
                continue
            limit = Timer(LIVE_LIMIT_S, lambda pair=(alone, captured): [p.kill() for p in pair])
            limit.start()
            try:
                self.captured(name, number, alone, captured)
            except (OSError, ValueError, RuntimeError) as error:
                self.failed(f"{name} {number}: {error}")
            limit.cancel()
            for process in (alone, captured):
                process.kill()
            self.write()

    def single(self, name: str, number: str | None) -> Any:
        """Start one program alone; it is captured if the number of a capture is given."""
        environment = {**os.environ, "OMP_NUM_THREADS": "4"}
        if number is not None:
            settings, variables = self.captures[number]
            folder = self.out / "live" / f"{name}.{number}"
            folder.mkdir(parents=True)
            site = HERE.parents[1] / "collectors" / "torch" / "live" / "on-start"
            environment |= {
                "PYTHONPATH": os.pathsep.join(
                    [str(site), *filter(None, [os.getenv("PYTHONPATH")])]
                ),
                "TRACELENS_LIVE": json.dumps({"folder": str(folder), "light": True, **settings}),
                **variables,
            }
        kind = "alone" if number is None else "captured"
        log = (self.out / f"live.{name}.{kind}.txt").open("a")
        return subprocess.Popen(
            [sys.executable, str(HERE / "take.py"), "--one", name, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            text=True,
            cwd=self.scratch,
        )

    def captured(self, name: str, number: str, alone: Any, captured: Any) -> None:
        """Run the turns of one program and of its capture."""

        def steps(process: Any, n: int) -> dict[str, Any]:
            process.stdin.write(f"{n}\n")
            process.stdin.flush()
            row = process.stdout.readline()
            if not row:
                raise RuntimeError("ended early")
            found: dict[str, Any] = json.loads(row)
            return found

        for process in (alone, captured):
            process.stdout.readline()
        time.sleep(0.2)
        first, block, whole = (2, 4, 30) if IS_QUICK else getattr(entered(), "N_LIVE", (20, 40, 80))
        first, block = fewer(name, first), fewer(name, block)
        steps(alone, first)
        row = {"program": name, "number": number, "before": steps(alone, block)}
        row["captured"] = steps(captured, whole)
        turns, each = getattr(entered(), "N_ALTERNATING", (0, 0))
        each = fewer(name, each)
        if turns and is_loaded(name):
            row["turns"] = [{"captured": steps(captured, turns * each)}]
        elif turns:
            both = {"alone": alone, "captured": captured}
            row["turns"] = [
                {which: steps(both[which], each) for which in both} for _ in range(turns)
            ]
        row["after"] = steps(alone, block)
        with suppress(subprocess.TimeoutExpired):
            captured.stdin.close()
            captured.wait(25)
        self.report["live"].append(row)
        ends = {when: row[when]["ends_us"] for when in ("before", "captured", "after")}
        say("live", name, number, {when: times[-1] // len(times) for when, times in ends.items()})


def main() -> None:
    """Take all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--programs", default="programs", help="the module that has them")
    parser.add_argument("--only", default="", help="programs with these words, joined by commas")
    parser.add_argument("--seconds", type=float, default=380)
    words = sys.argv[1:]
    place = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:place])
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["BLIND_PROGRAMS"] = given.programs
    taking = Taking(given.out.resolve(), given.only, words[place + 1 :], given.seconds)
    try:
        taking.all_parts()
    finally:
        taking.write()
        say("end")
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(sys.argv[2])
    elif sys.argv[1] == "--one":
        one(*sys.argv[2:])
    else:
        main()
