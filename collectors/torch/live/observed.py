"""The calls of a model that ran, by torch.profiler.ExecutionTraceObserver, whose tensors have ids: what reads what."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

_DTYPES = {
    "float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16", "long int": "int64",
    "int": "int32", "bool": "bool",
}  # fmt: skip
_TENSOR = "Tensor("


class Observer:
    """Observes between `start` and `stop`; `read` gives the rows of the graph then."""

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
        """A row a call, and a tensor that it is given; `inputs` are shape, strides and more of the model's inputs."""
        try:
            nodes = json.loads(self._file.read_text(encoding="utf-8"))["nodes"]
        finally:
            self._folder.cleanup()
        return rows_of(nodes, [list(shape) for shape, *_ in inputs])


def rows_of(nodes: list[dict[str, Any]], shapes: list[list[int]]) -> list[dict[str, Any]]:
    """Rows of the graph from an observer's nodes: the outermost operators in order, and what they are given.

    An id is used again for another tensor once the first is gone, so that a reader reads what was written last. A
    tensor that no call wrote is an input where it has the shape of one, the first that has; else a parameter.
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
                arguments.append(value)
        results = [own for own in _values(node["outputs"]) if own[2].startswith(_TENSOR)]
        if not results:
            continue
        read.update(name for name in names if name)
        name = _add(rows, plain_name(node["name"]), names, arguments, results[0][1:])
        first = next((v for v, _, kind, _ in _values(node["inputs"]) if kind.startswith(_TENSOR)), None)
        if first and first[:1] != results[0][0][:1] and first[1:3] == results[0][0][1:3]:
            rows[-1]["alias_of"] = names[0]
        last.update((value[0], name) for value, *_ in results)
    for row in rows:
        row["is_output"] = row["node"] not in read and row["op"] not in ("input", "parameter")
    return rows


def _values(told: dict[str, Any]) -> list[tuple[Any, Any, str, Any]]:
    """Value, shape, type and strides of each input or output; of a list of tensors, each."""
    found: list[tuple[Any, Any, str, Any]] = []
    columns = (told[name] for name in ("values", "shapes", "types", "strides"))
    for value, shape, kind, strides in zip(*columns, strict=True):
        if kind.startswith(f"GenericList[{_TENSOR}"):
            kinds = kind.removeprefix("GenericList[").removesuffix("]").split(",")
            found += list(zip(value, shape, kinds, strides, strict=True))
        else:
            found.append((value, shape, kind, strides))
    return found


def _is_inside(node: dict[str, Any], by_id: dict[int, dict[str, Any]]) -> bool:
    """Whether an operator called it."""
    above = by_id.get(node["ctrl_deps"])
    while above is not None and above["id"] != above["ctrl_deps"]:
        if above["name"].startswith("aten::"):
            return True
        above = by_id.get(above["ctrl_deps"])
    return False


def plain_name(name: str) -> str:
    """An operator's name without its namespace, and without the mark of one that works in place."""
    bare = name.removeprefix("aten::")
    return bare if bare.startswith("_") else bare.removesuffix("_")


def _add(rows: list[dict[str, Any]], op: str, names: list[Any], arguments: list[Any], about: Any) -> str:
    """Add a row; returns its name."""
    shape, kind, strides = about
    name = f"{op}_{len(rows)}"
    element = kind.removeprefix(_TENSOR).removesuffix(")")
    rows.append({
        "node": name, "op": op, "inputs": names, "arguments": [own if is_plain(own) else None for own in arguments],
        "shape": shape, "dtype": _DTYPES.get(element, element), "strides": strides, "alias_of": None,
        "is_input": op == "input", "is_output": False, "module_path": None,
    })  # fmt: skip
    return name


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a truth value or lists of them."""
    if isinstance(value, list):
        return all(map(is_plain, value))
    return type(value) in (bool, int, float)
