"""top_ops against torch's own key_averages() on the same profile of a real program, on the CPU."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import tracelens as tl
from tests.test_live_torch import LIGHT_TRAIN

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
PROFILED = (
    LIGHT_TRAIN
    + """
from torch.profiler import ProfilerActivity, profile
step()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    for _ in range(3): step()
prof.export_chrome_trace("trace.json")
print(json.dumps([[e.key, e.count, e.self_cpu_time_total] for e in prof.key_averages()]))
"""
)


def test_counts_and_self_times_are_torchs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROFILED],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    theirs = {
        key: (n, round(own_us * 1000))
        for key, n, own_us in json.loads(done.stdout.splitlines()[-1])
    }
    trace = tl.collect(tmp_path / "trace.json")
    ours = tl.analyses.top_ops(trace).select("name", "n_calls", "cpu_self_ns").rows()
    merged = _only_children_of_their_name(trace.spans.filter(pl.col("kind") == "op"))
    # Annotations are no ops; here only the optimizer makes any.
    ops = {key: found for key, found in theirs.items() if not key.startswith("Optimizer.")}
    assert {name: n - merged.get(name, 0) for name, n, _ in ours} == {
        name: n for name, (n, _) in ops.items()
    }
    assert len(ops) > 40
    for name, n, own_ns in ours:
        # torch adds up microseconds of three decimals.
        assert own_ns == pytest.approx(ops[name][1], abs=2 * n + 2), name


def _only_children_of_their_name(ops: pl.DataFrame) -> dict[str, int]:
    """How many calls torch counts into their caller.

    These ops are all that an op of their own name calls (aten::div_).
    """
    alone = ops.filter(pl.len().over("parent_id") == 1)
    callers = ops.select("name", parent_id="span_id")
    return dict(alone.join(callers, on=["parent_id", "name"]).group_by("name").len().rows())
