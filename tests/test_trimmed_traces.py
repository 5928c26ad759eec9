"""Traces of samples/whatif lack what tracelens does not read, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import tracelens as tl
from samples.whatif.trim import trimmed

TRACE = """{
  "schemaVersion": 1,
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7,
    "ts": 10.250, "dur": 5.500,
    "args": {
      "External id": 3,"Record function id": 0, "Ev Idx": 0
    }
  },
  {
    "ph": "s", "id": 9, "pid": 7, "tid": 7, "ts": 11.000,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7,
    "ts": 11.000, "dur": 2.000,
    "args": {
      "External id": 3, "cbid": 211, "correlation": 9
    }
  },
  {
    "ph": "f", "id": 9, "pid": 0, "tid": 0, "ts": 14.000,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }
  ]
}"""


def test_trimming_leaves_all_that_is_read(tmp_path: Path) -> None:
    whole, small = tmp_path / "whole.pt.trace.json", tmp_path / "small.pt.trace.json"
    whole.write_text(TRACE)
    small.write_text(trimmed(TRACE))
    events = json.loads(small.read_text())["traceEvents"]
    assert [sorted(event["args"]) for event in events] == [
        ["External id"],
        ["External id", "correlation"],
    ]
    before, after = tl.collect(whole), tl.collect(small)
    assert before.spans.equals(after.spans)
    assert before.api_calls.equals(after.api_calls)
    assert before.api_calls.height == 1
