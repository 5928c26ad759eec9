"""Take all captures and measurements of the study, on a machine with a GPU.

    python samples/study/run.py --out OUT

Each capture is a command of its own, printed and logged; one that fails is noted and the rest go
on. `--quick` takes a tiny one of each kind that needs no GPU. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import plan
from plan import Job

ROOT = Path(__file__).resolve().parents[2]
SETTLE_NS = 200_000_000
"""Longest interval over which NVML averages utilisation.

The first samples of a point therefore still contain the previous point.
"""


class Study:
    """Run jobs until the time is over, and keep the outcome of each."""

    def __init__(self, out: Path, minutes: float, tools: Mapping[str, str]) -> None:
        self.out = out
        self.versions = versions(tools)
        self.end = time.monotonic() + 60 * minutes
        self.done: list[dict[str, Any]] = []
        self.measured: list[dict[str, Any]] = []
        (out / "logs").mkdir(parents=True, exist_ok=True)
        # Files that another run left in the folder stay, unless this run replaces them: parts may
        # run one by one.
        self.before = (
            json.loads(known.read_text())["commands"]
            if (known := out / "versions.json").is_file()
            else []
        )
        if (points := out / "measurements.csv").is_file():
            with points.open() as file:
                self.measured = list(csv.DictReader(file))

    def run(self, jobs: Iterable[Job]) -> None:
        """Run the jobs one after the other."""
        for job in jobs:
            self.run_one(job)

    def run_one(self, job: Job) -> str:
        """Run a job; return its output, or an empty text if it failed or no time was left."""
        left = self.end - time.monotonic()
        if left < 5:
            self.note(job, "skipped: no time was left", 0)
            return ""
        began = time.monotonic()
        log = self.out / "logs" / f"{job.name}.txt"
        # The output of a job goes to files: a program that outlives its capture would keep a pipe
        # open.
        printed = self.out / "logs" / f"{job.name}.out"
        with log.open("w") as errors, printed.open("w") as output:
            try:
                process = subprocess.run(
                    executable(job.command, self.out),
                    stdout=output,
                    stderr=errors,
                    stdin=subprocess.DEVNULL,
                    timeout=min(job.timeout_s, left),
                    cwd=ROOT,
                    env=environment(job.variables),
                    check=False,
                )
                outcome = f"exit {process.returncode}"
            except subprocess.TimeoutExpired:
                outcome = "timeout"
            except OSError as error:
                outcome = f"not run: {error.strerror}"
        self.note(job, outcome, time.monotonic() - began)
        return printed.read_text()

    def note(self, job: Job, outcome: str, seconds: float) -> None:
        """Keep and print the outcome of a job."""
        command = readable(job)
        self.done.append(
            {"name": job.name, "command": command, "outcome": outcome, "seconds": round(seconds, 1)}
        )
        print(f"{outcome:<10} {seconds:6.1f} s  {job.name}: {command}", flush=True)

    def sweep(self, jobs: Iterable[Job]) -> None:
        """Run jobs that measure, with NVML sampled during each."""
        for job in jobs:
            with Sampler() as sampler:
                printed = self.run_one(job)
            lines = [line for line in printed.splitlines() if line.startswith("{")]
            points = [row(json.loads(line), sampler.samples) for line in lines]
            again = {point_of(point) for point in points}
            self.measured = [
                point for point in self.measured if point_of(point) not in again
            ] + points
            self.write()

    def write(self) -> None:
        """Write the results so far: measurements, and the commands with their outcomes."""
        if self.measured:
            with (self.out / "measurements.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, list(self.measured[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(self.measured)
        again = {job["name"] for job in self.done}
        commands = [job for job in self.before if job["name"] not in again] + self.done
        about = {"versions": self.versions, "commands": commands}
        (self.out / "versions.json").write_text(json.dumps(about, indent=2) + "\n")


class Sampler:
    """Memory in use and utilisation of the first GPU by NVML, every 20 ms.

    A thread takes the samples; without a GPU there are none.
    """

    def __init__(self) -> None:
        self.samples: list[tuple[int, int, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        try:
            import pynvml  # noqa: PLC0415 - only here, where there may be none

            pynvml.nvmlInit()
            gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        except Exception as error:  # noqa: BLE001 - no package, no driver, no GPU: measured without
            print(f"no memory and utilisation: {error}", file=sys.stderr)
            return
        while not self._stop.wait(0.02):
            used = pynvml.nvmlDeviceGetMemoryInfo(gpu).used
            self.samples.append(
                (time.time_ns(), int(used), int(pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu))
            )


def row(point: Mapping[str, Any], samples: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
    """Return one measured point: settings, quartiles of a step's ms, and NVML's samples."""
    steps = sorted(point["step_ms"])
    quartiles = (
        statistics.quantiles(steps, n=4, method="inclusive") if len(steps) > 1 else steps * 3
    )
    used = [used for time_ns, used, _ in samples if point["start_ns"] <= time_ns <= point["end_ns"]]
    busy = [
        busy
        for time_ns, _, busy in samples
        if point["start_ns"] + SETTLE_NS <= time_ns <= point["end_ns"]
    ]
    settings = (
        "level",
        "mode",
        "batch",
        "size",
        "dtype",
        "input_dtype",
        "memory",
        "device",
        "n_parameters",
    )
    return {
        **{name: point[name] for name in settings},
        "checksum": f"{point['checksum']:.9g}",
        "n_steps": len(steps),
        **{
            f"{name}_ms": f"{value:.6f}"
            for name, value in zip(("p25", "median", "p75"), quartiles, strict=True)
        },
        "used_mib": f"{max(used) / 2**20:.0f}" if used else "",
        "gpu_util_percent": f"{statistics.fmean(busy):.1f}" if busy else "",
        "n_samples": len(busy),
    }


def point_of(measured: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the settings that distinguish one measured point from another."""
    return tuple(
        str(measured[name])
        for name in ("level", "mode", "batch", "size", "dtype", "input_dtype", "memory")
    )


