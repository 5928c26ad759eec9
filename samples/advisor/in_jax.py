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
    """Print one line per subject and way, with its outputs' distance from torch's on the CPU.

    One with kernels follows.
    """
    calls = []
    for subject, model, given in results.subjects(quick=quick):
        with torch.no_grad():
            program = torch.export.export(model, (given,)).run_decompositions({})
            expected = model(given)
        constants = {**program.state_dict, **program.constants}
        specs = program.graph_signature.input_specs
        held = {
            s.arg.name: jnp.asarray(constants[s.target].detach().numpy())
            for s in specs
            if s.target is not None
        }
        call = partial(computed, program.graph, held, jnp.asarray(given.numpy()))
        fast = jax.jit(partial(computed, program.graph))
        for way, own in (
            ("JAX, op by op", call),
            ("jax.jit", partial(fast, held, jnp.asarray(given.numpy()))),
        ):
            about = {"subject": subject, "tf32": tf32, "way": way}
            if results.attempt(about, rounds, own, expected):
                calls.append((about, own))
    for about, own in calls if jax.default_backend() == "gpu" else ():
        results.attempt({**about, "what": "kernels"}, kernels, own)


def rounds(call: Callable[[], Any], expected: Any) -> dict[str, Any]:
    """Time a call by wall clock: nanoseconds, as quartiles over the rounds."""
    for _ in range(5):
        made = call().block_until_ready()
    walls = []
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(CALLS):
            last = call()
        last.block_until_ready()
        walls.append((time.perf_counter_ns() - began) / CALLS)
    wanted = jnp.asarray(expected.numpy())
    difference = float(jnp.abs(made - wanted).max() / jnp.abs(wanted).max())
    return {"wall_ns": quartiles(walls), "largest_difference": difference}


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
    own = [
        event for line in lines for event in line.events if not event.name.lower().startswith("mem")
    ]
    return {
        "kernel_ns": round(sum(event.duration_ns for event in own) / n),
        "n_kernels": len(own) / n,
    }


def computed(graph: Any, held: dict[str, Any], image: Any) -> Any:
    """Return the results of an exported graph."""
    known = dict(held)
    for node in graph.nodes:
        if node.op == "placeholder":
            known.setdefault(node.name, image)
        elif node.op == "output":
            return known[node.args[0][0].name]
        else:
            arguments = torch.fx.node.map_arg(
                tuple(node.args),
                lambda own: known[own.name],
            )
            known[node.name] = _OPS[_name(node.target)](*arguments)
    raise AssertionError("a graph without output")


def _name(target: Any) -> str:
    return (
        "getitem"
        if target is operator.getitem
        else str(target).removeprefix("aten.").partition(".")[0]
    )


def _convolution(
    x: Any, w: Any, b: Any = None, stride: Any = (1, 1), padding: Any = (0, 0), *more: Any
) -> Any:
    _, groups = (*more, *((1, 1), 1)[len(more) :])
    sides = [(n, n) for n in padding]
    made = lax.conv_general_dilated(x, w, tuple(stride), sides, feature_group_count=groups)
    return made if b is None else made + b[None, :, None, None]


def _norm(x: Any, *given: Any) -> tuple[Any]:
    scale, shift, mean, variance = (own[None, :, None, None] for own in given[:4])
    return ((x - mean) * scale * lax.rsqrt(variance + given[5]) + shift,)


def _pooled(x: Any, size: Any, stride: Any, padding: Any = (0, 0)) -> Any:
    sides = ((0, 0), (0, 0), *((n, n) for n in padding))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, *size), (1, 1, *stride), sides)


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
