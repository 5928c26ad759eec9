"""Time how long gdb holds a program at a stop, with Python's frames merged in.

    python -m benchmarks.suite_gdb HITS

The program is a convolution of torch on the CPU, stopped where oneDNN computes it. Prints one line
of JSON: the median seconds of the stops after the first, and facts on a stack.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.bench import Bench, Contender
from benchmarks.contenders import installed
from benchmarks.results import Row
from tracelens.collectors.gdb.breakpoints import PRESETS
from tracelens.collectors.gdb.live import Limits, run

GROUP, HIT = "gdb", "a stop under gdb"
INPUT = "torch on the CPU, Python's frames merged"
_HITS = 30
_PROGRAM = """
import torch
conv, images = torch.nn.Conv2d(3, 8, 3), torch.randn(2, 3, 16, 16)
with torch.no_grad():
    for _ in range({turns}):
        conv(images)
"""


def gdb_hits(bench: Bench) -> None:
    """Time a stop under gdb; the first stop does not count."""
    tools = ("gdb", "py-spy")
    absent = [
        *(tool for tool in tools if shutil.which(tool) is None and not _beside(tool)),
        *_packages(),
    ]
    if absent:
        bench.leave_out(HIT, f"{', '.join(absent)} not found here")
        return
    contender = Contender(
        HIT,
        (sys.executable, "-m", "benchmarks.suite_gdb", str(_HITS)),
    )
    for row in bench.race(
        [contender],
        Row(GROUP, "", INPUT, 1, "stops"),
    ):
        bench.say(f"{HIT}: {row.median_s * 1e3:.0f} ms; {row.said}")


def _beside(tool: str) -> bool:
    return (Path(sys.executable).parent / tool).exists()


def _packages() -> list[str]:
    return [name for name in ("torch", "pygdbmi") if not installed(name)]


def main() -> None:
    """Run and print."""
    hits = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "convolution.py"
        program.write_text(_PROGRAM.format(turns=hits + 1))
        ended = run(
            [sys.executable, str(program)],
            PRESETS["cpu"],
            limits=Limits(hits=hits + 1),
        )
    stacks = ended.captures[0].tables["stacks"]
    if set(stacks["python_frames"]) != {"merged"}:
        sys.exit("Python's frames were not merged: is py-spy installed?")
    first, *others = ended.hit_seconds
    results = {
        "seconds": statistics.median(others),
        "first_s": round(first, 3),
        "slowest_s": round(max(others), 3),
        "n_stacks": stacks.height,
        "depth_median": stacks["depth"].median(),
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
