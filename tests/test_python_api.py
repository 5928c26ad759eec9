"""What people type in Python: a path for a trace, names that are nearly right, and `dir`."""

from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tests.cases import make_trace
from tests.test_cpu_only import span
from tracelens.analyses import layer_attribution
from tracelens.errors import MissingTableError


def test_an_analysis_takes_a_trace_or_a_path(tmp_path: Path) -> None:
    source = tmp_path / "run.pt.trace.json"
    source.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1,'
        ' "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 1}}]}'
    )
    top_kernels: Any = tl.analyses.top_kernels
    found = top_kernels(source)
    assert found["name"].to_list() == ["k"]
    trace = tl.collect(source)
    trace.write(tmp_path / "run.tracelens")
    assert top_kernels(str(tmp_path / "run.tracelens")).equals(found)
    assert top_kernels(trace).equals(found)


def test_a_name_that_is_nearly_right_is_told_what_is_near() -> None:
    with pytest.raises(AttributeError, match=r"no analysis is called 'verdct'; near: verdict"):
        tl.analyses.verdct  # type: ignore[attr-defined]  # noqa: B018 - the access raises
    with pytest.raises(AttributeError, match=r"near: collect"):
        tl.colect  # type: ignore[attr-defined]  # noqa: B018 - the access raises


def test_dir_lists_what_is_public() -> None:
    assert {"collect", "open", "analyses", "Trace", "whatif"} <= set(dir(tl))
    assert not [name for name in dir(tl) if name.startswith("_")]


def test_kernels_have_the_op_and_the_layer_that_launched_them() -> None:
    trace = make_trace(
        kernels=[{"name": "one", "site_id": 4}, {"name": "two"}],
        sites=[{"site_id": 4, "op": "aten::mm", "module_path": "fc"}],
    )
    found = trace.kernels_with_context().select("name", "op", "layer")
    assert found.rows() == [("one", "aten::mm", "fc"), ("two", None, None)]
    assert found.height == trace.kernels.height


def test_layers_of_a_process_lead_to_its_host_time() -> None:
    trace = make_trace(spans=[span(0, 100, "aten::mm")])
    with pytest.raises(MissingTableError, match="layer_host_time has what each layer costs"):
        layer_attribution(trace)
