"""Observe the calls that a model makes as it runs; they are its graph if it cannot be exported."""

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
    """The calls that a model made as it ran, with ids of the tensors that they read and wrote.

    Source: torch.profiler.ExecutionTraceObserver. It observes between `start` and `stop`; `read`
    then returns the rows of the graph.
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
        """Return one row per call, and one per tensor that no call wrote.

        `inputs` are shape, strides and more of each input of the model.
        """
        try:
            nodes = json.loads(self._file.read_text(encoding="utf-8"))["nodes"]
        finally:
            self._folder.cleanup()
        rows = _observed(nodes, [list(shape) for shape, *_ in inputs])
        return [row | {"op": NAMES.get(row["op"], row["op"])} for row in rows]


def _observed(nodes: list[dict[str, Any]], shapes: list[list[int]]) -> list[dict[str, Any]]:
    """Return rows of the graph from an observer's nodes: outermost operators in order.

    The observer reuses the id of a freed tensor, so an id means the tensor last written under it. A
    tensor that no call wrote is an input if it has an input's shape; several inputs of one shape
    are taken in order. Any other is a parameter.
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
                # Profilers do not record texts, and a call is later found by what they record.
                arguments.append(None if isinstance(value, str) else value)
        results = [result for result in _values(node["outputs"]) if result[2].startswith(_TENSOR)]
        if not results:
            continue
        read.update(name for name in names if name)
        name = _add(rows, bare_name(node["name"]), names, arguments, results[0][1:])
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
    """Add a row; return its name."""
    shape, kind, strides = about
    element = kind.removeprefix(_TENSOR).removesuffix(")")
    name = f"{op}_{len(rows)}"
    about = {"shape": shape, "dtype": _DTYPES.get(element, element), "strides": strides}
    rows.append(graph_row(name, op, names, arguments) | about)
    return name
