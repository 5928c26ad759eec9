"""Run the planted programs and take a trace of each: `python samples/planted/run.py --out DIR`.

Each program runs in processes of its own, which first time its steps without the profiler. A
program that fails is noted and the rest go on. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Job:
    """One start of a program: one process per rank, which takes the named measurements."""

    name: str
    takes: tuple[str, ...]
    ranks: int
    variables: dict[str, str]


@dataclass
class Running:
    """The processes of a job, and the files of their output.

    The processes wait for a line of input before they use the device.
    """

    job: Job
    processes: list[subprocess.Popen[bytes]]
    logs: list[Path]


def start(job: Job, out: Path, cpu: bool) -> Running:
    """Start a job's processes; they import torch and wait."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes, logs = [], []
    for rank in range(job.ranks):
        variables = {**os.environ, **job.variables, "PYTHONUNBUFFERED": "1"}
        if cpu:
            variables |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        if job.ranks > 1:
            variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            variables |= {"WORLD_SIZE": str(job.ranks), "RANK": str(rank)}
        log = out / "logs" / f"{job.name}.{'_'.join(job.takes)}.{rank}.txt"
        command = [sys.executable, str(HERE / "one.py"), job.name, ",".join(job.takes), str(out)]
        with log.open("wb") as file:
            processes.append(
                subprocess.Popen(
                    command, env=variables, stdin=subprocess.PIPE, stdout=file, stderr=file
                )
            )
        logs.append(log)
    return Running(job, processes, logs)


def finish(running: Running, timeout_s: float) -> tuple[list[dict[str, Any]], str]:
    """Let a job run, wait for its end, and return each rank's results, or the error."""
    end, error = time.monotonic() + timeout_s, ""
    try:
        for process in running.processes:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.close()
        for process in running.processes:
            process.wait(max(1.0, end - time.monotonic()))
    except (OSError, subprocess.TimeoutExpired) as problem:
        error = type(problem).__name__
    finally:
        for process in running.processes:
            process.kill()
            process.wait()
    found = []
    for log in running.logs:
        lines = log.read_text(errors="replace").splitlines()
        results = [line for line in lines if line.startswith('{"program"')]
        found += [json.loads(line) for line in results]
        if not results:
            error = error or (lines[-1] if lines else "no output")
    return found, error


def jobs_of(names: Sequence[str], stacks: str, programs: dict[str, Any]) -> Iterator[Job]:
    """Yield one job per program.

    If the planted cause happens once per process, there is one job per measurement.
    """
    for name in names:
        program = programs[name]
        takes = ["time"]
        takes += ["plain"] if stacks != "on" else []
        takes += ["stacks"] if stacks != "off" and program["stacks"] else []
        for part in [(take,) for take in takes] if program["fresh"] else [tuple(takes)]:
            yield Job(name, part, program["ranks"], program["variables"])


