"""Run the advisor's subjects in JAX: op by op, and compiled whole by XLA.

Each runs with JAX's default precision and with TF32 off.
"""

from __future__ import annotations

import operator
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import torch
from jax import lax

from samples.advisor.run import CALLS, ROUNDS, Results, quartiles


def run(results: Results, *, quick: bool) -> None:
    """Measure all subjects in both precisions."""
    for tf32 in results.tf32:
        with jax.default_matmul_precision("highest" if tf32 == "off" else None):
            _run(results, tf32, quick=quick)


def _run(results: Results, tf32: str, *, quick: bool) -> None:
    """Print one line per subject and way with times, and one with kernels.

    Outputs are compared with torch's on the CPU.
    """
    calls = []
    for subject, model, given in results.subjects(quick=quick):
        with torch.no_grad():
            program = torch.export.export(model, (given,)).run_decompositions({})
            expected = model(given)
        constants = {**program.state_dict, **program.constants}
        weights = {
            spec.arg.name: jnp.asarray(constants[spec.target].detach().numpy())
            for spec in program.graph_signature.input_specs
            if spec.target is not None
        }
        image = jnp.asarray(given.numpy())
        op_by_op = partial(computed, program.graph)
        compiled = jax.jit(op_by_op)
        for way, function in (("JAX, op by op", op_by_op), ("jax.jit", compiled)):
            call = partial(function, weights, image)
            about = {"subject": subject, "tf32": tf32, "way": way}
            if results.attempt(about, rounds, call, expected):
                calls.append((about, call))
    if jax.default_backend() != "gpu":
        return
    for about, call in calls:
        results.attempt({**about, "what": "kernels"}, kernels, call)


def rounds(call: Callable[[], Any], expected: Any) -> dict[str, Any]:
    """Time a call by wall clock: nanoseconds, as quartiles over the rounds."""
    for _ in range(5):
        result = call().block_until_ready()
    walls = []
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(CALLS):
            last = call()
        last.block_until_ready()
        walls.append((time.perf_counter_ns() - began) / CALLS)
    wanted = jnp.asarray(expected.numpy())
    difference = jnp.abs(result - wanted).max() / jnp.abs(wanted).max()
    return {
        "wall_ns": quartiles(walls),
        "largest_difference": float(difference),
    }


def kernels(call: Callable[[], Any], n: int = 5) -> dict[str, Any]:
    """Return kernel time and number of kernels per call, by JAX's profiler.

    All work on the device's streams counts, except copies and fills.
    """
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(n):
                last = call()
            last.block_until_ready()
        (file,) = Path(folder).rglob("*.xplane.pb")
        planes = list(jax.profiler.ProfileData.from_file(str(file)).planes)
    lines = [
        line
        for plane in planes
        if "device:GPU" in plane.name
        for line in plane.lines
        if "Stream" in line.name
    ]
    kernel_events = [
        event for line in lines for event in line.events if not event.name.lower().startswith("mem")
    ]
    return {
        "kernel_ns": round(sum(event.duration_ns for event in kernel_events) / n),
        "n_kernels": len(kernel_events) / n,
    }


def computed(graph: Any, weights: dict[str, Any], image: Any) -> Any:
    """Return the results of an exported graph."""
    known = dict(weights)
    for node in graph.nodes:
        if node.op == "placeholder":
            known.setdefault(node.name, image)
        elif node.op == "output":
            return known[node.args[0][0].name]
        else:
            arguments = torch.fx.node.map_arg(
                tuple(node.args),
                lambda argument: known[argument.name],
            )
            op = _OPS[_name(node.target)]
            known[node.name] = op(*arguments)
    raise AssertionError("a graph without output")


def _name(target: Any) -> str:
    if target is operator.getitem:
        return "getitem"
    return str(target).removeprefix("aten.").partition(".")[0]


def _convolution(
    x: Any, w: Any, b: Any = None, stride: Any = (1, 1), padding: Any = (0, 0), *more: Any
) -> Any:
    groups = more[1] if len(more) > 1 else 1
    result = lax.conv_general_dilated(
        x,
        w,
        tuple(stride),
        [(n, n) for n in padding],
        feature_group_count=groups,
    )
    return result if b is None else result + b[None, :, None, None]


def _norm(x: Any, *given: Any) -> tuple[Any]:
    per_channel = [values[None, :, None, None] for values in given[:4]]
    scale, shift, mean, variance = per_channel
    epsilon = given[5]
    return ((x - mean) * scale * lax.rsqrt(variance + epsilon) + shift,)


def _pooled(x: Any, size: Any, stride: Any, padding: Any = (0, 0)) -> Any:
    sides = ((0, 0), (0, 0), *((n, n) for n in padding))
    return lax.reduce_window(
        x,
        -jnp.inf,
        lax.max,
        (1, 1, *size),
        (1, 1, *stride),
        sides,
    )


_OPS: dict[str, Callable[..., Any]] = {
    "conv2d": _convolution,
    "_native_batch_norm_legit_no_training": _norm,
    "relu": jax.nn.relu,
    "relu_": jax.nn.relu,
    "add": jnp.add,
    "add_": jnp.add,
    "max_pool2d": _pooled,
    "getitem": operator.getitem,
    "adaptive_avg_pool2d": lambda x, _size: x.mean((2, 3), keepdims=True),
    "mean": lambda x, axes, keep: x.mean(tuple(axes), keepdims=keep),
    "view": lambda x, shape: x.reshape(shape),
    "flatten": lambda x, _from=0, _to=-1: x.reshape(x.shape[0], -1),
    "linear": lambda x, w, b: x @ w.T + b,
}
