"""Record the graph of the program's model, its operators and their tensors.

This code runs inside the profiled program, so it imports only the standard library and torch. After
the steps were recorded, three ways are tried, and the first that succeeds is used:

- Export the model, on tensors without data.
- Read the calls that were observed in the model's first run.
- Trace the model with torch.fx, without shapes.

If all fail, there are only notes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules import module as hooks

from .graph_rows import NAMES, bare_name, graph_row
from .observed_graph import Observer
from .status_file import own_rank, write_whole

VIEWS = frozenset(
    (
        "view",
        "_unsafe_view",
        "reshape",
        "flatten",
        "transpose",
        "t",
        "permute",
        "expand",
        "slice",
        "select",
        "unsqueeze",
        "squeeze",
        "alias",
        "detach",
        "split",
        "chunk",
        "getitem",
    )
)
"""Operators whose result may be a view of their first input."""
_MODULES = {
    "Conv2d": "conv2d",
    "BatchNorm2d": "batch_norm",
    "Linear": "linear",
    "MaxPool2d": "max_pool2d",
}


class Recorder:
    """Records the graph of the outermost module that runs between `start` and `stop`.

    If several outermost modules run, the module with most parameters is recorded.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._size = -1
        self._model: Any = None
        self._inputs: tuple[Any, ...] = ()
        self._undo: list[Any] = []
        self._written: Any = None
        self._observer: Observer | None = None
        self._is_observing = False

    def start(self) -> None:
        """Watch the calls of modules."""
        self._undo = [
            hooks.register_module_forward_pre_hook(self._begins),
            hooks.register_module_forward_hook(self._ends, always_call=True),
        ]

    def stop(self) -> None:
        """Stop watching the calls of modules."""
        for hook in self._undo:
            hook.remove()
        self._undo = []

    def write(self, stem: Path) -> None:
        """Write the graph beside the trace as gzip JSON.

        If no module was called, no file is written.
        """
        if self._model is None or self._model is self._written:
            return
        self.stop()
        self._written = self._model
        write_whole(
            Path(f"{stem}.graph.json.gz"),
            gzip.compress(json.dumps(graph_of(self._model, self._inputs, self._observer)).encode()),
        )

    def _begins(self, module: Any, inputs: Any) -> None:
        if not self._depth and not torch.compiler.is_compiling():
            size = sum(parameter.numel() for parameter in module.parameters())
            if (
                size > self._size
                and isinstance(inputs, tuple)
                and all(isinstance(i, torch.Tensor) for i in inputs)
            ):
                self._size, self._model = size, module
                self._inputs = tuple(
                    (
                        tuple(i.shape),
                        i.stride(),
                        i.dtype,
                        i.device,
                    )
                    for i in inputs
                )
                self._observe()
        self._depth += 1

    def _ends(self, _module: Any, _inputs: Any, _output: Any) -> None:
        self._depth -= 1
        if self._is_observing and not self._depth:
            self._is_observing = False
            self._observer.stop()  # type: ignore[union-attr]

    def _observe(self) -> None:
        """Observe this run of the model, in case the model cannot be exported."""
        try:
            self._observer = Observer()
            self._observer.start()
            self._is_observing = True
        except Exception:  # noqa: BLE001 - torch has one observer, which the program may use itself
            self._observer = None


def graph_of(model: Any, inputs: Any, observer: Observer | None = None) -> dict[str, Any]:
    """Return the content of the sidecar that tracelens.collectors.graph reads.

    `inputs` holds shape, strides, dtype and device of each input.
    """
    ways: list[tuple[str, str, Callable[[], list[dict[str, Any]]]]] = [
        ("export", "torch.export", lambda: _exported(model, inputs)),
        ("fx", "torch.fx", lambda: _traced(model)),
    ]
    if observer is not None and not model.training:
        ways.insert(
            1,
            ("observer", "ExecutionTraceObserver", lambda: observer.read(inputs)),
        )
    rows: list[dict[str, Any]] = []
    notes = []
    source = ""
    for source, name, way in ways:  # noqa: B007 - the sidecar names the last way that was tried
        try:
            rows = way()
            break
        except Exception as error:  # noqa: BLE001 - what a model can be read by is torch's to say
            notes.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
    key = hashlib.sha256(
        json.dumps([(r["op"], r["inputs"], r["shape"]) for r in rows]).encode()
    ).hexdigest()[:16]
    return {
        "format": "tracelens-graph",
        "version": 1,
        "torch": str(torch.__version__),
        "rank": own_rank(),
        "notes": notes,
        "graph_key": key,
        "source": source,
        "nodes": rows,
    }


