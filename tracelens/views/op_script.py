"""Write a script that runs one op of a trace again, with inputs like the recorded inputs."""

import json
import re
from typing import Any

import polars as pl

from tracelens.errors import MissingTableError, UsageError, near
from tracelens.trace import Trace

_OP = re.compile(r"\w+::\w+")
_SCRIPT = '''"""{op}, as a trace recorded it: {n_calls:,} calls with these inputs, {ns:,} ns each.

That is the median on the host, with the profiler. Values are random, whole numbers are 0.
It needs PyTorch only.
"""

import time

import torch

OP = {op!r}
INPUTS = {inputs}
DTYPES = {{
    "float": torch.float32,
    "double": torch.float64,
    "c10::Half": torch.float16,
    "c10::BFloat16": torch.bfloat16,
    "c10::complex<float>": torch.complex64,
    "long int": torch.int64,
    "long": torch.int64,
    "int": torch.int32,
    "short": torch.int16,
    "signed char": torch.int8,
    "unsigned char": torch.uint8,
    "bool": torch.bool,
}}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def value_of(recorded):
    """Make a tensor of this shape, type and strides; anything else is as it was recorded."""
    if "shape" not in recorded:
        return recorded["value"]
    shape, stride, dtype = recorded["shape"], recorded["stride"], DTYPES[recorded["dtype"]]
    size = 1 + sum((n - 1) * step for n, step in zip(shape, stride)) if 0 not in shape else 0
    if dtype.is_floating_point or dtype.is_complex:
        memory = torch.randn(size, device=DEVICE).to(dtype)
    else:
        memory = torch.zeros(size, dtype=dtype, device=DEVICE)
    return memory.as_strided(shape, stride)


def overload_of(values):
    """Return the op's overload that takes these values, and them by position and by name."""
    namespace, name = OP.split("::")
    packet = getattr(getattr(torch.ops, namespace), name)
    for word in packet.overloads():
        overload = getattr(packet, word)
        arguments = overload._schema.arguments
        if len(arguments) != len(values):
            continue
        pairs = list(zip(arguments, values))
        by_place = [value for argument, value in pairs if not argument.kwarg_only]
        by_name = {{a.name: value for a, value in pairs if a.kwarg_only and value is not None}}
        try:
            overload(*by_place, **by_name)
        except (RuntimeError, TypeError, IndexError, ValueError):
            continue
        return overload, by_place, by_name
    raise SystemExit(f"no overload of {{OP}} in torch {{torch.__version__}} takes these inputs")


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


op, by_place, by_name = overload_of([value_of(one) for one in INPUTS])
times = []
for _ in range(7):
    synchronize()
    begin = time.perf_counter()
    for _ in range(20):
        op(*by_place, **by_name)
    synchronize()
    times.append((time.perf_counter() - begin) / 20)
print(f"{{op}} on {{DEVICE}}: {{sorted(times)[3] * 1e6:.1f}} us (best {{min(times) * 1e6:.1f}})")
'''


def op_script(trace: Trace, op: str) -> str:
    """Return a script that runs the op with one set of recorded inputs.

    The calls with these inputs took more time in total than the calls with any other inputs.

    Raises UsageError if the op was not recorded. Raises MissingTableError if shapes were not
    recorded.
    """
    spans = trace.select(
        "spans",
        "kind",
        "name",
        "duration_ns",
        "input_shapes",
        "input_dtypes",
        "input_strides",
        "concrete_inputs",
    ).filter(pl.col("kind") == "op")
    spans = spans.cast({pl.Categorical: pl.String})
    calls = spans.filter(pl.col("name") == op)
    if calls.is_empty() or _OP.fullmatch(op) is None:
        names = spans["name"].unique().to_list()
        names = [name for name in names if _OP.fullmatch(name)]
        if not names:
            raise MissingTableError(
                "repro needs op spans, and this trace has none; tracelens collect torch gives them"
            )
        raise UsageError(f"no op of a library is called {op}; {near(op, names)}")
    recorded = ["input_shapes", "input_dtypes", "input_strides", "concrete_inputs"]
    calls = calls.drop_nulls(recorded[:2])
    if calls.is_empty():
        raise MissingTableError(
            f"repro needs the shapes of {op}, which were not recorded; profile with"
            " record_shapes=True"
        )
    ns = pl.col("duration_ns")
    most = (
        calls.group_by(recorded)
        .agg(
            total=ns.sum(),
            median=ns.median(),
            n=pl.len(),
        )
        .sort(
            "total",
            *recorded,
            descending=[True, False, False, False, False],
        )
        .row(0, named=True)
    )
    inputs = ",\n    ".join(map(repr, _inputs(op, most)))
    return _SCRIPT.format(
        op=op,
        n_calls=most["n"],
        ns=round(most["median"]),
        inputs=f"[\n    {inputs},\n]",
    )


def _inputs(op: str, call: dict[str, Any]) -> list[dict[str, Any]]:
    """Return shape, stride and dtype of each tensor input, and the value of each other input.

    Raises UsageError for a list of tensors: torch does not record their sizes.
    """
    shapes, dtypes = json.loads(call["input_shapes"]), json.loads(call["input_dtypes"])
    strides = json.loads(call["input_strides"] or "[]") or [None] * len(shapes)
    values = json.loads(call["concrete_inputs"] or "[]") or [None] * len(shapes)
    inputs: list[dict[str, Any]] = []
    for shape, dtype, stride, value in zip(shapes, dtypes, strides, values, strict=True):
        if dtype in {"GenericList", "TensorList"} or any(isinstance(n, list) for n in shape):
            raise UsageError(f"repro: {op} takes a list of tensors, which cannot be made again")
        if dtype in {"", "Scalar", "ScalarList"}:
            inputs.append({"value": value})
        else:
            whole = stride if stride is not None else _contiguous(shape)
            inputs.append({"shape": shape, "stride": whole, "dtype": dtype})
    return inputs


def _contiguous(shape: list[int]) -> list[int]:
    """Return the strides of a contiguous tensor."""
    strides = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)
    return strides[: len(shape)]
