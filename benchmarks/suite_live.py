"""The part of the benchmark that runs programs: what a live capture costs them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.bench import Bench, Contender, peer, tracelens
from benchmarks.contenders import installed
from benchmarks.results import Row

GROUP = "live capture"
PLAIN, BARE, COLLECT = (
    "no profiler",
    "torch.profiler, written into the script",
    "tracelens collect torch",
)
SAMPLER = "NVML sampler at 10 Hz"
SAMPLES = Path(__file__).resolve().parents[1] / "samples"
# If there are two processes, their memory is sampled, which takes time: so every contender starts
# two.
_AS_A_CHILD = ("sh", "-c", '"$@"; exit $?', "sh")


def live_capture(bench: Bench) -> None:
    """Time a training loop: alone, with torch.profiler written into it, under `collect torch`."""
    if installed("torch"):
        loop = (sys.executable, "-m", "benchmarks.workload")
        contenders = [
            Contender(PLAIN, (*_AS_A_CHILD, *loop, "plain")),
            Contender(BARE, (*_AS_A_CHILD, *loop, "bare")),
            Contender(
                COLLECT,
                tracelens("collect", "torch", "--out", "{out}", "--", *loop, "plain"),
            ),
        ]
        bench.race(contenders, Row(GROUP, "", "30 training steps, 3 of them recorded", 30, "steps"))
    else:
        bench.leave_out(GROUP, "torch is not installed")
    for row in bench.race(
        [Contender(SAMPLER, peer("nvml_sampler"))],
        Row("NVML", "", "10 s", 10, "s"),
    ):
        if row.said.get("missing"):
            bench.results.rows.remove(row)
            bench.leave_out(SAMPLER, str(row.said["missing"]))


def captured_shares(samples: Path = SAMPLES) -> list[float]:
    """Return the sampler's share of a core, for each capture of samples/ that has it."""
    manifests = [
        json.loads(file.read_text()) for file in samples.glob("*/captures/*/manifest.json")
    ]
    settings = [
        source.get("settings", {}) for manifest in manifests for source in manifest["sources"]
    ]
    return [
        float(setting["cpu_frac"]) for setting in settings if setting.get("cpu_frac") is not None
    ]
