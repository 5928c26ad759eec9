"""The part of the benchmark that compiles a model, to measure what recording provenance costs."""

from __future__ import annotations

import sys

from benchmarks.bench import Bench, Contender
from benchmarks.contenders import installed
from benchmarks.results import Row

GROUP = "torch.compile"
PLAIN, RECORDED = "torch.compile, nothing cached", "the same, with provenance recorded"


def compile_provenance(bench: Bench) -> None:
    """Compile a model with nothing cached, alternately with the recorder and without."""
    if not installed("torch"):
        bench.leave_out(GROUP, "torch is not installed")
        return
    command = (sys.executable, "-m", "benchmarks.compile_model")
    contenders = [
        Contender(PLAIN, (*command, "plain")),
        Contender(RECORDED, (*command, "recorded")),
    ]
    bench.race(contenders, Row(GROUP, "", "ResNet-50 (on a CPU, its first stage)", 1, "models"))
