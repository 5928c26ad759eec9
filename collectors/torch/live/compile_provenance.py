"""Record from which modules the kernels in torch.compile's graphs come.

This code runs inside the profiled program, so it imports only the standard library and torch. It
changes Inductor in three ways:

- The cache folder is empty, so that graphs compiled earlier are compiled again.
- `trace.provenance_tracking_level` is set, so that Inductor stores each kernel's FX nodes.
- CUDA graphs are off, because a replay hides its kernels' ops.

This code never makes a compilation fail. Kernel calls that it cannot read are counted in the
sidecar.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .kernel_inputs import UnknownSizeError, inputs_of
from .status_file import own_rank, write_whole

LEVEL = "provenance_tracking_level"
"""Name of the setting in Inductor's `config.trace` that makes Inductor store FX nodes of kernels.

torch 2.8 lacks this setting.
"""
ASKING = ("torch._inductor.codegen.cpp", "torch._inductor.codegen.simd")
"""Inductor's modules that report kernels in torch 2.8 only if the setting `trace.enabled` is True.

In these modules, the setting is replaced by True.
"""
HOOK = "set_kernel_post_grad_provenance_tracing"
"""Name of the function that Inductor calls to report a kernel and its FX nodes."""
CPP_PROFILE = "enable_kernel_profile"
"""Name of the setting in Inductor's `config.cpp` that makes C++ kernels appear as ops."""
HOMES = ("torch._inductor.debug", "torch._inductor.utils")
"""Modules that define the hook: debug since torch 2.9, utils in 2.8."""
USERS = tuple(
    f"torch._inductor.{name}"
    for name in (
        "codegen.cpp",
        "codegen.triton",
        "codegen.simd",
        "codegen.wrapper",
        "codegen.cpp_wrapper_cpu",
        "ir",
        "scheduler",
    )
)
"""Modules that may import the hook by name, depending on the version."""
ANNOTATION = "## Call CompiledFxGraph"
"""Beginning of the annotation of each run of a compiled graph in a trace, since torch 2.9."""
_ROOT = re.compile(r"^(L\['\w+'\]|G\['\w+'\])\.?")
_ITEM = re.compile(r"\._modules\['([^']*)'\]|\['?([^'\]]*)'?\]")
_STACKS = ("nn_module_stack", "fwd_nn_module_stack")
_CALLS = "_tracelens_calls"
_CACHE = "TORCHINDUCTOR_CACHE_DIR"


