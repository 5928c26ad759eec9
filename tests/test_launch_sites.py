"""Sites: where calls are made, as stored, and what analyses say with them and without."""

from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from tests.torch_files import CAPTURES, call, kernel, needs_captures, read, rows, span, write
from tracelens.analyses import ANALYSES
from tracelens.report import run_section
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.combine import combine

SAMPLES = sorted((Path(__file__).parents[1] / "samples/torch").glob("*.pt.trace.json.gz"))
OF_EACH_KIND = ("alexnet_eager", "resnet50_train_f32_pinned")
"""A capture of a forward pass, and one of training. The others are of the same two kinds."""
READERS = ("layer_attribution", "compare_layers", "layer_oracle", "dispatch_depth")


def test_a_site_is_what_is_around_a_call(tmp_path: Path) -> None:
    events = [
        span("nn.Module: Net_0", 0, 100, cat="python_function"),
        span("nn.Module: Linear_0", 10, 40, cat="python_function"),
        span("aten::linear", 20, 25),
        span("aten::addmm", 22, 20),
        call("cudaLaunchKernel", 25, 1, 1),
        call("cudaLaunchKernel", 30, 1, 2),
        call("cudaMemsetAsync", 21, 1, 3),
        call("cudaDeviceSynchronize", 90, 1, 4),
        call("cudaLaunchKernel", 200, 1, 5),
        kernel("k1", 60, 5, 1),
        kernel("k2", 70, 5, 2),
        kernel("k3", 210, 5, 5),
    ]
    capture = read(write(tmp_path / "t.json", events))
    places = {row[0]: row[1:] for row in rows(capture, "sites", "site_id", *_ABOUT)}
    linear = "Net_0.Linear_0"
    at = [places.get(site) for (site,) in rows(capture, "api_calls", "site_id")]
    assert at == [
        ("aten::linear", 1, 2, linear, False, False),  # cudaMemsetAsync, in the outer op alone
        ("aten::linear", 2, 2, linear, False, False),
        ("aten::linear", 2, 2, linear, False, False),
        (None, 0, 1, "Net_0", False, True),  # a root: a module in no other, with one of its own
        None,  # outside of spans
    ]
    assert len(places) == 3
    op = dict(rows(capture, "spans", "name", "span_id"))["aten::linear"]
    assert rows(capture, "api_calls", "op_span_id", "op_offset_ns") == [
        (op, 1_000),
        (op, 5_000),
        (op, 10_000),
        (None, None),
        (None, None),
    ]
    launches = [site for (site,) in rows(capture, "api_calls", "site_id")][1:3]
    assert [site for (site,) in rows(capture, "kernels", "site_id")] == [*launches, None]
    same_without(combine([capture]))


_ABOUT = ("op", "op_depth", "python_depth", "module_path", "accumulates", "is_root")


def test_a_wrapper_that_nothing_of_the_model_is_within_is_a_root(tmp_path: Path) -> None:
    events = [
        span("nn.Module: OptimizedModule_0", 0, 100, cat="python_function"),
        call("cudaLaunchKernel", 25, 1, 1),
        call("cudaLaunchKernel", 200, 1, 2),
        span("aten::add", 199, 9),
        kernel("k1", 60, 5, 1),
        kernel("k2", 250, 5, 2),
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "sites", "op", "module_path", "is_root") == [
        (None, None, True),
        ("aten::add", None, False),
    ]
    same_without(combine([capture]))


def test_gradients_that_are_added_up_are_known_by_their_node(tmp_path: Path) -> None:
    node = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    events = [
        span(node, 0, 20),
        span("aten::add_", 2, 10),
        call("cudaLaunchKernel", 5, 1, 1),
        kernel("k", 30, 5, 1),
        span("aten::add_", 40, 10),
        call("cudaLaunchKernel", 45, 1, 2),
        kernel("k", 60, 5, 2),
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert sorted(rows(capture, "sites", "op", "op_depth", "accumulates")) == [
        ("aten::add_", 1, False),
        (node, 2, True),
    ]


def without_sites(trace: Trace) -> Trace:
    """The trace as an older version would have written it."""
    tables = {name: trace.frame(name) for name in TABLES}
    tables["sites"] = tables["sites"].clear()
    for name in ("api_calls", "kernels"):
        stored = [
            column
            for column in ("site_id", "op_span_id", "op_offset_ns")
            if column in tables[name].columns
        ]
        tables[name] = tables[name].with_columns(
            pl.lit(None, pl.Int64).alias(column) for column in stored
        )
    return Trace(
        replace(trace.manifest, n_rows={}), {name: frame.lazy() for name, frame in tables.items()}
    )


def same_without(trace: Trace) -> None:
    """Every analysis that reads sites says the same if there are none."""
    assert trace.has("sites")
    bare = without_sites(trace)
    for name in READERS:
        one, two = (
            run_section(ANALYSES[name], which, which if ANALYSES[name].is_pair else None)
            for which in (trace, bare)
        )
        assert one.frame.height or one.missing, name
        assert one.frame.equals(two.frame), name
        assert (one.notes, one.missing) == (two.notes, two.missing), name


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=(name := path.name.split(".")[0]),
            marks=[] if name in OF_EACH_KIND else pytest.mark.exhaustive,
        )
        for path in SAMPLES
    ],
)
def test_analyses_say_the_same_with_sites_and_without(path: Path) -> None:
    same_without(combine([read(path)]))


@needs_captures
def test_sites_of_several_ranks_are_kept_apart() -> None:
    names = ("llama_train", "resnet50_train_f32_pinned")
    captures = [read(CAPTURES / f"{name}.pt.trace.json.gz") for name in names]
    same_without(combine(captures, ranks=[3, 1]))
