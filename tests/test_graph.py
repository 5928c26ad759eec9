"""Sidecars that hold a model's graph."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tracelens.errors import SourceError

NODE: dict[str, Any] = {
    "node": "conv",
    "op": "conv2d",
    "inputs": ["x", "w", None],
    "arguments": [[1, 1], [0, 0], [1, 1], 1],
    "shape": [1, 8, 4, 4],
    "dtype": "float32",
    "strides": [128, 16, 4, 1],
    "alias_of": None,
    "is_input": False,
    "is_output": True,
    "module_path": "0",
}
SIDECAR: dict[str, Any] = {
    "format": "tracelens-graph",
    "version": 1,
    "torch": "2.11.0",
    "graph_key": "k",
    "source": "export",
    "notes": ["one"],
    "nodes": [NODE],
}


@pytest.mark.parametrize("name", ["g.json", "g.json.gz"])
def test_a_graph_is_read(tmp_path: Path, name: str) -> None:
    content = json.dumps(SIDECAR).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    trace = tl.collect(tmp_path / name)
    assert trace.frame("graph").rows() == [
        (
            0,
            "k",
            "conv",
            0,
            "conv2d",
            '["x", "w", null]',
            "[[1, 1], [0, 0], [1, 1], 1]",
            "[1, 8, 4, 4]",
            "float32",
            "[128, 16, 4, 1]",
            None,
            False,
            True,
            "0",
            "export",
        ),
    ]
    assert trace.diagnostics.select("code", "text").rows() == [("graph_source", "one")]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"version": 2},
            "version 2, this tracelens reads tracelens-graph up to 1; install a newer",
        ),
        (
            {"nodes": [NODE | {"arguments": ["text"]}]},
            "expected a tracelens-graph sidecar, found Invalid",
        ),
        ({"nodes": 3}, "capture again with --graph"),
    ],
)
def test_another_or_damaged_one_is_refused(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    (tmp_path / "g.json").write_text(json.dumps(SIDECAR | changed))
    with pytest.raises(SourceError, match=said):
        tl.collect(tmp_path / "g.json")