class Recorder:
    """Records this process's compiled graphs and kernels, from `start` to `stop`."""

    def __init__(self) -> None:
        self.graphs: list[tuple[Any, bool, list[dict[str, Any]]]] = []
        self.notes: list[str] = []
        self.failures = 0
        self.n_without_sizes = 0
        self._undo: list[tuple[Any, str, Any]] = []
        self._cache: str | None = None

    def start(self) -> None:
        """Patch Inductor so that it reports kernels.

        torch before 2.8 has no hook for kernels, so that only a note is recorded.
        """
        original = next(
            (hook_function for home in HOMES if (hook_function := _attribute(home, HOOK))),
            None,
        )
        if original is None:
            self.notes.append(
                "this torch does not report what kernels are made from; torch 2.8 and later do"
            )
            return
        self._use_own_cache()
        config: Any = importlib.import_module("torch._inductor.config")
        has_level = hasattr(config.trace, LEVEL)
        self._configure(config)
        self._hook_kernels(original, calls_original=has_level)
        if not has_level:
            self._enable_tracing(config)
        self._hook_graphs()

    def _use_own_cache(self) -> None:
        """Let Inductor compile anew, into a folder of its own."""
        self._cache = tempfile.mkdtemp(prefix="tracelens-inductor-")
        self._old_cache = os.environ.get(_CACHE)
        os.environ[_CACHE] = self._cache

    def _configure(self, config: Any) -> None:
        """Turn provenance and profiling of C++ kernels on, and CUDA graphs off."""
        if hasattr(config.trace, LEVEL):
            self._set(config.trace, LEVEL, 1)
        if config.triton.cudagraphs:
            self._set(config.triton, "cudagraphs", False)
            self.notes.append("CUDA graphs were off while provenance was recorded")
        cpp = getattr(config, "cpp", None)
        if hasattr(cpp, CPP_PROFILE):
            self._set(cpp, CPP_PROFILE, True)

    def _hook_kernels(self, original: Callable[..., Any], *, calls_original: bool) -> None:
        """Replace Inductor's hook for kernels wherever it is imported."""
        extern: Any = importlib.import_module("torch._inductor.ir").ExternKernel
        # Up to torch 2.9 the hook is called for some library calls only after all generated kernels
        # of the graph.
        hook_gets_all = "kernel_name" in inspect.signature(extern.codegen_comment).parameters
        hook = self._hook(original if calls_original else _nothing, hook_gets_all)
        for name in (*HOMES, *USERS):
            if _attribute(name, HOOK) is original:
                self._set(importlib.import_module(name), HOOK, hook)
        if not hook_gets_all:
            self._set(extern, "codegen_comment", self._commented(extern.codegen_comment))

    def _enable_tracing(self, config: Any) -> None:
        """Make the modules that ask whether to trace see that tracing is on."""
        for name in ASKING:
            module = importlib.import_module(name)
            enabled = _Override(config.trace, enabled=True)
            self._set(module, "config", _Override(module.config, trace=enabled))

    def _hook_graphs(self) -> None:
        """Record each compiled graph, and name it in the trace if torch does not."""
        output: Any = importlib.import_module("torch._inductor.output_code")
        graph = output.CompiledFxGraph
        self._set(graph, "__init__", self._compiled(graph.__init__))
        if ANNOTATION not in inspect.getsource(graph):
            self._set(graph, "__call__", _annotated(graph.__call__))

    def stop(self) -> None:
        """Remove the patches from Inductor."""
        for owner, name, value in reversed(self._undo):
            setattr(owner, name, value)
        self._undo.clear()
        if self._cache is not None:
            if self._old_cache is None:
                os.environ.pop(_CACHE, None)
            else:
                os.environ[_CACHE] = self._old_cache
            shutil.rmtree(self._cache, ignore_errors=True)
            self._cache = None

    def write(self, stem: Path) -> None:
        """Write the graphs compiled so far to a gzip JSON file beside the trace."""
        # Without any graph, a file is written only to say why recording was not possible.
        if self.graphs or not self._undo:
            write_whole(
                Path(f"{stem}.provenance.json.gz"),
                gzip.compress(json.dumps(self.sidecar()).encode()),
            )

    def sidecar(self) -> dict[str, Any]:
        """Return the recorded graphs, in the form that tracelens.collectors.provenance reads."""
        version: Any = importlib.import_module("torch.version")
        notes = list(self.notes)
        if self.failures:
            notes.append(f"{self.failures} kernel calls whose nodes could not be read")
        if self.n_without_sizes:
            notes.append(f"{self.n_without_sizes} kernel calls whose sizes could not be read")
        return {
            "format": "tracelens-provenance",
            "version": 1,
            "torch": str(version.__version__),
            "rank": own_rank(),
            "notes": notes,
            "graphs": [
                {
                    "key": str(getattr(compiled, "_fx_graph_cache_key", None)),
                    "is_backward": is_backward,
                    "calls": calls,
                }
                for compiled, is_backward, calls in self.graphs
            ],
        }

    def _set(self, owner: Any, name: str, value: Any) -> None:
        self._undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def _hook(self, original: Any, hook_gets_all: bool) -> Any:
        def hook(
            node_schedule: Any,
            kernel_name: str,
            is_extern: bool = False,
            *more: Any,
            **named: Any,
        ) -> Any:
            if hook_gets_all or not is_extern:
                self._note(node_schedule, kernel_name, is_extern)
            return original(node_schedule, kernel_name, is_extern, *more, **named)

        return hook

    def _commented(self, original: Any) -> Any:
        def codegen_comment(extern: Any, wrapper: Any) -> None:
            original(extern, wrapper)
            # A Triton kernel that the user wrote has no such name, and these versions call no hook
            # for it either.
            if extern.python_kernel_name:
                self._note(extern, extern.python_kernel_name, True)

        return codegen_comment

    def _note(self, origin: Any, kernel_name: str, is_extern: bool) -> None:
        try:
            graph: Any = importlib.import_module("torch._inductor.virtualized").V.graph
            calls = graph.__dict__.setdefault(_CALLS, [])
            call = _call(origin, kernel_name, is_extern)
            calls.append(call)
            self.n_without_sizes += call["inputs"] is None
        except Exception:  # noqa: BLE001 - a compilation must not fail because it is watched
            self.failures += 1

    def _compiled(self, original: Any) -> Any:
        def init(compiled: Any, *given: Any, **named: Any) -> None:
            original(compiled, *given, **named)
            try:
                graph = named["graph"] if "graph" in named else given[1]
                if calls := graph.__dict__.get(_CALLS):
                    self.graphs.append((compiled, bool(graph.is_backward), calls))
            except Exception:  # noqa: BLE001 - as above
                self.failures += 1

        return init