def run(jobs: Sequence[Job], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the jobs one after the other; on a GPU the next one imports torch while one runs."""
    began, failed = time.monotonic(), 0
    found: list[dict[str, Any]] = []
    started: dict[int, Running] = {}
    n_ahead = 1 if options.cpu else 2
    for i, job in enumerate(jobs):
        at = time.monotonic()
        if at - began > 60 * options.minutes:
            print(
                f"not run, no time was left: {', '.join(job.name for job in jobs[i:])}", flush=True
            )
            break
        for j in range(i, min(i + n_ahead, len(jobs))):
            started[j] = started.get(j) or start(jobs[j], options.out, options.cpu)
        results, error = finish(started.pop(i), options.timeout)
        found += results
        times = ", ".join(
            f"{result['step_ms']:.2f} ms a step"
            for result in results
            if result["step_ms"] is not None
        )
        print(
            f"{time.monotonic() - at:6.1f} s  {job.name} ({' '.join(job.takes)}):"
            f" {error or times or 'done'}",
            flush=True,
        )
        failed += bool(error)
    for running in started.values():
        for process in running.processes:
            process.kill()
    print(f"{time.monotonic() - began:6.1f} s  {len(jobs)} runs, {failed} failed", flush=True)
    return found


def truth(found: Sequence[dict[str, Any]], programs: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one entry per trace: what is planted, and the step's time without the profiler."""
    timed = {
        (one["program"], one["rank"]): one["step_ms"] for one in found if one["step_ms"] is not None
    }
    captures = []
    for one in found:
        program = programs[one["program"]]
        program = program | (program["other_ranks"] if one["rank"] else {})
        for stacks, file in one["files"].items():
            with_stacks = stacks == "stacks"
            captures.append(
                {
                    "file": file,
                    "program": one["program"],
                    "rank": one["rank"],
                    "stacks": with_stacks,
                    "bound": (
                        program["bound"] if with_stacks or not program["bare"] else program["bare"]
                    ),
                    "cause": program["cause"],
                    "spread": program["spread"],
                    "what": (
                        (program["where"] or program["what"]) if with_stacks else program["what"]
                    ),
                    "steps": program["marks"],
                    "unprofiled_step_ms": timed.get((one["program"], one["rank"])),
                }
            )
    return sorted(captures, key=lambda capture: str(capture["file"]))


def leaks(out: Path, captures: Sequence[dict[str, Any]]) -> list[str]:
    """List traces that still contain a folder or the name of this machine."""
    secret = re.compile(
        rf"/(?:root|home|usr|opt|tmp|var|mnt|work|srv)/|\b{re.escape(socket.gethostname())}\b"
    )
    texts = (
        (str(capture["file"]), gzip.decompress((out / capture["file"]).read_bytes()))
        for capture in captures
    )
    return [
        f"{file}: {found.group()}"
        for file, text in texts
        if (found := secret.search(text.decode()))
    ]


def table() -> tuple[dict[str, Any], dict[str, str]]:
    """Return the table of programs, and versions of the software that runs them.

    A process that imports torch prints them.
    """
    command = [sys.executable, str(HERE / "one.py"), "--list"]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return listed["programs"], {"python": platform.python_version(), **listed["versions"]}


def chosen(options: argparse.Namespace, programs: dict[str, Any]) -> list[str]:
    """Return the names of the programs to run."""
    if options.only:
        names = list(programs) if options.only == "all" else options.only.split(",")
        if unknown := sorted(set(names) - set(programs)):
            sys.exit(f"no such program: {', '.join(unknown)}; there are {', '.join(programs)}")
        return names
    if options.cpu:
        return [name for name, program in programs.items() if program["cpu"]]
    return [name for name, program in programs.items() if program["gpus"] == options.gpus]


def main() -> None:
    """Run what the command line asks for, and write truth.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for traces, truth.json and logs"
    )
    parser.add_argument("--only", default="", help="programs, joined by commas, or all")
    parser.add_argument(
        "--stacks",
        choices=("on", "off", "both"),
        default="both",
        help="with Python stacks or without",
    )
    parser.add_argument(
        "--cpu", action="store_true", help="use no GPU; runs those whose cause shows without one"
    )
    parser.add_argument(
        "--gpus", type=int, choices=(1, 2), default=1, help="the programs for so many GPUs"
    )
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one program")
    parser.add_argument(
        "--minutes", type=float, default=8, help="start no more programs after so long"
    )
    parser.add_argument("--tar", type=Path, help="pack the folder into this file as well")
    options = parser.parse_args()
    options.out = options.out.resolve()
    (options.out / "logs").mkdir(parents=True, exist_ok=True)
    programs, versions = table()
    found = run(list(jobs_of(chosen(options, programs), options.stacks, programs)), options)
    captures = truth(found, programs)
    name = "truth.json" if options.gpus == 1 else f"truth.{options.gpus}gpus.json"
    (options.out / name).write_text(
        json.dumps({"versions": versions, "captures": captures}, indent=1) + "\n"
    )
    size = sum((options.out / capture["file"]).stat().st_size for capture in captures)
    print(f"{len(captures)} traces, {size / 1e6:.2f} MB, in {options.out}", flush=True)
    for leak in leaks(options.out, captures):
        print(f"names this machine: {leak}")
    if options.tar:
        with tarfile.open(options.tar, "w") as tar:
            tar.add(options.out, arcname="planted")
        print(f"{options.tar}: {options.tar.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
