"""The recorder of what torch.compile generates, with a real PyTorch and for older versions."""

import gzip
import importlib.util
import json
import os
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.command_line import command_line
from tracelens.analyses import layer_host_time
from tracelens.collectors import collect
from tracelens.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
SCRIPT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.act = nn.ReLU()
        self.blocks = nn.Sequential(nn.Linear(16, 16), nn.Tanh())
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.blocks(self.act(self.first(x))))

model = torch.compile(Net())
x = torch.randn(4, 8)
with torch.no_grad():
    for _ in range(6):
        model(x)
"""


def recorder() -> Any:
    return importlib.import_module("tracelens.collectors.torch.live.compile_provenance")


@pytest.mark.slow
# Activations are compiled as C++, which takes longer than all else of the test.
@pytest.mark.parametrize(
    "activations", [False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=str
)
def test_a_compiled_model_tells_modules_of_its_kernels(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    activations: bool,
) -> None:
    script = SCRIPT if activations else re.sub(r"nn\.(ReLU|Tanh)", "nn.Identity", SCRIPT)
    (tmp_path / "script.py").write_text(script)
    monkeypatch.setenv("TORCH_TRACE", str(tmp_path / "log"))
    monkeypatch.chdir(tmp_path)
    program = ("--out", "run.tracelens", "--", sys.executable, "script.py")
    done = command_line(capsys, "collect", "torch", "--compile-provenance", "--no-stacks", *program)
    assert done.code == 0
    trace = Trace.open(tmp_path / "run.tracelens")
    of_calls: dict[str, list[set[str]]] = {"addmm": [], "relu": [], "tanh": []}
    for (_, name), part in trace.provenance.group_by(
        "call_order", "kernel_name", maintain_order=True
    ):
        paths = set(part["module_path"].drop_nulls())
        for word, found in of_calls.items():
            if word in str(name):
                found.append(paths)
    shapes = trace.provenance.filter(pl.col("kernel_name").str.contains("addmm"))["input_shapes"]
    # Bias, input and transposed weights of each product; beta and alpha are no tensors.
    assert [json.loads(text)[:3] for text in shapes] == [
        [[16], [4, 8], [8, 16]],
        [[16], [4, 16], [16, 16]],
        [[4], [4, 16], [16, 4]],
    ]
    # Three products in the model's order, and the activations between them.
    assert of_calls == {
        "addmm": [{"first"}, {"blocks.0"}, {"head"}],
        "relu": [{"act"}] if activations else [],
        "tanh": [{"blocks.1"}] if activations else [],
    }
    if activations:
        relu = trace.provenance.filter(pl.col("kernel_name").str.contains("relu"))
        # It reads and writes 4 × 16 numbers, in 64 iterations, and sums none.
        assert json.loads(relu["input_shapes"][0]) == [[4, 16], [4, 16], [], []]
        assert json.loads(relu["concrete_inputs"][0]) == [None, None, 64, 1]
    runs = trace.spans.filter(trace.spans["name"].str.starts_with("## Call CompiledFxGraph"))
    keys = set(runs["name"].str.extract(r"^## Call CompiledFxGraph (\S+) ##$"))
    assert keys == set(trace.provenance["graph_key"])
    assert runs.height == 3, "a run of the graph in each recorded step"
    check_log(tmp_path / "log", trace)
    layers = layer_host_time(trace).filter(pl.col("evidence").str.starts_with("compile provenance"))
    products = {"first", "blocks.0", "head"}
    assert set(layers["layer"]) == products | ({"act", "blocks.1"} if activations else set())


def check_log(folder: Path, trace: Trace) -> None:
    """Check that torch's own log names the same library calls.

    Nodes are named above Triton's kernels, not above those in C++.
    """
    told = collect(folder).provenance
    calls = ["graph_key", "call_order", "kernel_name"]
    assert set(told.select(calls).iter_rows()) == set(trace.provenance.select(calls).iter_rows())
    products = [*calls, "module_path"]
    recorded = (
        trace.provenance.filter(pl.col("kernel_name").str.contains("addmm"))
        .select(products)
        .unique()
    )
    assert recorded.height == 3
    from_log = told.filter("is_extern").select(products).unique()
    assert_frame_equal(from_log, recorded, check_row_order=False)
    assert set(told.filter("is_extern")["rule"]) == {"trace_log"}


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("L['self'].layer1.0.conv1", "layer1.0.conv1"),
        ("L['self']._modules['layer1']._modules['0'].conv1", "layer1.0.conv1"),
        ("L['self']._orig_mod.fc", "fc"),
        ("L['fn'].blocks[2].mlp", "blocks.2.mlp"),
        ("L['self']", ""),
    ],
)
def test_dynamos_names_of_modules_are_attribute_paths(source: str, path: str) -> None:
    assert recorder().clean_path(source) == path


def fx_node(name: str, target: str, path: str | None) -> Any:
    meta = {"nn_module_stack": {"k": (f"L['self'].{path}", object)}} if path else {}
    return SimpleNamespace(
        name=name,
        target=target,
        op="call_function",
        meta=meta,
        users={},
        all_input_nodes=[],
    )


def test_a_kernel_of_no_node_belongs_to_whoever_uses_its_result() -> None:
    conv = fx_node("convolution", "aten.convolution.default", "layer1.conv")
    user = SimpleNamespace(
        node=SimpleNamespace(node=SimpleNamespace(origin_node=conv, origins=[conv]))
    )
    copy = SimpleNamespace(
        node=SimpleNamespace(origins=[]), get_outputs=lambda: [SimpleNamespace(users=[user])]
    )
    call = recorder()._call([copy], "triton_poi_fused_0", False)
    assert [(n["module_path"], n["rule"]) for n in call["nodes"]] == [("layer1.conv", "consumer")]


class AnnotatedGraph:
    """A graph as in torch 2.9 and later."""

    def __init__(self, source_code: str, _graph: Any) -> None:
        self.source_code = source_code
        self._fx_graph_cache_key = "fkey"

    def __call__(self, _inputs: Any) -> str:
        """Run within an annotation, as the real one does."""
        return f"## Call CompiledFxGraph {self._fx_graph_cache_key} ##"


class BareGraph:
    """A graph as in torch 2.8."""

    def __init__(self, source_code: str, _graph: Any) -> None:
        self.source_code = source_code
        self._fx_graph_cache_key = "fkey"

    def __call__(self, _inputs: Any) -> str:
        """Run without an annotation."""
        return "ran"


class Extern:
    """Up to torch 2.9 nothing is called when a library call is written."""

    python_kernel_name = "extern_kernels.convolution"
    origin_node, origins = fx_node("convolution", "aten.convolution.default", "conv1"), ()

    def codegen_comment(self, wrapper: Any) -> None:
        """The comment above the call."""


class LaterExtern(Extern):
    """A library call as in torch 2.10 and later: it calls the hook."""

    def codegen_comment(self, wrapper: Any, kernel_name: str | None = None) -> None:  # noqa: ARG002 - as it is there
        """The comment above the call."""
        hook = getattr(
            sys.modules["torch._inductor.debug"], "set_kernel_post_grad_provenance_tracing", None
        )
        if hook is not None:
            hook(self, kernel_name or self.python_kernel_name, True)


CODEGEN = ("codegen.cpp", "codegen.simd", "codegen.wrapper")
INDUCTORS: dict[str, tuple[bool, str | None, tuple[str, ...], Any, Any]] = {
    # version: has the setting that asks for provenance, home of the hook, who else holds it,
    # graphs, calls to libraries
    "2.8": (False, "utils", CODEGEN, BareGraph, Extern),
    "2.9": (True, "debug", (*CODEGEN, "codegen.cpp_wrapper_cpu"), AnnotatedGraph, Extern),
    "2.10": (True, "debug", ("codegen.cpp", "codegen.triton"), AnnotatedGraph, LaterExtern),
    "later": (
        True,
        "debug",
        ("codegen.cpp", "codegen.triton", "ir", "scheduler"),
        AnnotatedGraph,
        LaterExtern,
    ),
    "without a hook": (False, None, (), AnnotatedGraph, LaterExtern),
}
"""What is patched, by version of torch: where its sources have it.

