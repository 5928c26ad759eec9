"""Record the graph of the program's model: operators, tensors and what they read.

Runs inside the profiled program, so it imports the standard library and torch alone. After the
steps were recorded, the model is exported once, on tensors without data. If that fails, the graph
is made of the calls that the model's first run was observed to make. If that fails too, torch.fx
traces the model, without shapes; else there is a note.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules import module as hooks

from .report import own_rank, write_whole

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
NAMES = {
    "_native_batch_norm_legit_no_training": "batch_norm",
    "cudnn_batch_norm": "batch_norm",
    "hardtanh": "relu6",
}
"""Operators by torch's name, and the name that programs call them by."""
_MODULES = {
    "Conv2d": "conv2d",
    "BatchNorm2d": "batch_norm",
    "Linear": "linear",
    "MaxPool2d": "max_pool2d",
}

_DTYPES = {
    "float": "float32",
    "double": "float64",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "long int": "int64",
    "int": "int32",
    "bool": "bool",
}
_TENSOR = "Tensor("
_WORDS = ("none", "tanh")
"""How GELU is approximated. Other text may be a secret."""


class Recorder:
    """Watch the outermost module that runs between `start` and `stop`, and its inputs' shapes.

    Of several, the one with most parameters is watched.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._size = -1
        self._model: Any = None
        self._inputs: tuple[Any, ...] = ()
        self._undo: list[Any] = []
        self._written: Any = None
        self._observer: _Observer | None = None
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
            if (
                size > self._size
                and isinstance(inputs, tuple)
                and all(isinstance(i, torch.Tensor) for i in inputs)
            ):
                self._size, self._model = size, module
                self._inputs = tuple(
                    (tuple(i.shape), i.stride(), i.dtype, i.device) for i in inputs
                )
                self._observe()
        self._depth += 1

    def _ends(self, _module: Any, _inputs: Any, _output: Any) -> None:
        self._depth -= 1
        if self._is_observing and not self._depth:
            self._is_observing = False
            self._observer.stop()  # type: ignore[union-attr]

    def _observe(self) -> None:
        """Observe this run of the model: a graph for a model that cannot be exported."""
        try:
            self._observer = _Observer()
            self._observer.start()
            self._is_observing = True
        except Exception:  # noqa: BLE001 - torch has one observer, which the program may use itself
            self._observer = None


def graph_of(model: Any, inputs: Any, observer: _Observer | None = None) -> dict[str, Any]:
    """Return the sidecar that tracelens.collectors.graph reads.

    `inputs` are shape, strides, dtype and device of each.
    """
    ways: list[tuple[str, str, Callable[[], list[dict[str, Any]]]]] = [
        ("export", "torch.export", lambda: _exported(model, inputs)),
        ("fx", "torch.fx", lambda: _traced(model)),
    ]
    if observer is not None and not model.training:
        ways.insert(1, ("observer", "ExecutionTraceObserver", lambda: observer.read(inputs)))
    rows: list[dict[str, Any]] = []
    notes = []
    source = ""
    for source, name, way in ways:  # noqa: B007 - the last way tried is told
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

    The first result of an operator with several stands for the operator.
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
    same: dict[str, str] = {}
    rows: dict[str, dict[str, Any]] = {}
    nodes = list(program.graph.nodes)
    (ending,) = (node for node in nodes if node.op == "output")
    returned = {node.name for node in ending.all_input_nodes}
    for node in nodes:
        if node.op == "output":
            continue
        value = node.meta.get("val")
        target = getattr(node.target, "__name__", str(node.target))
        if (
            target == "getitem"
            and node.args[1] == 0
            and isinstance(node.args[0].meta.get("val"), (tuple, list))
        ):
            same[node.name] = node.args[0].name
            if same[node.name] in rows:
                rows[same[node.name]]["is_output"] |= node.name in returned
            continue
        if node.op == "placeholder":
            op = "input" if given.get(node.name, "USER_INPUT") == "USER_INPUT" else "parameter"
        else:
            op = _called(target)
        inputs, arguments = _arguments(node, same)
        value = value[0] if isinstance(value, (tuple, list)) and value else value
        path = [str(module[0]) for module in node.meta.get("nn_module_stack", {}).values()]
        rows[node.name] = _row(node.name, op, inputs, arguments) | {
            "alias_of": next((i for i in inputs if i), None) if op in VIEWS else None,
            "is_output": node.name in returned,
            "module_path": path[-1] if path else None,
        }
        if isinstance(value, torch.Tensor) and all(isinstance(n, int) for n in value.shape):
            dtype = str(value.dtype).removeprefix("torch.")
            rows[node.name] |= {
                "shape": list(value.shape),
                "dtype": dtype,
                "strides": list(value.stride()),
            }
    return list(rows.values())


def _row(node: str, op: str, inputs: list[str | None], arguments: list[Any]) -> dict[str, Any]:
    """Return a row of the graph. Columns that depend on the node's result are None."""
    return {
        "node": node,
        "op": op,
        "inputs": inputs,
        "arguments": [argument if _is_plain(argument) else None for argument in arguments],
        "shape": None,
        "dtype": None,
        "strides": None,
        "alias_of": None,
        "is_input": op == "input",
        "is_output": False,
        "module_path": None,
    }


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number, a truth value, a known word, or a list of them."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return value in _WORDS
    return type(value) in (bool, int, float)


def _bare(name: str) -> str:
    """Return an operator's name without namespace, and without the mark of working in place."""
    name = name.removeprefix("aten::")
    return name if name.startswith("_") else name.removesuffix("_")


