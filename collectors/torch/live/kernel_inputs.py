"""Describe the arguments of the library calls and generated kernels of a compiled graph.

This code runs inside the profiled program, so it imports only the standard library and torch. Like
torch.profiler, it describes arguments by four lists: sizes, element types, strides and values.
"""

from __future__ import annotations

import importlib
from math import prod
from typing import Any

Inputs = dict[str, list[Any]]
_NO_TENSOR: tuple[list[Any], str, list[Any], None] = ([], "", [], None)


class UnknownSizeError(Exception):
    """Raised if a kernel's arguments cannot be described, as with a size that is not known yet."""


def inputs_of(node_schedule: Any, is_extern: bool) -> Inputs:
    """Return the arguments of a kernel call.

    Raises UnknownSizeError if the arguments cannot be described.
    """
    try:
        return _of_node(_node_of(node_schedule)) if is_extern else _of_kernel([*node_schedule])
    except UnknownSizeError:
        raise
    except Exception as error:  # versions of Inductor differ
        raise UnknownSizeError(repr(error)) from error


def _node_of(extern: Any) -> Any:
    """Return the FX node that a library call runs.

    If the call was made from several nodes, return the node with the call's operator.
    """
    if extern.origin_node is not None:
        return extern.origin_node
    runs = [node for node in extern.origins if node.target is extern.op_overload]
    if len(runs) != 1:
        raise UnknownSizeError(f"{len(runs)} nodes")
    return runs[0]


def _of_node(node: Any) -> Inputs:
    """Return the arguments of an FX node in the order of its operator's schema."""
    arguments = node.target._schema.arguments
    given = [*node.args]
    given += [
        node.kwargs.get(argument.name, argument.default_value)
        for argument in arguments[len(given) :]
    ]
    return _listed([_argument(value) for value in given])


def _argument(value: Any) -> tuple[list[Any], str, list[Any], Any]:
    """Return sizes, type, strides and value of an argument.

    A text gets no value, because it may be secret.
    """
    value = _result(value)
    if hasattr(value, "dtype"):
        return _sizes(value.shape), _word(value.dtype), _sizes(value.stride()), None
    if isinstance(value, (list, tuple)):
        items = [_result(item) for item in value]
        if any(hasattr(item, "dtype") for item in items):
            described = [_argument(item) for item in items]
            return [d[0] for d in described], "TensorList", [d[2] for d in described], None
        return [], "ScalarList", [], _sizes(items)
    if isinstance(value, (bool, float)) or hasattr(value, "__index__"):
        return [], "Scalar", [], _number(value)
    return _NO_TENSOR


def _result(value: Any) -> Any:
    """Return the example result of an FX node. Return any other value as it is."""
    return value.meta["val"] if hasattr(value, "meta") and hasattr(value, "op") else value


def _of_kernel(node_schedule: list[Any]) -> Inputs:
    """Return a generated kernel's input buffers, output buffers and numbers of iterations.

    A buffer that is input and output is in the result twice.
    """
    scheduled = [item for item in node_schedule if hasattr(item, "read_writes")]
    graph: Any = importlib.import_module("torch._inductor.virtualized").V.graph
    own_names = {item.get_name() for item in scheduled}
    written = [out for item in scheduled for out in item.get_outputs()]
    inside = {out.get_name() for out in written}
    templates = [item.node for item in scheduled if item.is_template()]
    # A template may read a part of a buffer, or its transpose. The template's own inputs show this.
    of_templates = [buffer for template in templates for buffer in template.inputs]
    inside |= {buffer.get_name() for buffer in of_templates}
    read = dict.fromkeys(
        dependency.name
        for item in scheduled
        for dependency in item.read_writes.reads
        if type(dependency).__name__ == "MemoryDep" and dependency.name not in inside
    )
    # Results that only the kernel itself uses never reach memory.
    results = [
        out.get_name()
        for out in written
        if any(not user.is_weak and user.get_name() not in own_names for user in out.users)
    ]
    buffers = [
        *of_templates,
        *(_buffer(graph, name) for name in (*read, *results)),
    ]
    tensors = [
        (
            _sizes(buffer.get_size()),
            _word(buffer.get_dtype()),
            _sizes(buffer.get_stride()),
            None,
        )
        for buffer in buffers
    ]
    if not tensors:
        raise UnknownSizeError("no buffer")
    return _listed([*tensors, *_iterations(scheduled[0])])


def _buffer(graph: Any, name: str) -> Any:
    """Return a buffer by its name, or by the name that Inductor gives it after a mutation.

    Raises UnknownSizeError if there is no such buffer.
    """
    changed = getattr(graph.scheduler, "mutation_real_name", {})
    buffer = graph.try_get_buffer(changed.get(name, name))
    if buffer is None:
        raise UnknownSizeError(name)
    return buffer


def _iterations(item: Any) -> list[tuple[list[Any], str, list[Any], int]]:
    """Return a kernel's number of results, and the number of values reduced to each result.

    Each number is described like a scalar argument. The second is 1 without a reduction.
    """
    counts = (part if isinstance(part, (list, tuple)) else (part,) for part in item.group[1])
    return [([], "Scalar", [], prod(_sizes(sizes))) for sizes in counts]


def _listed(arguments: list[tuple[list[Any], str, list[Any], Any]]) -> Inputs:
    names = ("shapes", "dtypes", "strides", "values")
    columns = zip(*arguments, strict=True) if arguments else ((),) * len(names)
    return {name: [*column] for name, column in zip(names, columns, strict=True)}


def _word(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _sizes(values: Any) -> list[Any]:
    return [_number(value) for value in values]


def _number(value: Any) -> Any:
    """Return a number as plain Python. Raises UnknownSizeError for a symbol.

    Comparing or converting a symbol of torch would fix its value in the compiled program.
    """
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if hasattr(value, "is_number") and value.is_number:  # a number of SymPy
        return int(value)
    raise UnknownSizeError(str(value))
