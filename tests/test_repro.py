"""A script that runs an op again: as recorded, and it runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import make_trace
from tracelens.errors import MissingTableError, UsageError
from tracelens.views.op_script import op_script

LINEAR = {
    "kind": "op",
    "name": "aten::linear",
    "duration_ns": 40,
    "input_shapes": "[[4, 8], [2, 8], [2]]",
    "input_dtypes": '["float", "float", "float"]',
    "input_strides": "[[1, 4], [8, 1], [1]]",
    "concrete_inputs": "[null, null, null]",
}


def test_the_inputs_that_took_the_most_time_are_chosen() -> None:
    """Two small calls of 40 ns take more than one large one of 70."""
    large = LINEAR | {"duration_ns": 70, "input_shapes": "[[9, 8], [2, 8], [2]]"}
    script = op_script(make_trace(spans=[LINEAR, large, LINEAR]), "aten::linear")
    assert "{'shape': [4, 8], 'stride': [1, 4], 'dtype': 'float'}" in script
    assert "2 calls with these inputs, 40 ns each" in script
    compile(script, "script", "exec")


def test_what_cannot_be_run_again_is_refused() -> None:
    bare = {"kind": "op", "name": "aten::relu", "duration_ns": 1}
    listed = LINEAR | {"name": "aten::cat", "input_dtypes": '["GenericList", "Scalar", ""]'}
    hostile = LINEAR | {"name": 'x"; import os'}
    trace = make_trace(spans=[LINEAR, bare, listed, hostile])
    with pytest.raises(UsageError, match="near: aten::linear"):
        op_script(trace, "aten::linea")
    with pytest.raises(MissingTableError, match="record_shapes=True"):
        op_script(trace, "aten::relu")
    with pytest.raises(UsageError, match="a list of tensors"):
        op_script(trace, "aten::cat")
    with pytest.raises(UsageError, match="no op of a library"):
        op_script(trace, str(hostile["name"]))


@pytest.mark.slow
def test_the_script_runs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "linear.py"
    file.write_text(op_script(make_trace(spans=[LINEAR]), "aten::linear"))
    done = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("aten.linear.default on c")