class _Override:
    """Wraps a module or object, and overrides some of its attributes.

    The original does not change, so that other code sees no difference.
    """

    def __init__(self, under: Any, **replaced: Any) -> None:
        self._under = under
        self.__dict__ |= replaced

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)


def _nothing(*_given: Any, **_named: Any) -> None:
    """Do nothing; this function replaces a hook."""


def _annotated(call: Any) -> Any:
    """Return the call wrapped in the annotation that torch 2.9 and later add themselves."""
    record: Any = importlib.import_module("torch.autograd.profiler").record_function

    def annotated(graph: Any, inputs: Any) -> Any:
        with record(f"{ANNOTATION} {graph._fx_graph_cache_key} ##"):
            return call(graph, inputs)

    return annotated


def _attribute(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _call(node_schedule: Any, kernel_name: str, is_extern: bool) -> dict[str, Any]:
    """Return the name, FX nodes and inputs of one kernel call, and whether it is a library call."""
    if is_extern:
        fx_nodes = (
            [node_schedule.origin_node]
            if node_schedule.origin_node is not None
            else list(node_schedule.origins)
        )
        users: list[Any] = []
    else:
        scheduled = [item for item in node_schedule if getattr(item, "node", None) is not None]
        fx_nodes = [origin for item in scheduled for origin in item.node.origins]
        users = [
            user.node for item in scheduled for out in item.get_outputs() for user in out.users
        ]
    nodes = _described(fx_nodes)
    if not nodes:
        # Copies that Inductor itself adds, such as one of a weight in another layout, come from no
        # node. They get the nodes of the kernels that use their results.
        used_by = [
            o
            for user in users
            if getattr(user, "node", None) is not None
            for o in _origins(user.node)
        ]
        nodes = [{**node, "rule": "consumer"} for node in _described(used_by)]
    try:
        inputs = inputs_of(node_schedule, is_extern)
    except UnknownSizeError:
        inputs = None
    return {"name": kernel_name, "is_extern": is_extern, "nodes": nodes, "inputs": inputs}


def _origins(ir_node: Any) -> list[Any]:
    exact = getattr(ir_node, "origin_node", None)
    return [exact] if exact is not None else list(getattr(ir_node, "origins", ()))


def _described(fx_nodes: list[Any]) -> list[dict[str, Any]]:
    """Describe each call_function node once, with its module and the evidence for that module."""
    rows = []
    for node in {node.name: node for node in fx_nodes if node.op == "call_function"}.values():
        path, rule = _module(node)
        rows.append(
            {
                "node": node.name,
                "aten_op": str(node.target),
                "module_path": path,
                "rule": rule,
                "output_bytes": _output_bytes(node),
            }
        )
    return rows


def _module(node: Any) -> tuple[str | None, str]:
    """Return the path of an FX node's module, and the evidence for this module."""
    for key in _STACKS:
        if stack := node.meta.get(key):
            return clean_path(str(list(stack.values())[-1][0])), key
    if node.meta.get("seq_nr") is not None and node.meta.get("stack_trace"):
        return "", "root"
    for other in (*node.users, *node.all_input_nodes):
        for key in _STACKS:
            if stack := other.meta.get(key):
                return clean_path(str(list(stack.values())[-1][0])), "neighbour"
    return None, "none"


def clean_path(source: str) -> str:
    """Return a path of Dynamo as an attribute path.

    `L['self']._modules['layer1']._modules['0'].conv1` becomes `layer1.0.conv1`.
    """
    path = _ROOT.sub("", source)
    path = _ITEM.sub(
        lambda match: "." + (match[1] if match[1] is not None else match[2]),
        "." + path,
    )
    return ".".join(
        part for part in path.split(".") if part and part not in {"_orig_mod", "_modules"}
    )


def _output_bytes(node: Any) -> int:
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    total = 0
    for tensor in values:
        try:
            total += int(tensor.numel()) * int(tensor.element_size())
        except Exception:  # noqa: BLE001, S112 - no tensor, or one of a size not known yet
            continue
    return total
