"""Observe the calls that a running model makes, to get the graph of a model without export."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from .graph_rows import NAMES, bare_name, graph_row

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


class Observer:
    """Records the calls of a model between `start` and `stop`, with ids of their tensors.

    `read` then returns the rows of the graph.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tracelens-graph-")
        self._file = Path(self._folder.name) / "calls.json"
        self._observer = torch.profiler.ExecutionTraceObserver()
        self._observer.register_callback(str(self._file))

    def start(self) -> None:
        """Start observing."""
        self._observer.start()

    def stop(self) -> None:
        """Stop observing."""
        self._observer.stop()
        self._observer.unregister_callback()

    def read(self, inputs: Any) -> list[dict[str, Any]]:
        """Return one row per call, and one row per tensor that no call wrote.

        `inputs` holds shape, strides and more of each input of the model.
        """
        try:
            nodes = json.loads(self._file.read_text(encoding="utf-8"))["nodes"]
        finally:
            self._folder.cleanup()
        rows = _observed(
            nodes,
            [list(shape) for shape, *_ in inputs],
        )
        return [row | {"op": NAMES.get(row["op"], row["op"])} for row in rows]


def _observed(nodes: list[dict[str, Any]], shapes: list[list[int]]) -> list[dict[str, Any]]:
    """Return rows of the graph from an observer's nodes, one per outermost operator, in order.

    A tensor that no call wrote is an input if it has an input's shape, else a parameter.
    """
    by_id = {node["id"]: node for node in nodes}
    graph = _ObservedGraph(shapes)
    for node in sorted(nodes, key=lambda node: int(node["id"])):
        if node["name"].startswith("aten::") and not _is_inside(node, by_id):
            graph.add_call(node)
    for row in graph.rows:
        is_call = row["op"] not in ("input", "parameter")
        row["is_output"] = is_call and row["node"] not in graph.read
    return graph.rows


class _ObservedGraph:
    """Builds the rows of a graph. `shapes` are the shapes of the model's inputs."""

    def __init__(self, shapes: list[list[int]]) -> None:
        self.rows: list[dict[str, Any]] = []
        self.read: set[str] = set()
        """Names of the rows whose results are inputs of other rows."""
        self._writers: dict[int, str] = {}
        self._unseen_inputs = list(shapes)

    def add_call(self, node: dict[str, Any]) -> None:
        """Add rows for an operator, and for inputs and parameters that no earlier call read.

        An operator has no row if it returns no tensor.
        """
        inputs = _values(node["inputs"])
        names: list[str | None] = []
        arguments: list[Any] = []
        for value, *facts in inputs:
            if facts[1].startswith(_TENSOR):
                names.append(self._name_of(value, tuple(facts)))
            elif value == "<None>":
                names.append(None)
            else:
                # Calls are later matched with a profiler's, which does not record strings.
                arguments.append(None if isinstance(value, str) else value)
        results = [result for result in _values(node["outputs"]) if result[2].startswith(_TENSOR)]
        if not results:
            return
        self.read.update(name for name in names if name)
        first_result, *facts = results[0]
        name = _add(self.rows, bare_name(node["name"]), names, arguments, facts)
        tensors = [value for value, _, kind, _ in inputs if kind.startswith(_TENSOR)]
        if tensors and _is_view(first_result, tensors[0]):
            self.rows[-1]["alias_of"] = names[0]
        # The observer reuses the id of a freed tensor, so the last writer counts.
        self._writers.update((value[0], name) for value, *_ in results)

    def _name_of(self, value: list[Any], facts: tuple[Any, ...]) -> str | None:
        """Return the name of the row that wrote a tensor.

        Return None for an empty tensor that no row wrote.

        A new input or parameter gets its row here.
        """
        tensor_id, shape = value[0], facts[0]
        if tensor_id not in self._writers and value[-1]:
            is_input = shape in self._unseen_inputs
            if is_input:
                self._unseen_inputs.remove(shape)
            op = "input" if is_input else "parameter"
            self._writers[tensor_id] = _add(self.rows, op, [], [], facts)
        return self._writers.get(tensor_id)


def _is_view(result: list[Any], tensor: list[Any]) -> bool:
    """Return whether `result` is another tensor in the storage of `tensor`."""
    return bool(tensor) and tensor[:1] != result[:1] and tensor[1:3] == result[1:3]


def _values(described: dict[str, Any]) -> list[tuple[Any, Any, str, Any]]:
    """Return value, shape, type and strides of each input or output.

    A list of tensors gives one item per tensor.
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
    rows: list[dict[str, Any]],
    op: str,
    names: list[Any],
    arguments: list[Any],
    about: Any,
) -> str:
    """Add a row, and return its name."""
    shape, kind, strides = about
    element = kind.removeprefix(_TENSOR).removesuffix(")")
    name = f"{op}_{len(rows)}"
    about = {"shape": shape, "dtype": _DTYPES.get(element, element), "strides": strides}
    rows.append(graph_row(name, op, names, arguments) | about)
    return name
