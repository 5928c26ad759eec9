"""Take all pairs of programs before and after a change.

python samples/whatif/run.py --out DIR [--part 1/2] [--seconds 450] [--only WORD]

Every program runs in two processes. One records traces and is timed before and after that. The
other is timed before and after each change, and records nothing until then. One process measures at
a time, while the next ones import torch. What needs compiling is compiled first, all at once, into
PyTorch's cache. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from held_out_hosts import HELD_OUT
from networks import NETWORKS
from programs import PROGRAMS
from trim import trimmed

TABLES = {"programs": PROGRAMS, "networks": NETWORKS, "held_out": HELD_OUT}
HERE = Path(__file__).resolve().parent
AHEAD = 4
SETTINGS = {
    "PYTHONUNBUFFERED": "1",
    "OMP_NUM_THREADS": "4",
    "TORCHINDUCTOR_COMPILE_THREADS": "4",
}
LIMIT_S = 60
WARM_LIMIT_S = 60
LARGEST_FILE = 15 << 20
LARGEST_CAPTURE = 2 << 20
"""Largest capture that is bundled; larger ones stay where they were taken."""


@dataclass
class Job:
    """A process: program, option, batch and takes."""

    words: tuple[str, str, str, str]
    process: subprocess.Popen[str] | None = None

    def start(self, out: Path) -> None:
        """Start the process. It imports torch and waits."""
        stem = "_".join(self.words).replace("=", "")
        log = (out / "logs" / f"{stem}.txt").open("w")
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "one.py"), *self.words, str(out)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **SETTINGS},
        )

    def finish(self, limit_s: float) -> list[dict[str, Any]]:
        """Let the process go on; return its results per variant, and its error."""
        assert self.process is not None
        began = time.monotonic()
        error = None
        try:
            output, _ = self.process.communicate("go\n", timeout=limit_s)
            if self.process.returncode:
                error = f"ended with {self.process.returncode}"
        except subprocess.TimeoutExpired:
            self.process.kill()
            output, _ = self.process.communicate()
            error = f"took over {limit_s} s"
        rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        last_rows = {(row["option"], row["batch"]): row for row in rows}
        results = list(last_rows.values())
        if error or not results:
            failure = {"words": self.words, "error": error} if error else {}
            results.append({**failure, "took_s": round(time.monotonic() - began, 1)})
        return results


def jobs(only: str, part: tuple[int, int], tables: list[str]) -> list[Job]:
    """List the processes of one part of the programs, processes that compile last."""
    chosen = []
    words = only.split(",")
    programs = [
        (name, program)
        for table in tables
        for name, program in TABLES[table].items()
        if any(word in name for word in words)
    ]
    # If the time ends too early, the programs whose time is the host's have been taken.
    programs.reverse()
    programs.sort(key=lambda program: program[0].endswith("_compiled"))
    number, n_parts = part
    for name, program in programs[number - 1 :: n_parts]:
        changes = "+".join(["-", *program.changes])
        batches = "+".join(map(str, program.batches))
        chosen.append(Job((name, "-", "-", "all")))
        chosen.append(Job((name, changes, "-", "pairs")))
        if batches:
            chosen.append(Job((name, "-", batches, "pairs")))
    return chosen


def is_compiled(job: Job) -> bool:
    """Return whether a process compiles its program."""
    program, options, _, _ = job.words
    return "compile" in options.split("+") or program.endswith("_compiled")


def warm(waiting: list[Job], scratch: Path) -> None:
    """Compile everything once, side by side."""
    unique = {}
    for job in waiting:
        if is_compiled(job):
            name, options, _, _ = job.words
            option = "compile" if "compile" in options else "-"
            unique[name] = Job((name, option, "-", "warm"))
    for job in unique.values():
        job.start(scratch)
        assert job.process is not None
        assert job.process.stdin is not None
        job.process.stdin.write("go\n")
        job.process.stdin.flush()
    until = time.monotonic() + WARM_LIMIT_S
    for job in unique.values():
        assert job.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(max(until - time.monotonic(), 0.1))
        job.process.kill()


def pack(path: Path) -> None:
    """Compress a trace without the machine's name and folders."""
    folder = str(path.parent) + "/"
    text = path.read_text().replace(folder, "")
    text = re.sub(r'"/[^"\n]*?/(?:site-packages|dist-packages|lib/python[\d.]+)/', '"', text)
    text = re.sub(r'"host_name": "[^"]*"', '"host_name": "host"', text)
    text = re.sub(r'"/(?:[^"/\n ]+/)+([^"/\n]*)"', r'"\1"', text)
    packed = path.with_name(path.name + ".gz")
    with packed.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as stream:
        stream.write(trimmed(text).encode())
    path.unlink()