def _exported(model: Any, inputs: Any) -> list[dict[str, Any]]:
    """Return one row per node of the exported model.

    An operator with several results is represented by its first result.
    """
    if model.training:
        raise ValueError("the model is in training mode")
    tensors = tuple(
        torch.empty_strided(shape, strides, dtype=dtype, device=device)
        for shape, strides, dtype, device in inputs
    )
    with torch.no_grad():
        program = torch.export.export(model, tensors).run_decompositions({})
    given = {spec.arg.name: spec.kind.name for spec in program.graph_signature.input_specs}
    nodes = list(program.graph.nodes)
    (ending,) = (node for node in nodes if node.op == "output")
    returned = {node.name for node in ending.all_input_nodes}
    calls_of_results: dict[str, str] = {}
    rows: dict[str, dict[str, Any]] = {}
    for node in nodes:
        if node.op == "output":
            continue
        if _is_first_result(node):
            call = node.args[0].name
            calls_of_results[node.name] = call
            if call in rows:
                rows[call]["is_output"] |= node.name in returned
            continue
        is_given = node.op == "placeholder"
        op = _given_op(given.get(node.name)) if is_given else _called(_target(node))
        inputs, arguments = _arguments(node, calls_of_results)
        path = [str(module[0]) for module in node.meta.get("nn_module_stack", {}).values()]
        rows[node.name] = graph_row(node.name, op, inputs, arguments) | {
            "alias_of": next((i for i in inputs if i), None) if op in VIEWS else None,
            "is_output": node.name in returned,
            "module_path": path[-1] if path else None,
        }
        rows[node.name] |= _tensor_facts(node.meta.get("val"))
    return list(rows.values())


def _given_op(kind: str | None) -> str:
    """Return the op of a tensor that the model is given, from its kind in the graph's signature."""
    return "input" if kind in (None, "USER_INPUT") else "parameter"


def _target(node: Any) -> str:
    return getattr(node.target, "__name__", str(node.target))


def _is_first_result(node: Any) -> bool:
    """Return whether a node takes the first of an operator's results."""
    return (
        _target(node) == "getitem"
        and node.args[1] == 0
        and isinstance(node.args[0].meta.get("val"), (tuple, list))
    )


def _tensor_facts(value: Any) -> dict[str, Any]:
    """Return the shape, element type and strides of a node's first result, if they are known."""
    first = value[0] if isinstance(value, (tuple, list)) and value else value
    if not isinstance(first, torch.Tensor) or not all(isinstance(n, int) for n in first.shape):
        return {}
    return {
        "shape": list(first.shape),
        "dtype": str(first.dtype).removeprefix("torch."),
        "strides": list(first.stride()),
    }


def _called(target: str) -> str:
    """Return the name by which the program called an operator."""
    name = bare_name(target.split(".", maxsplit=1)[0])
    return NAMES.get(name, name)


def _arguments(node: Any, same: dict[str, str]) -> tuple[list[str | None], list[Any]]:
    """Return the names of the nodes that a call reads, and the values of its other arguments.

    An argument that the call does not state has its default value. A node in `same` is replaced by
    the node that `same` gives for it.
    """
    schema = getattr(node.target, "_schema", None)
    values = list(node.args)
    if schema is not None:
        values += [
            node.kwargs.get(
                parameter.name,
                parameter.default_value if parameter.has_default_value() else None,
            )
            for parameter in schema.arguments[len(values) :]
        ]
    inputs: list[str | None] = []
    others: list[Any] = []
    for value in values:
        parts = value if isinstance(value, (list, tuple)) else [value]
        if parts and all(isinstance(part, torch.fx.Node) for part in parts):
            inputs += [same.get(part.name, part.name) for part in parts]
        elif value is None:
            inputs.append(None)
        else:
            others.append(list(parts) if isinstance(value, (list, tuple)) else value)
    return inputs, others


def _traced(model: Any) -> list[dict[str, Any]]:
    """Return one row per node that torch.fx traces, without shapes."""
    traced = torch.fx.symbolic_trace(model)
    rows = []
    for node in traced.graph.nodes:
        if node.op == "output":
            continue
        path = node.target if node.op == "call_module" else None
        if path is not None:
            kind = type(traced.get_submodule(path)).__name__
            op = _MODULES.get(kind, kind.lower())
        elif node.op == "placeholder":
            op = "input"
        else:
            op = _called(getattr(node.target, "__name__", str(node.target)))
        rows.append(
            graph_row(
                node.name,
                op,
                [i.name for i in node.all_input_nodes],
                [],
            )
            | {
                "is_output": any(user.op == "output" for user in node.users),
                "module_path": path,
            }
        )
    return rows
