"""Take all pairs: `python samples/whatif/run.py --out DIR [--seconds 500] [--only WORD]`.

Every program runs before its change, in a process that records traces too and in one that never
does, and after each change in a process of its own; one at a time, while the next ones import
torch. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import PROGRAMS

HERE = Path(__file__).resolve().parent
AHEAD = 4
LIMIT_S = 90


@dataclass
class Job:
    """A process: program, option, batch and takes."""

    words: tuple[str, str, str, str]
    process: subprocess.Popen[str] | None = None

    def start(self, out: Path) -> None:
        """Start the process, which imports torch and waits."""
        log = (out / "logs" / ("_".join(self.words).replace("=", "") + ".txt")).open("w")
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "one.py"), *self.words, str(out)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "4"},
        )

    def finish(self) -> dict[str, Any]:
        """Let the process go on and return what it found; its error where it failed."""
        assert self.process is not None
        began = time.monotonic()
        try:
            said, _ = self.process.communicate("go\n", timeout=LIMIT_S)
            found = json.loads(said.strip().splitlines()[-1])
        except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
            self.process.kill()
            found = {"words": self.words, "error": repr(error)[:200]}
        return {**found, "took_s": round(time.monotonic() - began, 1)}


def jobs(only: str) -> list[Job]:
    """All processes: what records first, then the changes, the slow to compile last."""
    first, changed, compiled = [], [], []
    for name, one in PROGRAMS.items():
        if only not in name:
            continue
        first += [Job((name, "-", "-", "all")), Job((name, "-", "-", "time"))]
        for i, batch in enumerate(one.batches):
            takes = "all" if i < 2 else "time"
            first.append(Job((name, "-", str(batch), takes)))
        for option in one.changes:
            group = compiled if option == "compile" else changed
            group.append(Job((name, option, "-", "time")))
    return first + changed + compiled


def versions() -> dict[str, str]:
    """The machine and the software, without its name."""
    import torch  # noqa: PLC0415 - only once

    found = {"python": platform.python_version(), "torch": torch.__version__}
    if torch.cuda.is_available():
        found |= {"device": torch.cuda.get_device_name(), "cuda": str(torch.version.cuda)}
    return found


def main() -> None:
    """Take the pairs, as many as the time allows, and write pairs.json and captures.tar."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--only", default="")
    parser.add_argument("--changes", action="store_true", help="no traces: after the changes only")
    given = parser.parse_args()
    scratch = given.out / "work"
    (scratch / "logs").mkdir(parents=True, exist_ok=True)
    began, waiting, results = time.monotonic(), jobs(given.only), []
    if given.changes:
        waiting = [job for job in waiting if job.words[1] != "-"]
    todo = len(waiting)
    for job in waiting[:AHEAD]:
        job.start(scratch)
    for i, job in enumerate(waiting):
        is_late = time.monotonic() - began > given.seconds
        if is_late:
            if job.process is not None:
                job.process.kill()
            continue
        if i + AHEAD < len(waiting):
            waiting[i + AHEAD].start(scratch)
        found = job.finish()
        results.append(found)
        print(i, todo, *job.words, found.get("took_s"), found.get("error", ""), flush=True)
        report = {"versions": versions(), "runs": results}
        (given.out / "pairs.json").write_text(json.dumps(report, indent=1))
    with tarfile.open(given.out / "captures.tar", "w") as packed:
        for path in sorted(scratch.glob("*.gz")):
            packed.add(path, path.name)
    with tarfile.open(given.out / "logs.tar.gz", "w:gz") as packed:
        packed.add(scratch / "logs", "logs")


if __name__ == "__main__":
    main()