def executable(command: Sequence[str], out: Path) -> list[str]:
    """Return the command with paths of this interpreter, this checkout's tracelens and `out`."""
    replacements = {"python": [sys.executable], "tracelens": [sys.executable, "-m", "tracelens"]}
    return [
        part
        for word in command
        for part in replacements.get(word, [word.replace("{out}", str(out))])
    ]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a job. tracelens is found in it even if it is not installed."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}


def readable(job: Job) -> str:
    """Write the command as typed in a shell."""
    words = [f"{name}={value}" for name, value in job.variables.items()]
    return " ".join([*words, shlex.join(word.replace("{out}/", "") for word in job.command)])


def versions(tools: Mapping[str, str]) -> dict[str, str]:
    """Return versions of the software that takes the captures, gdb and nsys included.

    Nothing identifies the machine or its user.
    """
    by_name = {"python": platform.python_version()}
    for package in ("torch", "triton", "nvidia-cudnn-cu13", "py-spy", "tracelens-toolkit"):
        try:
            by_name[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    for tool, pattern in (
        ("nvcc", r"release ([\d.]+)"),
        ("cmake", r"version ([\d.]+)"),
        ("g++", r" ([\d.]+)\n"),
        ("gdb", r"gdb\)? ([\d.]+)"),
        ("nsys", r"version ([\d.]+)"),
    ):
        number = version_of(tools.get(tool, tool), pattern)
        by_name |= {tool: number} if number else {}
    script = (
        "import json, torch; c = torch.cuda; g = c.is_available() and"
        " c.get_device_name();print(json.dumps({'cuda': torch.version.cuda, 'cudnn':"
        " torch.backends.cudnn.version(), 'gpu': g or None}))"
    )
    asked = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode == 0:
        by_name |= {name: str(value) for name, value in json.loads(asked.stdout).items() if value}
    driver = version_of("nvidia-smi", r"Driver Version: ([\d.]+)", "")
    return by_name | ({"driver": driver} if driver else {})


def version_of(tool: str, pattern: str, option: str = "--version") -> str | None:
    """Return the version that a tool reports; None if there is none."""
    if shutil.which(tool) is None:
        return None
    ended = subprocess.run(
        [tool, *filter(None, [option])],
        capture_output=True,
        text=True,
        check=False,
    )
    version = re.search(pattern, ended.stdout)
    return version.group(1) if version else None


def main() -> None:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for captures, measurements and logs",
    )
    parser.add_argument("--quick", action="store_true", help="a tiny one of each kind, on the CPU")
    parser.add_argument(
        "--parts", default="stacks,traces,timelines,sweeps", help="which of these, in this order"
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="REGEX",
        help="only jobs of these names",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=9,
        help="start nothing after so long",
    )
    parser.add_argument("--gdb", default="cuda-gdb", help="gdb or cuda-gdb")
    parser.add_argument("--nsys", default="nsys", help="Nsight Systems' program")
    options = parser.parse_args()
    study = Study(
        options.out.resolve(), options.minutes, {"gdb": options.gdb, "nsys": options.nsys}
    )
    try:
        run(study, options)
    finally:
        study.write()
    failed = [job["name"] for job in study.done if job["outcome"] != "exit 0"]
    print(
        f"{len(study.done) - len(failed)} of {len(study.done)} jobs done; not:"
        f" {', '.join(failed) or 'none'}"
    )


def run(study: Study, options: argparse.Namespace) -> None:
    """Run the parts.

    The parts that are not timed (stacks, the build, filling the compiler's cache) run first, side
    by side.
    """

    def wanted(jobs: Iterable[Job]) -> list[Job]:
        return [job for job in jobs if re.search(options.only, job.name)]

    if options.quick:
        jobs = wanted(plan.quick())
        study.run(job for job in jobs if not job.name.startswith("sweep"))
        study.sweep(job for job in jobs if job.name.startswith("sweep"))
        return
    parts = options.parts.split(",")
    stacks = wanted(plan.stacks(options.gdb)) if "stacks" in parts else []
    with ThreadPoolExecutor() as lanes:
        build = lanes.submit(
            study.run, [Job("configure", plan.BUILD[0]), Job("build", plan.BUILD[1], timeout_s=400)]
        )
        warm = lanes.submit(study.run, wanted(plan.warming()))
        study.run(job for job in stacks if not is_cpp(job))
        build.result()
        study.run(job for job in stacks if is_cpp(job))
        warm.result()
    if "traces" in parts:
        study.run(wanted(plan.traces()))
    if "timelines" in parts:
        study.run(wanted(plan.timelines(options.nsys)))
    if "sweeps" in parts:
        study.sweep(wanted(plan.sweeps()))


def is_cpp(job: Job) -> bool:
    """Return whether the job needs the C++ programs."""
    return any(level in job.name for level in plan.CPP)


if __name__ == "__main__":
    main()
