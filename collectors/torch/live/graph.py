"""Record the graph of the model that the program runs: its operators, their tensors and what they read.

Runs inside the profiled program, so it imports the standard library and torch alone. The model is exported once, after
the steps were recorded, on tensors without data. What cannot be exported has the calls that its first run made, as
observed; where that fails too, it is traced with torch.fx, which knows no shapes, or noted.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules import module as hooks

from .observed import Observer, is_plain, plain_name
from .report import own_rank, write_whole

VIEWS = frozenset((
    "view", "_unsafe_view", "reshape", "flatten", "transpose", "t", "permute", "expand", "slice", "select", "unsqueeze",
    "squeeze", "alias", "detach", "split", "chunk", "getitem",
))  # fmt: skip
"""Operators whose result may be a view of their first input."""
NAMES = {"_native_batch_norm_legit_no_training": "batch_norm", "cudnn_batch_norm": "batch_norm", "hardtanh": "relu6"}
"""Operators under the name that the program called them by."""
_MODULES = {"Conv2d": "conv2d", "BatchNorm2d": "batch_norm", "Linear": "linear", "MaxPool2d": "max_pool2d"}


class Recorder:
    """The outermost module with most parameters that is called between `start` and `stop`, and its inputs' shapes."""

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
        """Watch no longer."""
        for hook in self._undo:
            hook.remove()
        self._undo = []

    def write(self, stem: Path) -> None:
        """Write the graph beside the trace, gzip JSON; none where no module was called."""
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
            if size > self._size and isinstance(inputs, tuple) and all(isinstance(i, torch.Tensor) for i in inputs):
                self._size, self._model = size, module
                self._inputs = tuple((tuple(i.shape), i.stride(), i.dtype, i.device) for i in inputs)
                self._observe()
        self._depth += 1

    def _ends(self, _module: Any, _inputs: Any, _output: Any) -> None:
        self._depth -= 1
        if self._is_observing and not self._depth:
            self._is_observing = False
            self._observer.stop()  # type: ignore[union-attr]

    def _observe(self) -> None:
        """Observe this run of the model: the calls that it makes, should it be one that cannot be exported."""
        try:
            self._observer = Observer()
            self._observer.start()
            self._is_observing = True
        except Exception:  # noqa: BLE001 - torch has one observer, which the program may use itself
            self._observer = None


def graph_of(model: Any, inputs: Any, observer: Observer | None = None) -> dict[str, Any]:
    """The sidecar that tracelens.collectors.graph reads; `inputs` are shape, strides, dtype and device of each."""
    given = tuple(
        torch.empty_strided(shape, strides, dtype=dtype, device=device) for shape, strides, dtype, device in inputs
    )
    rows, source, notes = [], "export", []
    try:
        if model.training:
            raise ValueError("the model is in training mode")  # noqa: TRY301 - one way to the other source
        with torch.no_grad():
            program = torch.export.export(model, given).run_decompositions({})
        rows = _exported(program)
    except Exception as error:  # noqa: BLE001 - what can be exported is torch's to say
        notes.append(f"torch.export: {type(error).__name__}: {str(error)[:200]}")
        rows, source = _otherwise(model, inputs, observer, notes)
    key = hashlib.sha256(json.dumps([(r["op"], r["inputs"], r["shape"]) for r in rows]).encode()).hexdigest()[:16]
    return {
        "format": "tracelens-graph", "version": 1, "torch": str(torch.__version__), "rank": own_rank(), "notes": notes,
        "graph_key": key, "source": source, "nodes": rows,
    }  # fmt: skip


def _otherwise(
    model: Any, inputs: Any, observer: Observer | None, notes: list[str]
) -> tuple[list[dict[str, Any]], str]:
    """Rows and source of the graph of a model that cannot be exported; what fails is noted."""
    try:
        if observer is not None and not model.training:
            return [row | {"op": NAMES.get(row["op"], row["op"])} for row in observer.read(inputs)], "observer"
    except Exception as error:  # noqa: BLE001 - what was observed is torch's to write
        notes.append(f"ExecutionTraceObserver: {type(error).__name__}: {str(error)[:200]}")
    try:
        return _traced(model), "fx"
    except Exception as error:  # noqa: BLE001
        notes.append(f"torch.fx: {type(error).__name__}: {str(error)[:200]}")
    return [], "fx"


def _exported(program: Any) -> list[dict[str, Any]]:
    """A row a node of an exported program; the first result of an operator with several stands for the operator."""
    given = {spec.arg.name: spec.kind.name for spec in program.graph_signature.input_specs}
    same: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    nodes = list(program.graph.nodes)
    (ending,) = (node for node in nodes if node.op == "output")
    returned = {node.name for node in ending.all_input_nodes}
    for node in nodes:
        if node.op == "output":
            continue
        target = getattr(node.target, "__name__", str(node.target))
        if target == "getitem" and node.args[1] == 0 and isinstance(node.args[0].meta.get("val"), (tuple, list)):
            same[node.name] = node.args[0].name
            for row in rows:
                row["is_output"] |= row["node"] == node.args[0].name and node.name in returned
            continue
        if node.op == "placeholder":
            op = "input" if given.get(node.name, "USER_INPUT") == "USER_INPUT" else "parameter"
        else:
            op = _plain_name(target)
        inputs, arguments = _arguments(node, same)
        value = node.meta.get("val")
        value = value[0] if isinstance(value, (tuple, list)) and value else value
        path = [str(found[0]) for found in node.meta.get("nn_module_stack", {}).values()]
        rows.append({
            "node": node.name, "op": op, "inputs": inputs, "arguments": arguments, **_tensor(value),
            "alias_of": next((i for i in inputs if i), None) if op in VIEWS else None, "is_input": op == "input",
            "is_output": node.name in returned, "module_path": path[-1] if path else None,
        })  # fmt: skip
    return rows


def _plain_name(target: str) -> str:
    name = plain_name(target.split(".", maxsplit=1)[0])
    return NAMES.get(name, name)


def _arguments(node: Any, same: dict[str, str]) -> tuple[list[str | None], list[Any]]:
    """Names of the nodes that a call reads, and its other arguments, defaults included."""
    schema = getattr(node.target, "_schema", None)
    values = list(node.args)
    if schema is not None:
        values += [
            node.kwargs.get(own.name, own.default_value if own.has_default_value() else None)
            for own in schema.arguments[len(values) :]
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
    plain = [value if is_plain(value) else None for value in others]
    return inputs, plain


def _tensor(value: Any) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor) or not all(isinstance(n, int) for n in value.shape):
        return {"shape": None, "dtype": None, "strides": None}
    return {
        "shape": list(value.shape),
        "dtype": str(value.dtype).removeprefix("torch."),
        "strides": list(value.stride()),
    }


def _traced(model: Any) -> list[dict[str, Any]]:
    """A row a node of what torch.fx traces: without shapes."""
    traced = torch.fx.symbolic_trace(model)
    rows = []
    for node in traced.graph.nodes:
        if node.op == "output":
            continue
        if node.op == "call_module":
            kind = type(traced.get_submodule(node.target)).__name__
            op = _MODULES.get(kind, kind.lower())
        else:
            op = (
                "input" if node.op == "placeholder" else _plain_name(getattr(node.target, "__name__", str(node.target)))
            )
        rows.append({
            "node": node.name, "op": op, "inputs": [i.name for i in node.all_input_nodes], "arguments": [],
            **_tensor(None), "alias_of": None, "is_input": op == "input",
            "is_output": any(user.op == "output" for user in node.users),
            "module_path": node.target if node.op == "call_module" else None,
        })  # fmt: skip
    return rows
