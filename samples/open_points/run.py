"""Measure what the pages leave open: `python -m samples.open_points.run --out OUT`, with a GPU.

Each step runs in a new process, so that no profiler ran in it before. All prepare side by side
(compile, export), and then measure one after the other, the most wanted first. Results are written
as they come; see README.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ("mobilenet_v1_b32", "mobilenet_v1_b1", "resnet50_b32", "resnet50_b1")
THESIS = ("alexnet", "squeezenet1_1", "resnet50", "mobilenet_v2", "googlenet", "densenet121")
ORDER = (
    *(f"greedy {subject}" for subject in IMAGES),
    *(f"compiled {subject} {way}" for subject in IMAGES[::2] for way in ("plain", "freezing")),
    "transformer bert float32",
    "transformer llama float32",
    *(f"baseline {model}" for model in THESIS),
    *(f"compiled {subject} {way}" for subject in IMAGES[1::2] for way in ("plain", "freezing")),
    "transformer bert bfloat16",
    "transformer llama bfloat16",
)
"""The steps, the most wanted first."""
QUICK = (
    "greedy mobilenet_v1_b1",
    "compiled mobilenet_v1_b1 freezing",
    "transformer bert float32",
    "transformer llama bfloat16",
    "baseline tiny",
)
AT_ONCE = 24
"""At most this number of processes prepare side by side."""
ARCHIVE_BYTES = 15 << 20


@dataclass
class Step:
    """A process that prepares, writes `ready`, and measures once it reads a line."""

    name: str
    work: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, name: str, options: argparse.Namespace, work: Path) -> Step:
        """Let the step begin to prepare."""
        stem = name.replace(" ", "_")
        variables = {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
            "PYTHONUNBUFFERED": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(work / f"cache_{stem}"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "OMP_NUM_THREADS": "2",
        }
        command = [sys.executable, "-m", "samples.open_points.steps", *name.split()]
        command += ["--out", str(options.out), "--work", str(work), *["--quick"] * options.quick]
        with (work / f"{stem}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=os.environ | variables,
                start_new_session=True,
            )
        return cls(name, work, process)

    @property
    def stem(self) -> str:
        """The step's name as part of a file's name."""
        return self.name.replace(" ", "_")

    @property
    def is_ready(self) -> bool:
        """True if the process is ready to measure."""
        return (self.work / f"{self.stem}.ready").exists()

    def send(self, what: signal.Signals) -> None:
        """Send a signal to the process and to all processes that it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, what)

    def measure(self, seconds: float) -> str:
        """Let the process measure for at most `seconds`; return its outcome."""
        try:
            self.process.communicate(b"\n", timeout=seconds)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self.process.wait()
            return f"ended after {seconds:.0f} s"
        return f"exit {self.process.returncode}"


class Turn:
    """One session at the machine. It ends after the given number of seconds."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        self.began = time.monotonic()
        self.waiting = list(options.only or (QUICK if options.quick else ORDER))
        self.running: list[Step] = []
        self.packed: set[Path] = set()

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds until the session is over."""
        return float(self.options.seconds) - self.elapsed

    def note(self, text: str) -> None:
        """Print the text, and append it to log.txt."""
        line = f"{self.elapsed:6.1f} s  {text}"
        print(line, flush=True)
        with (self.options.out / "log.txt").open("a") as log:
            log.write(f"{line}\n")

    def run(self) -> None:
        """Start the steps, and let them measure one at a time."""
        while (self.waiting or self.running) and self.left > 1:
            while self.waiting and len(self.running) < AT_ONCE:
                self.running.append(Step.start(self.waiting.pop(0), self.options, self.work))
            for step in [step for step in self.running if step.process.poll() is not None]:
                self.end(step, f"failed while preparing: exit {step.process.returncode}")
            ready = [step for step in self.running if step.is_ready]
            preparing = [step for step in self.running if not step.is_ready]
            if ready and (not preparing or self.elapsed > self.options.prepare_s):
                for step in preparing:
                    step.send(signal.SIGSTOP)
                began = self.elapsed
                outcome = ready[0].measure(min(self.options.step_s, self.left))
                self.end(ready[0], f"{outcome}, measured for {self.elapsed - began:.1f} s")
                for step in preparing:
                    step.send(signal.SIGCONT)
            else:
                time.sleep(0.1)
        for step in list(self.running):
            step.send(signal.SIGKILL)
            step.process.wait()
            self.end(step, "ended: no time was left" if step.is_ready else "ended: not prepared")
        for name in self.waiting:
            self.note(f"{name}: not tried")

    def end(self, step: Step, outcome: str) -> None:
        """Note a step's outcome, and pack its captures."""
        self.running.remove(step)
        self.note(f"{step.name}: {outcome}")
        said = (self.work / f"{step.stem}.log").read_text(errors="replace")
        with (self.options.out / "said.txt").open("a") as log:
            log.write(f"== {step.name}\n{said[-6000:]}\n")
        self.pack()

    def pack(self) -> None:
        """Add new captures to an archive, and begin another archive once it is large."""
        new = [p for p in sorted(self.work.glob("*.tracelens")) if p not in self.packed]
        new += [p for p in sorted(self.work.glob("*.json")) if p not in self.packed]
        if not new:
            return
        n = 0
        while (archive := self.options.out / f"captures{n}.tar").exists():
            if archive.stat().st_size < ARCHIVE_BYTES * 2 // 3:
                break
            n += 1
        with tarfile.open(archive, "a") as tar:
            for path in new:
                tar.add(path, arcname=path.name)
        self.packed |= {*new}


def main() -> None:
    """Run the session."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for results and captures",
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try what a CPU can")
    parser.add_argument(
        "--seconds",
        type=float,
        default=600.0,
        help="end after that long",
    )
    parser.add_argument(
        "--prepare-s",
        type=float,
        default=300.0,
        help="wait so long for all to be prepared",
    )
    parser.add_argument(
        "--step-s",
        type=float,
        default=60.0,
        help="a step may measure so long",
    )
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        metavar="STEP",
        help="these steps",
    )
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="open-points-") as folder:
        Turn(options, Path(folder)).run()


if __name__ == "__main__":
    main()