def _called(target: str) -> str:
    """Return the name that the program called an operator by."""
    name = _bare(target.split(".", maxsplit=1)[0])
    return NAMES.get(name, name)


def _arguments(node: Any, same: dict[str, str]) -> tuple[list[str | None], list[Any]]:
    """Return names of the nodes that a call reads, and its other arguments, defaults included."""
    schema = getattr(node.target, "_schema", None)
    values = list(node.args)
    if schema is not None:
        values += [
            node.kwargs.get(
                parameter.name, parameter.default_value if parameter.has_default_value() else None
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
    """Return one row per node of what torch.fx traces, without shapes."""
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
            _row(node.name, op, [i.name for i in node.all_input_nodes], [])
            | {
                "is_output": any(user.op == "output" for user in node.users),
                "module_path": path,
            }
        )
    return rows


class _Observer:
    """The calls that a model made as it ran, with ids of tensors that they read and wrote.

    Source: torch.profiler.ExecutionTraceObserver. It observes between `start` and `stop`; `read`
    then returns the rows of the graph.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tracelens-graph-")
        self._file = Path(self._folder.name) / "calls.json"
        self._observer = torch.profiler.ExecutionTraceObserver()
        self._observer.register_callback(str(self._file))

    def start(self) -> None:
        """Observe from here on."""
        self._observer.start()

    def stop(self) -> None:
        """Observe no longer."""
        self._observer.stop()
        self._observer.unregister_callback()

    def read(self, inputs: Any) -> list[dict[str, Any]]:
        """Return one row per call, and one per tensor that no call wrote.

        `inputs` are shape, strides and more of the model's inputs.
        """
        try:
            nodes = json.loads(self._file.read_text(encoding="utf-8"))["nodes"]
        finally:
            self._folder.cleanup()
        rows = _observed(nodes, [list(shape) for shape, *_ in inputs])
        return [row | {"op": NAMES.get(row["op"], row["op"])} for row in rows]


def _observed(nodes: list[dict[str, Any]], shapes: list[list[int]]) -> list[dict[str, Any]]:
    """Return rows of the graph from an observer's nodes: outermost operators in order.

    The observer reuses the id of a tensor that is gone, so a reader reads what was written last
    under its id. A tensor that no call wrote is an input if it has an input's shape; several inputs
    of one shape are taken in order. Any other is a parameter.
    """
    by_id = {node["id"]: node for node in nodes}
    rows: list[dict[str, Any]] = []
    last: dict[int, str] = {}
    read: set[str] = set()
    waiting = list(shapes)

    def name_of(value: list[Any], about: tuple[Any, ...]) -> str | None:
        if value[0] not in last and value[-1]:
            is_input = about[0] in waiting
            if is_input:
                waiting.remove(about[0])
            last[value[0]] = _add(rows, "input" if is_input else "parameter", [], [], about)
        return last.get(value[0])

    for node in sorted(nodes, key=lambda node: int(node["id"])):
        if not node["name"].startswith("aten::") or _is_inside(node, by_id):
            continue
        names, arguments = [], []
        for value, *about in _values(node["inputs"]):
            if about[1].startswith(_TENSOR):
                names.append(name_of(value, tuple(about)))
            elif value == "<None>":
                names.append(None)
            else:
                # Profilers record no words, and a call is found by what they record.
                arguments.append(None if isinstance(value, str) else value)
        results = [result for result in _values(node["outputs"]) if result[2].startswith(_TENSOR)]
        if not results:
            continue
        read.update(name for name in names if name)
        name = _add(rows, _bare(node["name"]), names, arguments, results[0][1:])
        first = next(
            (v for v, _, kind, _ in _values(node["inputs"]) if kind.startswith(_TENSOR)), None
        )
        if first and first[:1] != results[0][0][:1] and first[1:3] == results[0][0][1:3]:
            rows[-1]["alias_of"] = names[0]
        last.update((value[0], name) for value, *_ in results)
    for row in rows:
        row["is_output"] = row["node"] not in read and row["op"] not in ("input", "parameter")
    return rows


def _values(described: dict[str, Any]) -> list[tuple[Any, Any, str, Any]]:
    """Return value, shape, type and strides of each input or output.

    A list of tensors gives those of each tensor.
    """
    rows: list[tuple[Any, Any, str, Any]] = []
    columns = (described[name] for name in ("values", "shapes", "types", "strides"))
    for value, shape, kind, strides in zip(*columns, strict=True):
        if kind.startswith(f"GenericList[{_TENSOR}"):
            kinds = kind.removeprefix("GenericList[").removesuffix("]").split(",")
            rows += list(zip(value, shape, kinds, strides, strict=True))
        else:
            rows.append((value, shape, kind, strides))
    return rows


def _is_inside(node: dict[str, Any], by_id: dict[int, dict[str, Any]]) -> bool:
    above = by_id.get(node["ctrl_deps"])
    while above is not None and above["id"] != above["ctrl_deps"]:
        if above["name"].startswith("aten::"):
            return True
        above = by_id.get(above["ctrl_deps"])
    return False


def _add(
    rows: list[dict[str, Any]], op: str, names: list[Any], arguments: list[Any], about: Any
) -> str:
    """Add a row; returns its name."""
    shape, kind, strides = about
    element = kind.removeprefix(_TENSOR).removesuffix(")")
    name = f"{op}_{len(rows)}"
    about = {"shape": shape, "dtype": _DTYPES.get(element, element), "strides": strides}
    rows.append(_row(name, op, names, arguments) | about)
    return name