def versions() -> dict[str, str]:
    """Return the kind of machine and the software versions, without the machine's name."""
    import torch  # noqa: PLC0415 - only once

    by_name = {"python": platform.python_version(), "torch": torch.__version__}
    if torch.cuda.is_available():
        by_name["device"] = torch.cuda.get_device_name()
        by_name["cuda"] = str(torch.version.cuda)
    return by_name


def bundle(scratch: Path, out: Path) -> None:
    """Write the captures into tar files within a size limit, the smallest captures first."""
    packed_traces = scratch.glob("*.gz")
    small = [path for path in packed_traces if path.stat().st_size < LARGEST_CAPTURE]
    captures = sorted(
        small,
        key=lambda path: path.stat().st_size,
    )
    number = 0
    size = LARGEST_FILE
    packed: tarfile.TarFile | None = None
    for path in captures:
        if packed is None or size + path.stat().st_size + 1024 > LARGEST_FILE:
            if packed is not None:
                packed.close()
            packed = tarfile.open(out / f"captures{number}.tar", "w")  # noqa: SIM115 - closed below
            number += 1
            size = 0
        packed.add(path, path.name)
        size += path.stat().st_size + 1024
    if packed is not None:
        packed.close()
    with tarfile.open(out / "logs.tar.gz", "w:gz") as logs:
        logs.add(scratch / "logs", "logs")


def take(waiting: list[Job], scratch: Path, out: Path, until: float) -> None:
    """Run the processes one after the other while there is time; write pairs.json after each."""
    report: dict[str, Any] = {"versions": versions(), "runs": []}
    warm(waiting, scratch)
    print("compiled", round(time.monotonic()), flush=True)
    packing: list[Future[None]] = []
    with ProcessPoolExecutor(3) as pool:
        for job in waiting[:AHEAD]:
            job.start(scratch)
        for i, job in enumerate(waiting):
            if time.monotonic() > until:
                if job.process is not None:
                    job.process.kill()
                continue
            if i + AHEAD < len(waiting):
                waiting[i + AHEAD].start(scratch)
            began = time.monotonic()
            rows = job.finish(LIMIT_S)
            report["runs"] += rows
            names = [name for row in rows for name in row.get("files", {}).values()]
            for name in names:
                trace = scratch / name.removesuffix(".gz")
                packing.append(pool.submit(pack, trace))
            errors = [row["error"] for row in rows if "error" in row]
            took_s = time.monotonic() - began
            took = round(took_s, 1)
            print(i, len(waiting), *job.words, took, *errors, flush=True)
            (out / "pairs.json").write_text(json.dumps(report, indent=1))
    for result in packing:
        with contextlib.suppress(OSError):
            result.result()


def main() -> None:
    """Take the pairs, as many as the time allows, and write pairs.json and the captures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--only", default="", help="programs with these words, joined by commas")
    parser.add_argument("--part", default="1/1", help="2/3: the second of three parts")
    parser.add_argument("--tables", default=",".join(TABLES), help="of these tables of programs")
    parser.add_argument("--scratch", type=Path, help="where raw traces lie meanwhile")
    given = parser.parse_args()
    began = time.monotonic()
    scratch = given.scratch or given.out / "work"
    (scratch / "logs").mkdir(parents=True, exist_ok=True)
    part, parts = map(int, given.part.split("/"))
    tables = given.tables.split(",")
    waiting = jobs(given.only, (part, parts), tables)
    take(waiting, scratch, given.out, began + given.seconds)
    bundle(scratch, given.out)


if __name__ == "__main__":
    main()