Modules by those names stand in. test_provenance.py has what recording under 2.8, 2.9 and 2.10 gave.
"""


@pytest.mark.parametrize("version", INDUCTORS)
def test_the_patch_points_of_versions_that_are_not_installed(
    version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    has_level, home, users, graph_class, extern_class = INDUCTORS[version]
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "of the user")
    heard = []

    def original(node_schedule: Any, kernel_name: str, is_extern: bool = False) -> int:
        assert version != "2.8", "its hook is called by none who does not write debug files"
        heard.append(kernel_name)
        return 7

    level = {"provenance_tracking_level": 0} if has_level else {}
    config = SimpleNamespace(
        trace=SimpleNamespace(enabled=False, **level), triton=SimpleNamespace(cudagraphs=True)
    )
    names = (
        "debug",
        "utils",
        *CODEGEN,
        "codegen.triton",
        "codegen.cpp_wrapper_cpu",
        "ir",
        "scheduler",
    )
    modules = {name: SimpleNamespace(config=config) for name in names}
    holders = [modules[name] for name in ([home] if home else []) + list(users)]
    for module in holders:
        module.set_kernel_post_grad_provenance_tracing = original
    modules["ir"].ExternKernel = extern_class
    modules["config"] = config
    modules["output_code"] = SimpleNamespace(CompiledFxGraph=graph_class)
    graph = SimpleNamespace(
        is_backward=False,
        module=SimpleNamespace(
            graph=SimpleNamespace(
                nodes=[
                    fx_node("convolution", "aten.convolution.default", "conv1"),
                    fx_node("relu", "aten.relu.default", "act"),
                ]
            )
        ),
    )
    modules["virtualized"] = SimpleNamespace(V=SimpleNamespace(graph=graph))
    others = {
        "version": SimpleNamespace(__version__=version),
        "autograd.profiler": SimpleNamespace(record_function=lambda _: nullcontext()),
    }
    for name, module in (
        {f"_inductor.{name}": module for name, module in modules.items()} | others
    ).items():
        monkeypatch.setitem(sys.modules, f"torch.{name}", module)
    before = (graph_class.__init__, graph_class.__call__, extern_class.codegen_comment)
    made = recorder().Recorder()
    made.start()
    writes_graph(modules, holders, extern_class())
    graph_class("source", graph)([])
    assert (graph_class.__call__ is before[1]) is (version != "2.8")
    made.stop()
    assert (graph_class.__init__, graph_class.__call__, extern_class.codegen_comment) == before
    assert all(module.set_kernel_post_grad_provenance_tracing is original for module in holders)
    assert all(module.config is config for name, module in modules.items() if name in names)
    assert vars(config.trace) == {"enabled": False, **level}
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "of the user"
    if version == "without a hook":
        made.write(tmp_path / "rank0")
        told = json.loads(gzip.decompress((tmp_path / "rank0.provenance.json.gz").read_bytes()))
        assert told["graphs"] == []
        assert "torch 2.8 and later do" in " ".join(told["notes"])
        return
    (told,) = made.sidecar()["graphs"]
    paths = [
        [(node["module_path"], node["rule"]) for node in call["nodes"]] for call in told["calls"]
    ]
    assert paths == [[("conv1", "nn_module_stack")], [("act", "nn_module_stack")]]
    assert heard == {"2.8": [], "2.9": ["triton_relu", "extern_kernels.convolution"]}.get(
        version, ["extern_kernels.convolution", "triton_relu"]
    )


def writes_graph(modules: dict[str, Any], holders: list[Any], extern: Any) -> None:
    """Write a graph of a convolution and a generated kernel as Inductor does.

    It calls its hook where that is asked for.
    Before torch 2.10 the hook hears of the call to the library at the end.
    """
    tracks = getattr(modules["config"].trace, "provenance_tracking_level", 0) > 0
    extern.codegen_comment(None)
    cpp, wrapper = modules["codegen.cpp"], modules["codegen.wrapper"]
    if cpp in holders and (tracks or cpp.config.trace.enabled):
        relu = SimpleNamespace(origins=[fx_node("relu", "aten.relu.default", "act")])
        scheduled = SimpleNamespace(node=relu, get_outputs=list)
        cpp.set_kernel_post_grad_provenance_tracing([scheduled], "triton_relu")
    if wrapper in holders and (tracks or wrapper.config.trace.enabled):
        wrapper.set_kernel_post_grad_provenance_tracing(extern, "extern_kernels.convolution", True)
